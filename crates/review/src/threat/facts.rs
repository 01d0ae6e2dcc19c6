//! What a threat model states, as labels and values: the figures and choices that a committed copy is held to, and the
//! prose beside them.

use std::collections::BTreeSet;

use tidegate_policy::{Mode, StoreChoice};

use super::{Row, RuleRows, ThreatModel};
use crate::explain::{sees, spoken_rate};
use crate::figures::{spoken_chance, spoken_count, spoken_time};
use crate::guess::GuessTimes;

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) label: String,
    pub(super) value: String,
}

/// Labels of the overview's columns that stand in a limit's own table as well.
pub(super) const KEY: &str = "Key";
pub(super) const CHOSEN_BY: &str = "Key chosen by";
pub(super) const AT_ONCE: &str = "Most at once";
pub(super) const IN_WINDOW: &str = "Most in its window";
pub(super) const IN_DAY: &str = "Most in any 1d";
pub(super) const GUESS_MEAN: &str = "Blind guess, mean";
pub(super) const LOCKED_OUT: &str = "Locked out for a day by";

/// The overview's columns, the limit's name before them.
pub(super) const OVERVIEW: [&str; 7] = [KEY, CHOSEN_BY, AT_ONCE, IN_WINDOW, IN_DAY, GUESS_MEAN, LOCKED_OUT];

/// All labels there are, but those of spans, which begin with [`SPANS`].
pub(super) const LABELS: [&str; 30] = [
    KEY,
    CHOSEN_BY,
    AT_ONCE,
    IN_WINDOW,
    GUESS_MEAN,
    LOCKED_OUT,
    "Algorithm",
    "Counts",
    "Mode",
    "Window",
    "Starting in its window",
    "In the long run",
    "Blind guess, 50 %",
    "Blind guess, 95 %",
    "Blind guess, chance a day",
    "Blind guess, chance a year",
    "State of a key",
    "A refusal",
    "Class",
    "Applies to",
    "Guesses",
    "Without the store",
    "Without the store, in its window",
    "A client sees",
    "Open findings",
    "Accepted findings",
    "Store",
    "Instances",
    "Regions",
    "Budget",
];

/// How the labels of spans begin.
pub(super) const SPANS: &str = "Most in any ";

impl Fact {
    fn new(label: &str, value: impl Into<String>) -> Self {
        Self { label: label.to_owned(), value: value.into() }
    }
}

/// Returns what is so for the whole policy.
pub(super) fn of_policy(model: &ThreatModel<'_>) -> Vec<Fact> {
    let policy = model.policy;
    let store = match policy.store {
        StoreChoice::Memory(_) => "memory of each process",
        StoreChoice::Redis(_) => "Redis, shared",
    };
    let mut facts = vec![
        Fact::new("Store", store),
        Fact::new("Instances", policy.instances.to_string()),
        Fact::new("Regions", policy.topology.regions.to_string()),
        Fact::new("Mode", mode(policy.mode)),
    ];
    if let Some(budget) = policy.budget {
        facts.push(Fact::new("Budget", format!("{} a year", spoken_chance(budget.guess_per_year))));
    }
    facts.push(Fact::new("Open findings", ids(model.findings.iter().map(|finding| finding.id))));
    facts
}

/// Returns what is so for all limits of a rule.
pub(super) fn of_rule(rule: &RuleRows<'_>) -> Vec<Fact> {
    let of = rule.rule();
    let applies = if rule.explained.applies.is_empty() {
        "what no enforced limit looked at".to_owned()
    } else {
        rule.explained.applies.join("; ")
    };
    let mut facts = vec![Fact::new("Class", of.class.name()), Fact::new("Applies to", applies)];
    if let Some(guesses) = rule.explained.guesses() {
        facts.push(Fact::new("Guesses", guesses));
        facts.extend(guess(rule.guess.as_ref(), "no limit holds one victim"));
    }
    let without = rule.explained.limits.first().map_or("", |limit| limit.gone.word());
    facts.push(Fact::new("Without the store", without));
    facts.push(Fact::new("A client sees", sees(of.client_sees)));
    let accepted = rule.accepted().iter().map(|one| one.id.as_str());
    facts.push(Fact::new("Open findings", ids(rule.open().map(|finding| finding.id))));
    facts.push(Fact::new("Accepted findings", ids(accepted)));
    facts
}

