//! The adversaries of a scenario: a name, or a name with what it has.

use std::ops::RangeInclusive;

use tidegate_algorithms::{MAX_SPAN, MIN_SPAN, Span};

use super::read::span_up_to;
use super::{Attacker, Has};
use crate::file::{Fields, Node, Report, Value, list};
use crate::suite::Named;
use crate::validate::{number, span_within};

/// The most adversaries at once.
const MOST: usize = 100;
/// Means beyond these are no attack anybody has seen, and would only fill the memory.
const ADDRESSES: RangeInclusive<u64> = 1..=1_000_000;
const SUBJECTS: RangeInclusive<u64> = 1..=10_000_000;
const CONCURRENCY: RangeInclusive<u64> = 1..=10_000;
const BATCH: RangeInclusive<u64> = 1..=1_000;
/// The most requests a second of one adversary.
const FASTEST: u64 = 1_000_000;
/// The networks that are told apart below the one he holds are /64s, 2^32 at most.
const PREFIX: RangeInclusive<u64> = 32..=128;
/// A request that arrives further from where it was aimed aims at nothing.
const MOST_JITTER: Span = Span::from_secs(3_600);

/// Reads the adversaries.
pub(super) fn all(node: &Node, report: &mut Report) -> Vec<Attacker> {
    let items = list(node, "adversaries", report).unwrap_or_default();
    if let Some(more) = items.get(MOST) {
        report.add(more.place, format!("there are {} adversaries", items.len()), format!("keep {MOST}"));
        return Vec::new();
    }
    items.iter().filter_map(|item| one(item, report)).collect()
}

fn one(node: &Node, report: &mut Report) -> Option<Attacker> {
    let Value::Map(entries) = &node.value else {
        let name = node.name("an adversary", report)?;
        let name = Named { name: name.to_owned(), place: node.place };
        return Some(Attacker { name, at: Span::ZERO, length: None, limit: None, has: Has::default() });
    };
    let [entry] = entries.as_slice() else {
        let message = format!("an adversary is one name, and this is a mapping of {}", entries.len());
        report.add(node.place, message, "write `- greedy`, or `- greedy: { rate: 200 per 1s }`");
        return None;
    };
    let name = Named { name: entry.key.clone(), place: entry.place };
    let mut fields = Fields::open(&entry.value, format!("the adversary {}", entry.key), report)?;
    let at = span_up_to(&mut fields, "at", MAX_SPAN, report);
    let length = fields.get("for").and_then(|node| span_within(node, "for", (MIN_SPAN, MAX_SPAN), report));
    let limit = fields.get("limit").and_then(|node| {
        let name = node.text("limit", report)?.to_owned();
        Some(Named { name, place: node.place })
    });
    let has = has(&mut fields, report);
    fields.finish(&[], report);
    Some(Attacker { name, at: at.unwrap_or(Span::ZERO), length, limit, has })
}

fn has(fields: &mut Fields<'_>, report: &mut Report) -> Has {
    Has {
        addresses: number(fields, "addresses", ADDRESSES, report),
        ipv6_prefix: number(fields, "ipv6_prefix", PREFIX, report).and_then(|bits| u8::try_from(bits).ok()),
        rate: fields.get("rate").and_then(|node| rate(node, report)),
        subjects: number(fields, "subjects", SUBJECTS, report),
        concurrency: number(fields, "concurrency", CONCURRENCY, report),
        batch: number(fields, "batch", BATCH, report),
        jitter: span_up_to(fields, "jitter", MOST_JITTER, report),
    }
}

/// Reads a rate that is a whole number a second.
fn rate(node: &Node, report: &mut Report) -> Option<u32> {
    let (count, period) = node.rate("rate", report)?;
    let (micros, second) = (u128::from(period.as_micros()), 1_000_000_u128);
    let of_seconds = u128::from(count).saturating_mul(second);
    let whole = of_seconds.checked_div(micros).unwrap_or(0);
    let is_whole = of_seconds.checked_rem(micros) == Some(0);
    if is_whole && (1..=u128::from(FASTEST)).contains(&whole) {
        return u32::try_from(whole).ok();
    }
    let written = node.scalar().unwrap_or_default();
    let message = if is_whole || micros == 0 {
        format!("rate {written} is out of range")
    } else {
        format!("rate {written} is no whole number a second")
    };
    let nearest = whole.clamp(1, FASTEST.into());
    report.add(node.place, message, format!("the nearest possible is {nearest} per 1s"));
    None
}
