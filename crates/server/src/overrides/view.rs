//! An override as the operator's endpoint shows it.

use serde::Serialize;
use tidegate::Timestamp;
use tidegate::policy_file::Strictness;
use tidegate::policy_file::overlay::{Became, Set, SetMode, instant};
use tokio::time::Instant;

use super::{Held, Outcome};

/// An override.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct View {
    limit: String,
    /// The name of its key outside the process; null for everybody.
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    because: String,
    /// The address of whoever made it.
    by: String,
    since: String,
    until: String,
    ends_in_seconds: u64,
    /// Whether it is in force on this instance.
    applies: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Whether more is let through than by the file (`looser`) or less (`tighter`).
    effect: &'static str,
    /// What it makes of the limit, in words and in numbers; of one with plans, of each.
    in_force: Vec<InForce>,
}

#[derive(Debug, Clone, Serialize)]
struct InForce {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    says: String,
    numbers: String,
    /// The numbers by the file.
    was: String,
    /// What is admitted at once by the file, and now.
    at_once_was: u32,
    at_once: u32,
    /// Whether that is looser or tighter than the file.
    effect: &'static str,
}

impl View {
    pub(super) fn of(held: &Held, outcome: &Outcome, now: Instant) -> Self {
        let text = &held.text;
        let left = held.ends.saturating_duration_since(now);
        let mut view = Self {
            limit: text.limit.clone(),
            key: text.key.clone(),
            number: None,
            terms: None,
            mode: None,
            because: text.because.clone(),
            by: text.by.clone(),
            since: instant(Timestamp::saturating_from_micros(text.since)),
            until: instant(held.until),
            // Rounded up: one that holds does not end in no time.
            ends_in_seconds: left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0)),
            applies: outcome.is_ok(),
            problem: outcome.as_ref().err().map(ToString::to_string),
            effect: Strictness::Same.word(),
            in_force: Vec::new(),
        };
        match Set::from(&text.set) {
            Set::Number(number) => view.number = Some(number),
            Set::Terms(terms) => view.terms = Some(terms),
            Set::Mode(mode) => view.mode = Some(mode.name()),
        }
        for became in outcome.iter().flatten() {
            view.in_force.push(InForce::of(became));
        }
        view.effect = view.sum();
        view
    }
    /// Says whether more or less is let through than by the file, all plans together.
    fn sum(&self) -> &'static str {
        let mut effects: Vec<&str> = self.in_force.iter().map(|one| one.effect).collect();
        effects.retain(|effect| *effect != Strictness::Same.word());
        effects.dedup();
        match effects.as_slice() {
            [] if self.mode == Some(SetMode::Off.name()) => Strictness::Looser.word(),
            [] => Strictness::Same.word(),
            [one] => one,
            _ => Strictness::Mixed.word(),
        }
    }
}

impl InForce {
    fn of(became: &Became) -> Self {
        Self {
            plan: became.plan.clone(),
            says: became.says.clone(),
            numbers: became.numbers.clone(),
            was: became.was.clone(),
            at_once_was: became.at_once.0,
            at_once: became.at_once.1,
            effect: became.strictness.word(),
        }
    }
}
