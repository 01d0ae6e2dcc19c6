//! Claims held against the numbers.

use std::ops::Range;

use tidegate_algorithms::Quota;

use super::claim::{Claim, Says};
use super::fraction::Fraction;
use super::names::{self, Named};
use super::piece::Counted;
use super::{Contradiction, Meaning, Misleading, Reading, Unclear, canonical, numbers};
use crate::cost::Cost;
use crate::count::Count;
use crate::key::Part;

/// What has been found about a sentence so far.
pub(super) struct Judge<'a> {
    pub(super) meaning: &'a Meaning<'a>,
    pub(super) says: &'a str,
    pub(super) claims: &'a [Claim],
    contradictions: Vec<Contradiction>,
    misleading: Vec<Misleading>,
    unclear: Option<(Range<usize>, String)>,
}

/// Holds the claims of a sentence against the numbers.
pub(super) fn judge(says: &str, claims: &[Claim], meaning: &Meaning<'_>) -> Reading {
    let mut judge =
        Judge { meaning, says, claims, contradictions: Vec::new(), misleading: Vec::new(), unclear: None };
    numbers::hold(&mut judge);
    judge.burst_of_a_window();
    judge.key();
    judge.units();
    judge.failures();
    if !judge.contradictions.is_empty() {
        return Reading::Contradicts(judge.contradictions);
    }
    match judge.unclear {
        Some((place, why)) => Reading::Unclear(Unclear { place, why, sentence: canonical(meaning) }),
        None => Reading::Agrees { misleading: judge.misleading },
    }
}

