//! The header fields that tell a client where it stands.
//!
//! Only enforced limits whose rule tells everything are listed. An allowed request gets them all, the tightest first,
//! since many clients read one; a refused one gets those it violated, so that no `t` lies past `Retry-After`.

use std::fmt::Write as _;

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use tidegate::policy_file::{HeaderStyle, ResetUnit};
use tidegate::{Degraded, Disclosure, LimitDecision, Retry, Ruling, Span, Verdict};

static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STANDING: HeaderName = HeaderName::from_static("ratelimit");

/// Our own field, on what is decided without the store that instances share: see [`add`].
static DEGRADED: HeaderName = HeaderName::from_static("tidegate-degraded");

/// The names of a limit, remaining and reset triple.
struct Triple {
    limit: HeaderName,
    remaining: HeaderName,
    reset: HeaderName,
}

static DRAFT: Triple = Triple {
    limit: HeaderName::from_static("ratelimit-limit"),
    remaining: HeaderName::from_static("ratelimit-remaining"),
    reset: HeaderName::from_static("ratelimit-reset"),
};
static CUSTOM: Triple = Triple {
    limit: HeaderName::from_static("x-ratelimit-limit"),
    remaining: HeaderName::from_static("x-ratelimit-remaining"),
    reset: HeaderName::from_static("x-ratelimit-reset"),
};

static RESET_ON: Triple = Triple {
    limit: HeaderName::from_static("x-ratelimit-limit"),
    remaining: HeaderName::from_static("x-ratelimit-remaining"),
    reset: HeaderName::from_static("x-ratelimit-reseton"),
};

/// The seconds a client is told to wait for a store that does not answer: nobody knows, and most such times are short.
pub(crate) const STORE_RETRY_SECS: u64 = 1;

/// Returns the fields a verdict gives an answer, `Retry-After` among them, for whoever answers by other means.
pub fn answer_fields(verdict: &Verdict, styles: &[HeaderStyle]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if *verdict.ruling() == Ruling::StoreDown {
        headers.insert(RETRY_AFTER, HeaderValue::from(STORE_RETRY_SECS));
    }
    add_retry_after(&mut headers, verdict);
    add(&mut headers, verdict, styles);
    headers
}

/// Adds the fields of the chosen styles to an answer, and how it was decided when not by the store.
///
/// `Tidegate-Degraded` is a token (a structured field item): `uncounted` for a request that passed and that nobody
/// counted, `local` for one that this process decided alone, against its share of the limits. One that was denied says so in
/// its body.
///
/// The IETF fields are lists, and ours are appended to those of the service behind. The triples hold one value: where
/// the service behind speaks for itself it is left alone, so that nothing it said is made more generous.
pub(crate) fn add(headers: &mut HeaderMap, verdict: &Verdict, styles: &[HeaderStyle]) {
    let mark = match verdict.degraded_for_client() {
        Some(Degraded::Uncounted) => Some("uncounted"),
        Some(Degraded::Local) => Some("local"),
        Some(Degraded::Denied) | None => None,
    };
    if let Some(mark) = mark {
        headers.insert(&DEGRADED, HeaderValue::from_static(mark));
    }
    let shown = shown(verdict);
    let Some(first) = shown.first() else { return };
    for style in styles {
        match style {
            HeaderStyle::Ietf => {
                append(headers, &POLICY, &policies(verdict));
                append(headers, &STANDING, &standings(&shown));
            }
            HeaderStyle::Draft03 => {
                let all = disclosed(verdict).fold(first.decision.limit.to_string(), |mut text, one| {
                    // Writing to a string cannot fail.
                    let _ = write!(text, ", {};w={}", one.decision.limit, window(one));
                    text
                });
                triple(headers, &DRAFT, first, &all, wait(first).map(ceil_secs));
            }
            HeaderStyle::XRateLimit(unit) => {
                let reset = wait(first).map(|wait| reset(wait, *unit, verdict));
                let names = if *unit == ResetUnit::ResetOn { &RESET_ON } else { &CUSTOM };
                triple(headers, names, first, &first.decision.limit.to_string(), reset);
            }
        }
    }
}

/// Adds `Retry-After` to a refusal, as far as the deciding limit lets a client know.
pub(crate) fn add_retry_after(headers: &mut HeaderMap, verdict: &Verdict) {
    if let Some(secs) = retry_after(verdict) {
        headers.insert(RETRY_AFTER, HeaderValue::from(secs));
    }
}

