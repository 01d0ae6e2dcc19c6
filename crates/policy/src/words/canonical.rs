//! The sentence that Tidegate would write for a limit.

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

use super::Meaning;
use super::fraction::gcd;
use super::names;
use crate::cost::Cost;
use crate::count::Count;
use crate::key::Key;

/// Writes the sentence that says what the numbers say, and that [`read`](super::read) finds to agree with them.
pub fn canonical(meaning: &Meaning<'_>) -> String {
    let mut said = match meaning.quota {
        Quota::FixedWindow(quota) => {
            let (window, anchor) = match quota.anchor() {
                Anchor::Clock => (per(quota.window()), ", counted by the clock"),
                Anchor::FirstHit => (per(quota.window()), ", counted from the first request"),
                Anchor::Calendar(Calendar::Day) => ("a calendar day".to_owned(), " (UTC)"),
                Anchor::Calendar(Calendar::Week) => ("a calendar week".to_owned(), " (UTC)"),
                Anchor::Calendar(Calendar::Month) => ("a calendar month".to_owned(), " (UTC)"),
            };
            format!("up to {} {window}{anchor}", amount(quota.limit().into(), meaning))
        }
        Quota::SlidingLog(quota) => {
            let amount = amount(quota.limit().into(), meaning);
            format!("never more than {amount} in any {}", bare(quota.window()))
        }
        Quota::SlidingCounter(quota) => {
            format!("up to {} {}", amount(quota.limit().into(), meaning), per(quota.window()))
        }
        Quota::TokenBucket(quota) => {
            let burst = amount(quota.capacity().into(), meaning);
            format!("{burst} at once, then {}", rate(quota.refill(), None))
        }
        Quota::LeakyBucket(quota) => {
            let queue = match quota.queue() {
                0 => "none".to_owned(),
                queue => format!("up to {}", grouped(queue.into())),
            };
            format!("{}, evenly spaced, and {queue} may wait", rate(quota.rate(), Some(meaning)))
        }
        Quota::Lockout(quota) => {
            let attempts = amount(quota.attempts().into(), meaning);
            let (within, lock) = (length(quota.within()), length(quota.lock()));
            format!("{attempts} within {within}, then locked for {lock}")
        }
    };
    said.push_str(", ");
    said.push_str(&names::per_key(meaning.key));
    if let Some(cost) = cost(meaning) {
        said.push_str("; ");
        said.push_str(&cost);
    }
    if *meaning.count != Count::Every && noun(meaning).is_some() {
        said.push_str("; only failures count");
    }
    said.push('.');
    capitalised(&said)
}

/// Writes the sentence of a limit that lets nothing through for a while, at an operator's word.
pub(crate) fn refusing(key: &Key) -> String {
    format!("Refuses everything, {}.", names::per_key(key))
}

/// Says what is counted, with its number: "5 requests", "9 failed requests", "50,000 cents".
fn amount(number: u64, meaning: &Meaning<'_>) -> String {
    let count = grouped(number);
    if let Some(noun) = noun(meaning) {
        return format!("{count} {noun}");
    }
    let failed = if *meaning.count == Count::Every { "" } else { "failed " };
    format!("{count} {failed}request{}", if number == 1 { "" } else { "s" })
}

/// Returns the noun of what is counted, when it is not requests.
fn noun<'a>(meaning: &Meaning<'a>) -> Option<&'a str> {
    match (meaning.unit, meaning.cost) {
        (Some(unit), _) => Some(unit),
        (None, Cost::Units(1)) => None,
        (None, Cost::Items(_)) => Some("items"),
        (None, _) => Some("units"),
    }
}

/// Says what a request takes, when the numbers of requests do not say it.
fn cost(meaning: &Meaning<'_>) -> Option<String> {
    match meaning.cost {
        Cost::Units(1) => None,
        Cost::Items(_) => Some("each item counts".to_owned()),
        Cost::Units(units) => Some(format!("a request counts {}", grouped((*units).into()))),
        Cost::Table(table) => Some(format!("counted by {}", names::spoken(table.name()))),
        Cost::Header(header) => Some(format!("counted by {}", names::spoken(&header.part.name))),
    }
}

/// Says a rate: "1 every 10 seconds", "5 a second".
fn rate(rate: Rate, meaning: Option<&Meaning<'_>>) -> String {
    let (units, period) = round(rate);
    let count = meaning.map_or_else(|| grouped(units), |meaning| amount(units, meaning));
    if units == 1 { format!("{count} every {}", bare(period)) } else { format!("{count} {}", per(period)) }
}

/// Writes a rate over whole milliseconds, and of several units below a second over a second, where that is exact.
fn round(rate: Rate) -> (u64, Span) {
    let (units, micros) = (u64::from(rate.units()), rate.micros());
    let over = |whole: u64| {
        let divisor = u64::try_from(gcd(micros.into(), whole.into())).unwrap_or(1);
        whole.checked_div(divisor).unwrap_or(1)
    };
    let times = match 1_000_000_u64.checked_rem(micros) {
        Some(0) if units > 1 => over(1_000_000),
        _ => over(1_000),
    };
    (units.saturating_mul(times), Span::from_micros(micros.saturating_mul(times)))
}

/// Says "a minute", "per 30 seconds".
fn per(span: Span) -> String {
    match parts(span) {
        (1, "hour") => "an hour".to_owned(),
        (1, unit) => format!("a {unit}"),
        _ => format!("per {}", bare(span)),
    }
}

/// Says "minute", "30 seconds", as it stands after "any" or "every".
pub(super) fn bare(span: Span) -> String {
    match parts(span) {
        (1, unit) => unit.to_owned(),
        (count, unit) => format!("{} {unit}s", grouped(count)),
    }
}

/// Says "1 minute", "30 seconds".
fn length(span: Span) -> String {
    match parts(span) {
        (1, unit) => format!("1 {unit}"),
        (count, unit) => format!("{} {unit}s", grouped(count)),
    }
}

/// Returns a span in the largest unit that divides it.
pub(super) fn parts(span: Span) -> (u64, &'static str) {
    const UNITS: [(u64, &str); 5] = [
        (86_400_000_000, "day"),
        (3_600_000_000, "hour"),
        (60_000_000, "minute"),
        (1_000_000, "second"),
        (1_000, "millisecond"),
    ];
    let micros = span.as_micros();
    let exact = UNITS.iter().find(|(unit, _)| micros >= *unit && micros.is_multiple_of(*unit));
    let in_units = exact.and_then(|(unit, name)| Some((micros.checked_div(*unit)?, *name)));
    // "Any day" would be one of the calendar to many.
    match in_units {
        Some((1, "day")) => (24, "hour"),
        in_units => in_units.unwrap_or((micros, "microsecond")),
    }
}

/// Says a span for messages: "30 seconds", "1 minute".
pub(super) fn spoken(span: Span) -> String {
    length(span)
}

/// Writes a number in groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn capitalised(said: &str) -> String {
    let mut chars = said.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
