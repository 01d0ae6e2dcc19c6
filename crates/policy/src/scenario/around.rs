//! What is around the adversaries of a scenario: people, processes, what keeps the counts, and what happens to them.

use tidegate_algorithms::{MAX_SPAN, MIN_SPAN, Span};

use super::read::span_up_to;
use super::{Around, Crowd, Kept, Outage};
use crate::file::{Fields, Node, Report, list};
use crate::problem::At;
use crate::validate::{number, share, span_within};

/// Every one of them has a place in the event queue, and a key.
const MOST_PEOPLE: u64 = 100_000;
/// Somebody who wants something more often is a program.
const OFTENEST: Span = Span::from_secs(1);
const DAY: Span = Span::from_secs(86_400);
/// Every process holds stores and limits of its own.
const MOST_PROCESSES: u64 = 1_000;
/// The keys of a store.
const MOST_KEYS: u64 = 10_000_000;
/// A store takes no longer between reading and writing.
const MOST_GAP: Span = Span::from_secs(60);

/// Reads the people.
pub(super) fn people(node: &Node, report: &mut Report) -> Option<Crowd> {
    let mut fields = Fields::open(node, "people", report)?;
    let count = fields.need("count", "200");
    let count = count.and_then(|node| node.integer_in("count", 1..=MOST_PEOPLE, report));
    let every = fields.need("every", "2h");
    let every = every.and_then(|node| span_within(node, "every", (OFTENEST, MAX_SPAN), report));
    let remedy = "write a share from 0% to 100%, such as 10% or 0.5%";
    let typo = fields.get("typo").and_then(|node| share(node, "typo", 0.0..=100.0, remedy, report));
    let tries = number(&mut fields, "tries", 1..=100, report);
    let think = span_up_to(&mut fields, "think", DAY, report);
    let behind = number(&mut fields, "behind_one_address", 1..=MOST_PEOPLE, report);
    fields.finish(&[], report);
    Some(Crowd {
        count: u32::try_from(count?).ok()?,
        every: every?,
        typo,
        tries,
        think,
        behind_one_address: behind,
    })
}

/// Reads what stands around a process.
pub(super) fn topology(node: &Node, report: &mut Report) -> Option<Around> {
    let mut fields = Fields::open(node, "topology", report)?;
    let around = Around {
        instances: number(&mut fields, "instances", 1..=MOST_PROCESSES, report),
        shared: fields.get("shared").and_then(|node| node.boolean("shared", report)),
        regions: number(&mut fields, "regions", 1..=MOST_PROCESSES, report),
        lag: span_up_to(&mut fields, "lag", DAY, report),
        skew: span_up_to(&mut fields, "skew", DAY, report),
    };
    let regions = around.regions.unwrap_or(1);
    let processes = u64::from(around.instances.unwrap_or(1)).saturating_mul(regions.into());
    if processes > MOST_PROCESSES {
        report.add(
            fields.place_of("instances"),
            format!("{processes} processes are too many for a simulation"),
            format!("let instances times regions be {MOST_PROCESSES} at most"),
        );
    }
    let lag = fields.place_of("lag");
    if around.lag.is_some() && regions < 2 {
        report.add(lag, "lag is said of one region", "say how many learn of each other: `regions: 2`");
    } else if around.lag.is_some() && around.shared == Some(false) {
        let message = "lag is said where every process has its own store";
        report.add(lag, message, "stores that are shared learn of each other: `shared: true`");
    }
    fields.finish(&[], report);
    Some(around)
}

/// What to write for a store.
const STORES: &str = "write `evicting: 10000`, `stale_check: 5ms`, `read_modify_write: 5ms` or `keys: 10000`";

/// Reads what keeps the counts.
pub(super) fn store(node: &Node, report: &mut Report) -> Option<Kept> {
    const NAMES: [&str; 4] = ["keys", "evicting", "stale_check", "read_modify_write"];
    if let Some(word) = node.scalar() {
        if word == "own_clocks" {
            return Some(Kept::OwnClocks);
        }
        let remedy = format!("write own_clocks; or, in braces, {}", STORES.trim_start_matches("write "));
        report.add(node.place, format!("store \"{word}\" is not known"), remedy);
        return None;
    }
    let mut fields = Fields::open(node, "store", report)?;
    let written = fields.among(&NAMES);
    let mut kept = None;
    match written.as_slice() {
        [] => fields.lack_source(&NAMES, "store says nothing", STORES),
        [(name, entry), more @ ..] => {
            kept = keeper(name, &entry.value, report);
            if let Some((second, entry)) = more.first() {
                let message = format!("`{second}` is beside `{name}`, and there is one store");
                report.add(entry.place, message, "keep one of them");
            }
        }
    }
    fields.finish(&[], report);
    kept
}

fn keeper(name: &str, node: &Node, report: &mut Report) -> Option<Kept> {
    match name {
        "keys" | "evicting" => {
            let keys = u32::try_from(node.integer_in(name, 1..=MOST_KEYS, report)?).ok()?;
            Some(if name == "keys" { Kept::Keys(keys) } else { Kept::Evicting(keys) })
        }
        _ => {
            let gap = span_within(node, name, (MIN_SPAN, MOST_GAP), report)?;
            Some(if name == "stale_check" { Kept::StaleCheck(gap) } else { Kept::ReadModifyWrite(gap) })
        }
    }
}

/// Reads when the store is lost, one time after the other.
pub(super) fn outages(node: &Node, length: Option<Span>, report: &mut Report) -> Vec<Outage> {
    let items = list(node, "outages", report).unwrap_or_default();
    let mut outages: Vec<Outage> = Vec::new();
    for item in items {
        let Some(mut fields) = Fields::open(item, "an outage", report) else { continue };
        let at = moment(&mut fields, length, report);
        let lasts = fields.need("for", "60s");
        let lasts = lasts.and_then(|node| span_within(node, "for", (MIN_SPAN, MAX_SPAN), report));
        fields.finish(&[], report);
        let (Some(at), Some(length)) = (at, lasts) else { continue };
        if let Some(before) = outages.last().filter(|before| before.end() > at) {
            let remedy = format!("let it begin at {} or later, or write one outage", before.end());
            report.add(item.place, "this outage begins before the one above has ended", remedy);
        }
        outages.push(Outage { at, length, written: At(item.place) });
    }
    outages
}

/// Reads when processes start anew.
pub(super) fn restarts(node: &Node, length: Option<Span>, report: &mut Report) -> Vec<Span> {
    let items = list(node, "restarts", report).unwrap_or_default();
    let mut restarts: Vec<Span> = Vec::new();
    for item in items {
        let Some(mut fields) = Fields::open(item, "a restart", report) else { continue };
        let at = moment(&mut fields, length, report);
        fields.finish(&[], report);
        let Some(at) = at else { continue };
        if let Some(before) = restarts.last().filter(|before| **before >= at) {
            let remedy = format!("restarts stand in the order of time, and the one above comes at {before}");
            report.add(item.place, "this restart does not come after the one above", remedy);
        }
        restarts.push(at);
    }
    restarts
}

/// Reads an instant within the scenario.
fn moment(fields: &mut Fields<'_>, length: Option<Span>, report: &mut Report) -> Option<Span> {
    let node = fields.need("at", "1h")?;
    let at = node.span("at", report)?;
    if let Some(length) = length.filter(|length| at >= *length) {
        let message = format!("at {at} is not within the scenario, which ends after {length}");
        report.add(node.place, message, "let it come sooner, or the scenario go on longer");
        return None;
    }
    Some(at)
}