impl Judge<'_> {
    /// Notes a claim that is not so: what is, and the numbers for which it would be.
    pub(super) fn contradict(&mut self, claim: &Claim, fact: impl Into<String>, numbers: impl Into<String>) {
        self.contradictions.push(Contradiction {
            place: claim.place.clone(),
            claim: self.written(&claim.place),
            fact: fact.into(),
            sentence: canonical(self.meaning),
            numbers: numbers.into(),
        });
    }

    /// Notes a claim of which it cannot be told what it adds.
    pub(super) fn unsure(&mut self, claim: &Claim, why: impl Into<String>) {
        self.unclear.get_or_insert((claim.place.clone(), why.into()));
    }

    /// Notes that the sentence leaves something out.
    pub(super) fn miss(&mut self, why: impl Into<String>) {
        self.unclear.get_or_insert((0..self.says.len(), why.into()));
    }

    /// Notes a claim that hides a figure.
    pub(super) fn mislead(&mut self, claim: &Claim, fact: String, remedy: String) {
        let claim_text = self.written(&claim.place);
        self.misleading.push(Misleading { place: claim.place.clone(), claim: claim_text, fact, remedy });
    }

    fn written(&self, place: &Range<usize>) -> String {
        self.says.get(place.clone()).unwrap_or(self.says).to_owned()
    }

    /// A window that is said to take some at once and others after that: the numbers may be the same, and the limit is not.
    fn burst_of_a_window(&mut self) {
        let is_bucket = matches!(self.meaning.quota, Quota::TokenBucket(_) | Quota::LeakyBucket(_));
        let claims = self.claims;
        let burst = claims.iter().find(|claim| matches!(claim.says, Says::Burst(_)));
        let rates = claims.iter().any(|claim| matches!(claim.says, Says::Rate(_)));
        if let (false, true, Some(burst)) = (is_bucket, rates, burst) {
            self.unsure(burst, "a window takes no more at once than in all");
        }
    }

    /// Every part of the key has to be said, and nothing else.
    fn key(&mut self) {
        let key = self.meaning.key;
        let per = names::per_key(key);
        let claims = self.claims;
        for claim in claims {
            match claim.says {
                Says::Everyone if !key.is_global() => {
                    self.contradict(claim, format!("it counts {per}, each for itself"), "`key: global`");
                }
                Says::Key(Named::ForeignAddress) => {
                    let fact = if key.is_global() {
                        "it counts everyone together".to_owned()
                    } else {
                        format!("it counts {per}")
                    };
                    self.contradict(claim, fact, "`key: client_ip`");
                }
                _ => {}
            }
        }
        let says = |says: Says| claims.iter().any(|claim| claim.says == says);
        if key.is_global() {
            if !says(Says::Everyone)
                && !key.parts.iter().enumerate().any(|(at, _)| says(Says::Key(Named::Part(at))))
            {
                self.miss("it does not say that everyone is counted together");
            }
            return;
        }
        for (at, part) in key.parts.iter().enumerate() {
            if !says(Says::Key(Named::Part(at))) {
                self.miss(missing(part));
            }
        }
    }

    /// What is counted has to be said where it is not requests.
    fn units(&mut self) {
        let claims = self.claims;
        let Meaning { unit, cost, .. } = *self.meaning;
        let said = |counted: Counted| claims.iter().any(|claim| claim.says == Says::Counts(counted));
        let mut weighed = *cost == Cost::Units(1);
        for claim in claims {
            match (claim.says, cost) {
                (Says::EachItem | Says::Counts(Counted::Items), Cost::Items(_)) | (Says::CountedBy, _) => {
                    weighed = true;
                }
                (Says::EachItem | Says::Counts(Counted::Items), _) => {
                    let fact = "a request counts the same, however many items it has";
                    self.contradict(claim, fact, "`cost: { items: /items }`");
                }
                (Says::Costs(said), Cost::Units(units)) if said == Fraction::whole((*units).into()) => {
                    weighed = true;
                }
                (Says::Costs(_), Cost::Units(units)) => {
                    self.contradict(claim, format!("a request counts {units}"), "that as `cost`");
                }
                (Says::EachNoun, _) if unit.is_none() => {
                    self.unsure(claim, "a request counts once, however many it has");
                }
                (Says::Costs(_), _) => self.unsure(claim, format!("what a request counts depends on {cost}")),
                (Says::Counts(Counted::Requests), Cost::Units(units)) if unit.is_none() && *units != 1 => {
                    self.contradict(claim, format!("a request counts {units}"), "`cost: 1`");
                }
                (Says::Counts(Counted::Requests), _) => self.requests(claim),
                (Says::Counts(Counted::Units), Cost::Units(1)) => {
                    self.unsure(claim, "units of what? The numbers count requests");
                }
                _ => {}
            }
        }
        match unit {
            Some(unit) if !said(Counted::Unit) => {
                self.miss(format!("it does not say that the numbers count {unit}"));
            }
            None if !weighed => self.miss(format!("it does not say that a request counts {cost}")),
            _ => {}
        }
    }

    /// Requests are said to be counted.
    fn requests(&mut self, claim: &Claim) {
        if let Some(unit) = self.meaning.unit {
            self.unsure(claim, format!("the numbers count {unit}"));
        } else if *self.meaning.cost != Cost::Units(1) {
            self.unsure(claim, format!("a request counts {}", self.meaning.cost));
        }
    }

    /// Whether only failures count has to be said.
    fn failures(&mut self) {
        let claims = self.claims;
        let claim = claims.iter().find(|claim| claim.says == Says::Failures);
        match (claim, self.meaning.count) {
            (Some(claim), Count::Every) => {
                let numbers = "`count: { failures: true, success: { status: [200] } }`";
                self.contradict(claim, "every request counts, one that succeeds as well", numbers);
            }
            (None, Count::Failures { .. }) => self.miss("it does not say that only failures count"),
            _ => {}
        }
    }
}

/// Says that a part of the key is not named, and how it may be.
fn missing(part: &Part) -> String {
    let called = part.called.first().map_or_else(|| names::spoken(&part.name), Clone::clone);
    format!(
        "it does not say that it counts per {called} (what else people call it, `called` of the key says)"
    )
}
