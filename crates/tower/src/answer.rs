//! The layer's own answers: the one place that turns a verdict into a status.

use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::Value;
use tidegate::policy_file::{HeaderStyle, ProblemTemplate, TemplateValues};
use tidegate::{Denial, Disclosure, Ruling, Verdict};

use crate::body::{AnswerBody, ReadError};
use crate::settle::OwnAnswer;
use crate::{fields, grpc};

/// The problem types of the rate-limit fields draft (section 5), as IANA is to register them.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
const PROBLEM: &str = "application/problem+json";
const STORE_DOWN: &str = "the limiter's store is unreachable; this is not about the number of requests";

/// Returns an answer with a problem body (RFC 9457) of no particular type: the status's own phrase as its title, and
/// the detail given.
///
/// To a limit that counts failures it is never a success, whatever its status: nobody has looked at the request.
pub fn problem_response<B: From<Bytes>>(status: StatusCode, detail: &str) -> Response<B> {
    let title = status.canonical_reason().unwrap_or("Error");
    own(status, HeaderValue::from_static(PROBLEM), Problem::new("about:blank", title, status, detail).end())
}

/// Returns the answer to a request that went wrong before the service saw it, in the way its client reads.
pub(crate) fn failed<R>(head: &Parts, status: StatusCode, detail: &str) -> Response<AnswerBody<R>> {
    if grpc::is_grpc(head) { grpc::failed(head, status, detail) } else { problem_response(status, detail) }
}

/// Returns the answer for a body that could not be read for its key.
pub(crate) fn unreadable<R>(head: &Parts, error: ReadError, most: usize) -> Response<AnswerBody<R>> {
    let too_long = || format!("a body that a limit takes its key from may have {most} bytes");
    match error {
        ReadError::TooLong => failed(head, StatusCode::PAYLOAD_TOO_LARGE, &too_long()),
        ReadError::Broken => failed(head, StatusCode::BAD_REQUEST, "the body broke off"),
    }
}

/// Returns the answer for a body that did not arrive in time.
pub(crate) fn too_slow<R>(head: &Parts) -> Response<AnswerBody<R>> {
    failed(head, StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
}

/// Returns the answer for a request that may not pass, in the way its client reads; `None` for one that may.
pub(crate) fn refused<R>(
    head: &Parts,
    verdict: &Verdict,
    styles: &[HeaderStyle],
    template: &ProblemTemplate,
) -> Option<Response<AnswerBody<R>>> {
    if !grpc::is_grpc(head) {
        return refusal(verdict, styles, template);
    }
    let (status, detail) = match verdict.ruling() {
        Ruling::Allow { .. } | Ruling::Uncounted => return None,
        Ruling::BadRequest(bad) => (StatusCode::BAD_REQUEST, bad.to_string()),
        Ruling::Denied(denial) => (StatusCode::FORBIDDEN, denial.because.to_string()),
        Ruling::StoreDown => (StatusCode::SERVICE_UNAVAILABLE, STORE_DOWN.to_owned()),
        Ruling::Refuse { .. } => (StatusCode::TOO_MANY_REQUESTS, detail(&values(verdict), template)),
    };
    let mut response = grpc::failed(head, status, &detail);
    let headers = response.headers_mut();
    grpc::add_pushback(headers, verdict);
    fields::add_retry_after(headers, verdict);
    fields::add(headers, verdict, styles);
    Some(response)
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
    let body = Problem::new(REDUCED_CAPACITY, "Temporary Reduced Capacity", status, STORE_DOWN);
    let mut response = own(status, HeaderValue::from_static(PROBLEM), body.end());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(fields::STORE_RETRY_SECS));
    response
}

fn too_many<B: From<Bytes>>(
    verdict: &Verdict,
    styles: &[HeaderStyle],
    template: &ProblemTemplate,
) -> Response<B> {
    let values = values(verdict);
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = match template {
        ProblemTemplate::Own { content_type, text } => {
            let is_json = content_type.contains("json");
            let text = if is_json { text.render_in_json(&values) } else { text.render(&values) };
            let content_type = HeaderValue::from_str(content_type);
            own(status, content_type.unwrap_or(HeaderValue::from_static("text/plain")), text.into_bytes())
        }
        ProblemTemplate::Problem { type_uri, title, members, .. } => {
            let type_uri = type_uri.as_deref().unwrap_or(QUOTA_EXCEEDED);
            let title = title.as_ref().map(|title| title.render(&values));
            let title = title.as_deref().unwrap_or("Quota Exceeded");
            let mut body = Problem::new(type_uri, title, status, &detail(&values, template));
            body.describe(verdict, &values, members);
            own(status, HeaderValue::from_static(PROBLEM), body.end())
        }
    };
    let headers = response.headers_mut();
    fields::add_retry_after(headers, verdict);
    fields::add(headers, verdict, styles);
    response
}

