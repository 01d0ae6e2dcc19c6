//! The header fields that tell a client where it stands.
//!
//! Only enforced limits whose rule tells everything are listed. An allowed request gets them all, the tightest first,
//! since many clients read one; a refused one gets those it violated, so that no `t` lies past `Retry-After`.

use bytes::BytesMut;
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
    let Some(first) = shown(verdict).next() else { return };
    let mut values = Values::default();
    for style in styles {
        match style {
            HeaderStyle::Ietf => {
                values.policies(verdict);
                values.append(headers, &POLICY);
                values.standings(verdict);
                values.append(headers, &STANDING);
            }
            HeaderStyle::Draft03 => {
                if !DRAFT.is_spoken_for(headers) {
                    values.number(first.decision.limit.into());
                    for one in disclosed(verdict) {
                        values.text(", ").number(one.decision.limit.into()).text(";w=").number(window(one));
                    }
                    values.triple(headers, &DRAFT, first, wait(first).map(ceil_secs));
                }
            }
            HeaderStyle::XRateLimit(unit) => {
                let names = if *unit == ResetUnit::ResetOn { &RESET_ON } else { &CUSTOM };
                if !names.is_spoken_for(headers) {
                    values.number(first.decision.limit.into());
                    let reset = wait(first).map(|wait| reset(wait, *unit, verdict));
                    values.triple(headers, names, first, reset);
                }
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

/// Returns the limits whose standing is shown, the most telling first; equals in the order of the policy. Each is looked for
/// anew, since they are few and a list of them would be an allocation a request.
fn shown(verdict: &Verdict) -> impl Iterator<Item = &LimitDecision> {
    let refused = verdict.retry().is_some();
    let mut last = None;
    std::iter::from_fn(move || {
        let all = disclosed(verdict).filter(|one| !refused || !one.decision.is_admitted()).enumerate();
        let ranked = all.map(|(place, one)| {
            ((std::cmp::Reverse(one.decision.retry()), one.decision.remaining, place), one)
        });
        let next =
            ranked.filter(|(rank, _)| last.is_none_or(|last| *rank > last)).min_by_key(|(rank, _)| *rank);
        last = next.map(|(rank, _)| rank);
        next.map(|(_, one)| one)
    })
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

/// What the fields of two limits take, with room for the names.
const USUAL: usize = 192;

/// The values of an answer's fields, written one after the other into one buffer that they share.
#[derive(Default)]
struct Values(BytesMut);

impl Values {
    /// Adds what has been written since the last field.
    fn append(&mut self, headers: &mut HeaderMap, name: &HeaderName) {
        if let Ok(value) = HeaderValue::from_maybe_shared(self.0.split().freeze()) {
            headers.append(name, value);
        }
    }

    /// Writes `"name";q=5;w=60, …`.
    fn policies(&mut self, verdict: &Verdict) {
        for (place, one) in disclosed(verdict).enumerate() {
            self.item(place, one.limit.name()).text(";q=").number(one.decision.limit.into());
            self.text(";w=").number(window(one));
        }
    }

    /// Writes `"name";r=0;t=10, …`.
    fn standings(&mut self, verdict: &Verdict) {
        for (place, one) in shown(verdict).enumerate() {
            self.item(place, one.limit.name()).text(";r=").number(one.decision.remaining.into());
            if let Some(wait) = wait(one) {
                self.text(";t=").number(ceil_secs(wait));
            }
        }
    }

    /// Adds what has been written as the limit of a triple, and the rest of it.
    fn triple(&mut self, headers: &mut HeaderMap, names: &Triple, first: &LimitDecision, reset: Option<u64>) {
        self.append(headers, &names.limit);
        self.number(first.decision.remaining.into());
        self.append(headers, &names.remaining);
        if let Some(reset) = reset {
            self.number(reset);
            self.append(headers, &names.reset);
        }
    }

    /// Writes a structured-field string, an item of a list; what it cannot hold is shown as `?`.
    fn item(&mut self, place: usize, name: &str) -> &mut Self {
        self.text(if place > 0 { ", \"" } else { "\"" });
        if name.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            return self.text(name).text("\"");
        }
        for char in name.chars() {
            let mut spelled = [0; 4];
            match char {
                '"' => self.text("\\\""),
                '\\' => self.text("\\\\"),
                ' '..='~' => self.text(char.encode_utf8(&mut spelled)),
                _ => self.text("?"),
            };
        }
        self.text("\"")
    }

    fn text(&mut self, text: &str) -> &mut Self {
        if self.0.capacity() == 0 {
            self.0.reserve(USUAL);
        }
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [b'0'; 20];
        let (mut rest, mut start) = (number, digits.len());
        for digit in digits.iter_mut().rev() {
            *digit |= u8::try_from(rest % 10).unwrap_or_default();
            start = start.saturating_sub(1);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let digits = digits.get(start..).and_then(|digits| std::str::from_utf8(digits).ok());
        self.text(digits.unwrap_or_default())
    }
}

impl Triple {
    /// Returns whether the service behind tells its own.
    fn is_spoken_for(&self, headers: &HeaderMap) -> bool {
        [&self.limit, &self.remaining, &self.reset].into_iter().any(|name| headers.contains_key(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structured-field string holds printable ASCII alone, with quotes and backslashes escaped: a name of other characters
    /// would make clients drop the whole field.
    #[test]
    fn names_and_numbers_are_written_as_the_field_s_grammar_has_them() {
        let mut values = Values::default();
        values.item(0, "r/l").text(";q=").number(0);
        values.item(1, "a \"b\" \\ ü\n").text(";q=").number(u64::MAX).text(";w=").number(10);
        let mut headers = HeaderMap::new();
        values.append(&mut headers, &POLICY);
        let whole = r#""r/l";q=0, "a \"b\" \\ ??";q=18446744073709551615;w=10"#;
        assert_eq!(headers.get(&POLICY).unwrap(), whole);
        // The next field begins anew.
        values.number(7);
        values.append(&mut headers, &STANDING);
        assert_eq!(headers.get(&STANDING).unwrap(), "7");
    }
}