/// Returns the seconds a refused client is told to wait: rounded up, at least 1; nothing when waiting does not help
/// or the deciding limit tells nothing.
pub(crate) fn retry_after(verdict: &Verdict) -> Option<u64> {
    told(verdict)?.wait().map(|wait| ceil_secs(wait).max(1))
}

/// Returns when a refused client may come back, as far as the deciding limit lets it know.
pub(crate) fn told(verdict: &Verdict) -> Option<Retry> {
    let retry = verdict.retry()?;
    let by = verdict.deciding()?;
    (by.limit.disclosure() != Disclosure::Nothing).then_some(retry)
}

/// Returns the enforced limits that tell everything, in the order of the policy.
fn disclosed(verdict: &Verdict) -> impl Iterator<Item = &LimitDecision> {
    let tells = |one: &&LimitDecision| one.is_enforced() && one.limit.disclosure() == Disclosure::All;
    verdict.decisions().iter().filter(tells)
}

/// Returns the limits whose standing is shown, the most telling first.
fn shown(verdict: &Verdict) -> Vec<&LimitDecision> {
    let refused = verdict.retry().is_some();
    let mut shown: Vec<_> =
        disclosed(verdict).filter(|one| !refused || !one.decision.is_admitted()).collect();
    // The sort is stable: equals stay in the order of the policy.
    shown.sort_by_key(|one| (std::cmp::Reverse(one.decision.retry()), one.decision.remaining));
    shown
}

/// Returns `"name";q=5;w=60, …`.
fn policies(verdict: &Verdict) -> String {
    let items = disclosed(verdict)
        .map(|one| format!("{};q={};w={}", quoted(one.limit.name()), one.decision.limit, window(one)));
    items.collect::<Vec<_>>().join(", ")
}

/// Returns `"name";r=0;t=10, …`.
fn standings(shown: &[&LimitDecision]) -> String {
    let items = shown.iter().map(|one| {
        let mut item = format!("{};r={}", quoted(one.limit.name()), one.decision.remaining);
        if let Some(wait) = wait(one) {
            // Writing to a string cannot fail.
            let _ = write!(item, ";t={}", ceil_secs(wait));
        }
        item
    });
    items.collect::<Vec<_>>().join(", ")
}

/// Returns how long the shown remaining units are to last: until the request would pass, until one unit comes back
/// when none is left, else until all are back. `None` for ever.
fn wait(one: &LimitDecision) -> Option<Span> {
    let wait = match one.decision.retry() {
        Some(retry) => retry.wait()?,
        None if one.decision.remaining == 0 => one.decision.next_unit,
        None => one.decision.reset_after,
    };
    (wait != Span::MAX).then_some(wait)
}

fn reset(wait: Span, unit: ResetUnit, verdict: &Verdict) -> u64 {
    let at = verdict.at().map_or(0, tidegate::Timestamp::as_micros).saturating_add(wait.as_micros());
    match unit {
        ResetUnit::Delta => ceil_secs(wait),
        ResetUnit::EpochSeconds => at.div_ceil(1_000_000),
        ResetUnit::EpochMilliseconds | ResetUnit::ResetOn => at.div_ceil(1_000),
    }
}

/// Returns a limit's window in whole seconds; the draft wants it above zero.
fn window(one: &LimitDecision) -> u64 {
    ceil_secs(one.limit.quota().window()).max(1)
}

/// Returns a span in whole seconds, rounded up, within the 15 digits of a structured integer.
fn ceil_secs(span: Span) -> u64 {
    span.ceil_secs().min(999_999_999_999_999)
}

/// Returns a structured-field string; what it cannot hold is shown as `?`.
fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len().saturating_add(2));
    out.push('"');
    for char in name.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            ' '..='~' => out.push(char),
            _ => out.push('?'),
        }
    }
    out.push('"');
    out
}

fn append(headers: &mut HeaderMap, name: &HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.append(name, value);
    }
}

fn triple(headers: &mut HeaderMap, names: &Triple, first: &LimitDecision, limit: &str, reset: Option<u64>) {
    let spoken_for =
        [&names.limit, &names.remaining, &names.reset].iter().any(|name| headers.contains_key(*name));
    if spoken_for {
        return;
    }
    append(headers, &names.limit, limit);
    append(headers, &names.remaining, &first.decision.remaining.to_string());
    if let Some(reset) = reset {
        append(headers, &names.reset, &reset.to_string());
    }
}