/// Writes the names of findings, each once.
fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let ids: BTreeSet<&str> = ids.collect();
    if ids.is_empty() { "none".to_owned() } else { ids.into_iter().collect::<Vec<_>>().join(", ") }
}

/// Returns what is so for a limit under its terms.
pub(super) fn of_row(row: &Row<'_>, guesses: bool) -> Vec<Fact> {
    let (explained, admits) = (&row.explained, &row.admits);
    let choosers: Vec<String> = row.chosen_by.iter().map(ToString::to_string).collect();
    let mut facts = vec![
        Fact::new("Algorithm", explained.numbers()),
        Fact::new("Counts", explained.counts()),
        Fact::new("Mode", mode(explained.limit.mode)),
        Fact::new(KEY, explained.limit.key.to_string()),
        Fact::new(CHOSEN_BY, choosers.join(" and ")),
        Fact::new(AT_ONCE, spoken_count(admits.at_once)),
        Fact::new(IN_WINDOW, spoken_count(admits.in_window())),
        Fact::new("Window", admits.window.to_string()),
    ];
    facts.extend(
        admits.in_any.iter().map(|(span, most)| Fact::new(&format!("{SPANS}{span}"), spoken_count(*most))),
    );
    facts.extend(admits.start_in_window.map(|most| Fact::new("Starting in its window", spoken_count(most))));
    facts.push(Fact::new("In the long run", spoken_rate(admits.long_run)));
    if guesses {
        let why_none = if row.holds_victim {
            "not held back, in shadow mode"
        } else {
            "its key does not hold one victim"
        };
        facts.extend(guess(row.guess.as_ref(), why_none));
    }
    facts.push(Fact::new(LOCKED_OUT, locked_out(row)));
    if let Some(share) = &explained.gone.share {
        let together = spoken_count(share.in_window_together);
        facts.push(Fact::new("Without the store, in its window", together));
    }
    if let Some(sees_own) = explained.limit.client_sees {
        facts.push(Fact::new("A client sees", sees(sees_own)));
    }
    facts.push(Fact::new("State of a key", format!("{} bytes", spoken_count(admits.state_bytes.into()))));
    facts
}

/// Returns the times to a guess, or why there are none.
fn guess(times: Option<&GuessTimes>, why_none: &str) -> Vec<Fact> {
    let Some(times) = times else { return vec![Fact::new(GUESS_MEAN, why_none)] };
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "never".to_owned(), spoken_time);
    vec![
        Fact::new(GUESS_MEAN, time(times.mean)),
        Fact::new("Blind guess, 50 %", time(times.p50)),
        Fact::new("Blind guess, 95 %", time(times.p95)),
        Fact::new("Blind guess, chance a day", spoken_chance(times.chance_day)),
        Fact::new("Blind guess, chance a year", spoken_chance(times.chance_year)),
    ]
}

fn locked_out(row: &Row<'_>) -> String {
    let what = if row.explained.counts().starts_with("every request") { "requests" } else { "failures" };
    let units = row.explained.limit.unit.clone().unwrap_or_else(|| "units".to_owned());
    let what = if row.explained.takes_one() { what } else { units.as_str() };
    let count =
        row.requests_to_deny.map_or_else(|| "no number".to_owned(), |count| spoken_count(count.into()));
    if !row.explained.is_enforced() {
        return "nothing, in shadow mode".to_owned();
    }
    format!("{count} {what}, {}", row.denied_by)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
    }
}
