//! The layer's own answers: the one place that turns a verdict into a status.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};
use tidegate::policy_file::{HeaderStyle, ProblemTemplate, TemplateValues};
use tidegate::{Denial, Disclosure, Ruling, Verdict};

use crate::body::{AnswerBody, ReadError};
use crate::fields;
use crate::settle::OwnAnswer;

/// The problem types of the rate-limit fields draft (section 5), as IANA is to register them.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// Returns an answer with a problem body (RFC 9457) of no particular type: the status's own phrase as its title, and
/// the detail given.
///
/// To a limit that counts failures it is never a success, whatever its status: nobody has looked at the request.
pub fn problem_response<B: From<Bytes>>(status: StatusCode, detail: &str) -> Response<B> {
    let title = status.canonical_reason().unwrap_or("Error");
    own(status, "application/problem+json", problem("about:blank", title, status, detail).to_string())
}

/// Returns the answer for a body that could not be read for its key.
pub(crate) fn unreadable<R>(error: ReadError, most: usize) -> Response<AnswerBody<R>> {
    match error {
        ReadError::TooLong => problem_response(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("a body that a limit takes its key from may have {most} bytes"),
        ),
        ReadError::Broken => problem_response(StatusCode::BAD_REQUEST, "the body broke off"),
    }
}

/// Returns the answer for a body that did not arrive in time.
pub(crate) fn too_slow<R>() -> Response<AnswerBody<R>> {
    problem_response(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
}

/// Returns the layer's answer for a request that may not pass, `None` for one that may; for whoever answers by other means.
pub fn refusal<B: From<Bytes>>(
    verdict: &Verdict,
    styles: &[HeaderStyle],
    template: &ProblemTemplate,
) -> Option<Response<B>> {
    match verdict.ruling() {
        Ruling::Allow { .. } | Ruling::Uncounted => None,
        Ruling::BadRequest(bad) => Some(problem_response(StatusCode::BAD_REQUEST, &bad.to_string())),
        Ruling::Denied(denial) => Some(denied(denial)),
        Ruling::StoreDown => Some(store_down()),
        Ruling::Refuse { .. } => Some(too_many(verdict, styles, template)),
    }
}

fn denied<B: From<Bytes>>(denial: &Denial) -> Response<B> {
    let status = StatusCode::from_u16(denial.status).unwrap_or(StatusCode::FORBIDDEN);
    problem_response(status, &denial.because)
}

fn store_down<B: From<Bytes>>() -> Response<B> {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let detail = "the limiter's store is unreachable; this is not about the number of requests";
    let body = problem(REDUCED_CAPACITY, "Temporary Reduced Capacity", status, detail);
    let mut response = own(status, "application/problem+json", body.to_string());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(fields::STORE_RETRY_SECS));
    response
}

fn too_many<B: From<Bytes>>(
    verdict: &Verdict,
    styles: &[HeaderStyle],
    template: &ProblemTemplate,
) -> Response<B> {
    let by = verdict.deciding().filter(|by| by.limit.disclosure() == Disclosure::All);
    let limit = by.map_or("", |by| by.limit.name());
    let values = TemplateValues {
        rule: limit.rsplit_once('/').map_or(limit, |(rule, _)| rule),
        limit,
        says: by.map_or("", |by| by.limit.words()),
        retry_after: fields::retry_after(verdict),
    };
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = match template {
        ProblemTemplate::Own { content_type, text } => {
            let is_json = content_type.contains("json");
            own(
                status,
                content_type,
                if is_json { text.render_in_json(&values) } else { text.render(&values) },
            )
        }
        ProblemTemplate::Problem { type_uri, title, detail, members } => {
            let usual = usual_detail(&values);
            let mut body = problem(
                type_uri.as_deref().unwrap_or(QUOTA_EXCEEDED),
                &title.as_ref().map_or_else(|| "Quota Exceeded".to_owned(), |title| title.render(&values)),
                status,
                &detail.as_ref().map_or(usual, |detail| detail.render(&values)),
            );
            if let Value::Object(object) = &mut body {
                describe(object, verdict, &values);
                object.extend(members.iter().cloned());
            }
            own(status, "application/problem+json", body.to_string())
        }
    };
    let headers = response.headers_mut();
    fields::add_retry_after(headers, verdict);
    fields::add(headers, verdict, styles);
    response
}

/// Returns what a refusal says when the policy file does not.
fn usual_detail(values: &TemplateValues<'_>) -> String {
    let when = values.retry_after.map_or_else(String::new, |secs| format!("Try again in {}.", wait(secs)));
    [values.says, &when].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// Says a wait to people: in seconds up to two minutes, then in minutes, hours or days, rounded up. `Retry-After` is exact.
fn wait(secs: u64) -> String {
    let (count, unit) = match secs {
        1 => return "a second".to_owned(),
        0 | 2..=120 => (secs, "seconds"),
        121..=7_200 => (secs.div_ceil(60), "minutes"),
        7_201..=345_600 => (secs.div_ceil(3_600), "hours"),
        _ => (secs.div_ceil(86_400), "days"),
    };
    format!("{count} {unit}")
}

/// Adds the members a client may see: which policies, which limit, its words, the wait.
fn describe(object: &mut Map<String, Value>, verdict: &Verdict, values: &TemplateValues<'_>) {
    let names: Vec<_> = verdict
        .violated()
        .filter(|one| one.limit.disclosure() == Disclosure::All)
        .map(|one| json!(one.limit.name()))
        .collect();
    if !names.is_empty() {
        object.insert("violated-policies".to_owned(), Value::Array(names));
    }
    if !values.limit.is_empty() {
        object.insert("limit".to_owned(), json!(values.limit));
    }
    if !values.says.is_empty() {
        object.insert("says".to_owned(), json!(values.says));
    }
    if let Some(secs) = values.retry_after {
        object.insert("retry-after".to_owned(), json!(secs));
    }
}

fn problem(type_uri: &str, title: &str, status: StatusCode, detail: &str) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!(type_uri));
    object.insert("title".to_owned(), json!(title));
    object.insert("status".to_owned(), json!(status.as_u16()));
    if !detail.is_empty() {
        object.insert("detail".to_owned(), json!(detail));
    }
    Value::Object(object)
}

fn own<B: From<Bytes>>(status: StatusCode, content_type: &str, body: String) -> Response<B> {
    let mut response = Response::new(B::from(Bytes::from(body)));
    *response.status_mut() = status;
    response.extensions_mut().insert(OwnAnswer);
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    // A refusal is about this moment; a 429 must not be stored in any case (RFC 6585, section 4).
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::wait;

    /// Guards against waits that nobody can grasp, and against those that end too early.
    #[test]
    fn a_wait_is_said_in_a_unit_that_people_grasp_and_rounded_up() {
        for (secs, words) in [
            (1, "a second"),
            (120, "120 seconds"),
            (121, "3 minutes"),
            (7_200, "120 minutes"),
            (7_201, "3 hours"),
            (76_267, "22 hours"),
            (345_600, "96 hours"),
            (345_601, "5 days"),
        ] {
            assert_eq!(wait(secs), words, "{secs}");
        }
    }
}