/// Returns what a refusal may say.
fn values(verdict: &Verdict) -> TemplateValues<'_> {
    let by = verdict.deciding().filter(|by| by.limit.disclosure() == Disclosure::All);
    let limit = by.map_or("", |by| by.limit.name());
    TemplateValues {
        rule: limit.rsplit_once('/').map_or(limit, |(rule, _)| rule),
        limit,
        says: by.map_or("", |by| by.limit.words()),
        retry_after: fields::retry_after(verdict),
    }
}

/// Returns what a refusal says to people: what the policy file says, or what is usual.
fn detail(values: &TemplateValues<'_>, template: &ProblemTemplate) -> String {
    match template {
        ProblemTemplate::Problem { detail: Some(detail), .. } => detail.render(values),
        ProblemTemplate::Problem { .. } | ProblemTemplate::Own { .. } => usual_detail(values),
    }
}

/// Returns what a refusal says when the policy file does not.
fn usual_detail(values: &TemplateValues<'_>) -> String {
    let mut text = String::with_capacity(values.says.len().saturating_add(32));
    text.push_str(values.says);
    if let Some(secs) = values.retry_after {
        text.push_str(if text.is_empty() { "Try again in " } else { " Try again in " });
        wait(secs, &mut text);
        text.push('.');
    }
    text
}

/// Says a wait to people: in seconds up to two minutes, then in minutes, hours or days, rounded up. `Retry-After` is exact.
fn wait(secs: u64, text: &mut String) {
    let (count, unit) = match secs {
        1 => return text.push_str("a second"),
        0 | 2..=120 => (secs, "seconds"),
        121..=7_200 => (secs.div_ceil(60), "minutes"),
        7_201..=345_600 => (secs.div_ceil(3_600), "hours"),
        _ => (secs.div_ceil(86_400), "days"),
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "{count} {unit}");
}

/// A problem's body, written member by member: under a flood it is what most requests get.
struct Problem(Vec<u8>);

/// What the body of a usual refusal takes.
const USUAL: usize = 512;

impl Problem {
    fn new(type_uri: &str, title: &str, status: StatusCode, detail: &str) -> Self {
        let mut problem = Self(Vec::with_capacity(USUAL));
        problem.text("type", type_uri);
        problem.text("title", title);
        problem.number("status", status.as_u16().into());
        if !detail.is_empty() {
            problem.text("detail", detail);
        }
        problem
    }

    /// Adds the members a client may see: which policies, which limit, its words, the wait. Those that the file adds stand
    /// behind them, or in the place of the one that has their name.
    fn describe(&mut self, verdict: &Verdict, values: &TemplateValues<'_>, members: &[(String, Value)]) {
        let mut tells = verdict.violated().filter(|one| one.limit.disclosure() == Disclosure::All).peekable();
        if tells.peek().is_some() {
            self.name("violated-policies");
            for (place, one) in tells.enumerate() {
                self.0.push(if place > 0 { b',' } else { b'[' });
                self.value(one.limit.name());
            }
            self.0.push(b']');
        }
        let own = |name: &str| match name {
            "limit" => !values.limit.is_empty(),
            "says" => !values.says.is_empty(),
            "retry-after" => values.retry_after.is_some(),
            _ => false,
        };
        for name in ["limit", "says", "retry-after"].into_iter().filter(|name| own(name)) {
            match (members.iter().find(|(member, _)| member == name), name) {
                (Some((_, value)), _) => self.member(name, value),
                (None, "limit") => self.text(name, values.limit),
                (None, "says") => self.text(name, values.says),
                (None, _) => self.number(name, values.retry_after.unwrap_or_default()),
            }
        }
        members.iter().filter(|(name, _)| !own(name)).for_each(|(name, value)| self.member(name, value));
    }

    fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        self.value(text);
    }

    fn number(&mut self, name: &'static str, number: u64) {
        self.name(name);
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.0, &number);
    }

    /// Adds a member whose name stands in the policy file.
    fn member(&mut self, name: &str, value: &Value) {
        self.separate();
        self.value(name);
        self.0.push(b':');
        let _ = serde_json::to_writer(&mut self.0, value);
    }

    /// Begins a member by one of our names, in which nothing is to be escaped.
    fn name(&mut self, name: &'static str) {
        self.separate();
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn separate(&mut self) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
    }

    fn value(&mut self, text: &str) {
        let _ = serde_json::to_writer(&mut self.0, text);
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

fn own<B: From<Bytes>>(status: StatusCode, content_type: HeaderValue, body: Vec<u8>) -> Response<B> {
    let mut response = Response::new(B::from(Bytes::from(body)));
    *response.status_mut() = status;
    response.extensions_mut().insert(OwnAnswer);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
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
            let mut text = String::new();
            wait(secs, &mut text);
            assert_eq!(text, words, "{secs}");
        }
    }
}
