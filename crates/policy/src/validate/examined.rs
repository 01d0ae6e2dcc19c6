//! What only the review needs: codes, prices, what stands around, and what is accepted.

use std::ops::{Bound, RangeBounds, RangeInclusive};

use tidegate_algorithms::{MAX_SPAN, MIN_SPAN};

use super::{entries, span_in, span_within};
use crate::examined::{Accepted, Budget, Code, Price, Topology};
use crate::file::{Fields, Node, Report, list};
use crate::problem::At;

/// Reads the codes that somebody may guess.
pub(super) fn codes(node: &Node, report: &mut Report) -> Vec<Code> {
    let entries = entries(node, "codes", report);
    entries.iter().filter_map(|entry| code(&entry.key, &entry.value, report)).collect()
}

/// Reads one code.
pub(crate) fn code(name: &str, node: &Node, report: &mut Report) -> Option<Code> {
    let mut fields = Fields::open(node, format!("the code {name}"), report)?;
    let digits = fields.need("digits", "6");
    let digits = digits.and_then(|node| node.integer_in("digits", 1..=18, report));
    let step = fields.get("step").and_then(|node| span_in(node, "step", report));
    let life = fields.get("life").and_then(|node| span_within(node, "life", (MIN_SPAN, MAX_SPAN), report));
    let skew = number(&mut fields, "skew_steps", 0..=100, report);
    let alphabet = number(&mut fields, "alphabet", 2..=128, report);
    let valid = number(&mut fields, "valid", 1..=1_000, report);
    let attempts = number(&mut fields, "attempts", 1..=1_000_000, report);
    let carry_over = fields.get("carry_over").and_then(|node| node.boolean("carry_over", report));
    for (is_there, name, other, why) in [
        (step.is_none(), "skew_steps", "step", "only codes of the clock have steps"),
        (attempts.is_none(), "carry_over", "attempts", "only tries that are counted can be carried over"),
    ] {
        if let Some(entry) = fields.entry(name).filter(|_| is_there && !fields.has(other)) {
            report.add(
                entry.place,
                format!("{name} is said without {other}"),
                format!("{why}; write both, or neither"),
            );
        }
    }
    fields.finish(&[], report);
    Some(Code {
        name: name.to_owned(),
        digits: u32::try_from(digits?).ok()?,
        alphabet: alphabet.unwrap_or(10),
        step,
        skew_steps: skew.unwrap_or(0),
        life,
        valid,
        attempts,
        carry_over: carry_over.unwrap_or(false),
    })
}

/// Reads a number within bounds, if it is there.
pub(crate) fn number(
    fields: &mut Fields<'_>,
    name: &'static str,
    range: RangeInclusive<u64>,
    report: &mut Report,
) -> Option<u32> {
    let number = fields.get(name).and_then(|node| node.integer_in(name, range, report))?;
    u32::try_from(number).ok()
}

/// Reads what stands around the process.
pub(super) fn topology(node: &Node, report: &mut Report) -> Option<Topology> {
    let mut fields = Fields::open(node, "topology", report)?;
    let regions = number(&mut fields, "regions", 1..=1_000, report);
    let proxies = number(&mut fields, "proxies", 0..=32, report);
    fields.finish(&[], report);
    Some(Topology { regions: regions.unwrap_or(1), proxies })
}

/// Reads what is borne.
pub(super) fn budget(node: &Node, report: &mut Report) -> Option<Budget> {
    let mut fields = Fields::open(node, "budget", report)?;
    let some = (Bound::Excluded(0.0), Bound::Included(100.0));
    let remedy = "write a share above 0% and up to 100%, such as 1% or 0.1%";
    let share = fields.need("guess_per_year", "1%");
    let share = share.and_then(|node| self::share(node, "guess_per_year", some, remedy, report));
    fields.finish(&[], report);
    Some(Budget { guess_per_year: share? })
}

/// Reads a share such as `0.1%` within bounds in percent, and returns it as a part of one.
pub(crate) fn share(
    node: &Node,
    what: &str,
    percent: impl RangeBounds<f64>,
    remedy: &str,
    report: &mut Report,
) -> Option<f64> {
    let number = node.scalar().and_then(|given| given.strip_suffix('%')?.parse::<f64>().ok());
    if let Some(number) = number.filter(|number| percent.contains(number)) {
        return Some(number / 100.0);
    }
    let message = match node.scalar() {
        Some(given) => format!("{what} \"{given}\" is not a share"),
        None => format!("{what} has to be a share, and this is {}", node.kind()),
    };
    report.add(node.place, message, remedy);
    None
}

/// Reads what a request costs its operator.
pub(super) fn price(node: &Node, report: &mut Report) -> Option<Price> {
    let mut fields = Fields::open(node, "price", report)?;
    let each = fields.need("each", "5").and_then(|node| node.integer_in("each", 1..=1_000_000_000, report));
    let unit = fields.need("unit", "cents").and_then(|node| node.text("unit", report));
    fields.finish(&[], report);
    Some(Price { each: u32::try_from(each?).ok()?, unit: unit?.to_owned() })
}

/// Reads the findings of the review that are kept knowingly.
pub(super) fn accept(node: &Node, report: &mut Report) -> Vec<Accepted> {
    let items = list(node, "accept", report).unwrap_or_default();
    let mut accepted: Vec<Accepted> = Vec::new();
    for item in items {
        let Some(mut fields) = Fields::open(item, "what is accepted", report) else { continue };
        let id = fields.need("id", "verify-by-address-only");
        let id = id.and_then(|node| node.name("the finding's id", report));
        let because = fields
            .need("because", "the page is behind the VPN")
            .and_then(|node| node.text("because", report));
        fields.finish(&[], report);
        let (Some(id), Some(because)) = (id, because) else { continue };
        if accepted.iter().any(|one| one.id == id) {
            report.add(item.place, format!("{id} is accepted twice"), "remove one");
            continue;
        }
        accepted.push(Accepted { id: id.to_owned(), because: because.to_owned(), at: At(item.place) });
    }
    accepted
}
