//! The simulation of what was sent to a gateway: the same requests at the instants at which they were under way.
//!
//! When a gateway decided is known only to lie between sending and receiving, less the time for which it held the request,
//! and its clock may be off ours. So the limiter here follows: it takes the requests in an order in which they can have been
//! decided ([`order`](super::order)), and at instants within those bounds; where the gateway did otherwise by no more than the
//! tolerance, it does as the gateway did and goes on from there, lest one difference of a millisecond become a hundred.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use serde::Serialize;
use tidegate::{
    BuildError, CheckOptions, Limiter, MemoryOptions, MemoryStore, Prepared, Settlement, Snapshot, Verdict,
};
use tidegate_algorithms::{Span, Timestamp};

use super::client::Response;
use super::drive::Record;
use super::kind::Kind;
use super::order::in_order;
use super::plan::Planned;
use crate::target::Target;

/// So many differences are told; more say nothing more.
const MOST_TOLD: usize = 20;

/// When a request that passed is taken to have been decided, of the time it was under way.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// When it had arrived, as far as refusals tell how long that takes: nothing but the way and the decision is in theirs.
    Arrived(Span),
    /// In the middle, or at the end: a gateway on a busy machine may have been late.
    Halves(u64),
    /// So long before it was sent, or after it was answered: by a clock that is off.
    Before(Span),
    After(Span),
}

/// What came of an adversary's requests, at the gateway and in the simulation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Followed {
    /// How many requests were sent.
    pub sent: u64,
    /// How many passed at the gateway.
    pub admitted: u64,
    /// How many passed in the simulation at the same instants.
    pub simulated: u64,
    /// How many the two decided differently, but no more than clocks explain.
    pub within_tolerance: u64,
    /// How many they decided differently beyond that.
    pub differing: u64,
    /// How many they decided differently while answers took too long, beside the limits' windows, for that to mean anything.
    pub untold: u64,
    /// How many the gateway answered without its limits' counts, which says nothing of them.
    pub undecided: u64,
    /// The first of those that differ.
    pub differences: Vec<Difference>,
}

/// A request that a gateway decided otherwise than the simulation.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// When it was sent, in microseconds since 1970.
    pub at_micros: u64,
    /// Whether it passed at the gateway.
    pub passed: bool,
    /// The gateway's status.
    pub status: u16,
    /// What the simulation says of it, in words.
    pub simulation: String,
}

/// How well the simulation agrees with the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    /// At an instant at which the request was under way.
    Exact,
    /// At one that clocks explain.
    Near,
    None,
}

/// What the simulation says of a request.
pub(super) struct Said {
    pub(super) agrees: Agreement,
    /// The instant at which it may have been decided.
    pub(super) at: Timestamp,
    /// The last one at which it can have been: its answer came then, but for the time it was held.
    pub(super) by: Timestamp,
    pub(super) words: String,
}

/// Decides what was sent, and returns what came of each attack, with how far in time a difference was borne: the tolerance and
/// the longest time that a refusal took there and back.
///
/// # Errors
/// When the limits cannot be built.
pub(super) fn follow(
    attacks: &[Planned],
    mut records: Vec<Record>,
    tolerance: Span,
) -> Result<(Vec<Followed>, Span), BuildError> {
    records.sort_by_key(|record| record.response.sent);
    records.iter_mut().enumerate().for_each(|(number, record)| record.number = number);
    let records: Vec<&Record> = records.iter().collect();
    let (median, most) = took(&records);
    let tolerance = Span::from_micros(tolerance.as_micros().saturating_add(most.as_micros()));
    let way = Span::from_micros(median.as_micros() / 2);
    let mut best: Vec<Followed> = Vec::new();
    for when in [When::Arrived(way), When::Halves(1), When::Halves(2)] {
        let followed = Follower::new(attacks, tolerance, when)?.decide(&records);
        if best.is_empty() {
            best = followed;
        } else {
            // What explains one attack need not be what explains another.
            let pairs = best.iter_mut().zip(followed);
            pairs
                .filter(|(best, other)| other.differing < best.differing)
                .for_each(|(best, other)| *best = other);
        }
        if best.iter().all(|followed| followed.differing == 0) {
            return Ok((best, tolerance));
        }
    }
    for (index, best) in best.iter_mut().enumerate().filter(|(_, best)| (1..=FEW).contains(&best.differing)) {
        let own: Vec<&Record> = records.iter().copied().filter(|record| record.attack == index).collect();
        look_closer(attacks, &own, (When::Arrived(way), tolerance), (index, best))?;
    }
    for (attack, followed) in attacks.iter().zip(&mut best) {
        if is_too_slow(attack, tolerance) {
            followed.untold = std::mem::take(&mut followed.differing);
            followed.differences.clear();
        }
    }
    Ok((best, tolerance))
}

/// Returns whether so much is borne that nearly any request may have been decided in one window or in the next.
fn is_too_slow(attack: &Planned, borne: Span) -> bool {
    let shortest = attack.aim.guards.iter().map(|guard| guard.quota.window()).min();
    shortest.is_some_and(|window| borne.as_micros() > window.as_micros() / WINDOW_TO_BORNE)
}

/// A window is to be so many times as long as what is borne, for a difference to mean something.
const WINDOW_TO_BORNE: u64 = 4;

/// More differences than these are no matter of one instant.
const FEW: u64 = 16;
/// So many requests before a difference are looked at again.
const LOOKED_AT: usize = 12;

/// Looks for instants of single requests, within their bounds, at which an attack differs less: whether a request came before
/// a window's end or after it decides what all later ones find.
fn look_closer(
    attacks: &[Planned],
    records: &[&Record],
    (when, tolerance): (When, Span),
    (index, best): (usize, &mut Followed),
) -> Result<(), BuildError> {
    let worth = |followed: &Followed| {
        (followed.differing, std::cmp::Reverse(followed.differences.first().map(|first| first.at_micros)))
    };
    let mut moved = HashMap::new();
    let others = [When::Halves(0), When::Halves(2), When::Before(tolerance), When::After(tolerance)];
    loop {
        let Some(first) = best.differences.first().map(|first| first.at_micros) else { return Ok(()) };
        let earlier = |record: &&&Record| {
            record.response.kind.is_admitted() && record.response.sent.as_micros() <= first
        };
        let candidates = records.iter().rev().filter(earlier).take(LOOKED_AT);
        let mut better = None;
        // Those that were under way together are moved together as well: a window may have ended before all of them.
        let choices = candidates.flat_map(|record| others.map(|other| (record, other)));
        'search: for (record, other) in choices {
            for alone in [true, false] {
                let group = records
                    .iter()
                    .filter(|one| one.number == record.number || !alone && overlap(one, record));
                let mut tried = moved.clone();
                tried.extend(group.map(|one| (one.number, other)));
                let follower = Follower { moved: tried.clone(), ..Follower::new(attacks, tolerance, when)? };
                let result = follower.decide(records).swap_remove(index);
                if worth(&result) < worth(best) {
                    better = Some((tried, result));
                    break 'search;
                }
            }
        }
        let Some((tried, followed)) = better else { return Ok(()) };
        (moved, *best) = (tried, followed);
    }
}

/// Returns whether two requests were under way at one instant.
fn overlap(one: &Record, other: &Record) -> bool {
    let (one, other) = (&one.response, &other.response);
    one.sent <= other.received && other.sent <= one.received
}

/// How long refusals took there and back, in the median and at most: nothing but the way and the decision is in theirs. So
/// this is how late a decision may have come that a later one hangs on, beside the difference of clocks.
fn took(records: &[&Record]) -> (Span, Span) {
    let refused =
        records.iter().map(|record| &record.response).filter(|response| response.kind == Kind::Refused);
    let mut took: Vec<Span> =
        refused.map(|response| response.received.saturating_since(response.sent)).collect();
    took.sort_unstable();
    let median = took.get(took.len() / 2).copied().unwrap_or(Span::ZERO);
    (median, took.last().copied().unwrap_or(Span::ZERO))
}

/// A limiter that follows a gateway.
pub(super) struct Follower<'a> {
    attacks: &'a [Planned],
    /// One for all: they ask one gateway.
    limits: Option<(Limiter, Snapshot)>,
    tolerance: Span,
    when: When,
    /// When some were decided that are taken apart, by their numbers.
    moved: HashMap<usize, When>,
    followed: Vec<Followed>,
}

impl<'a> Follower<'a> {
    /// Builds the limits of the policy over a fresh store.
    pub(super) fn new(attacks: &'a [Planned], tolerance: Span, when: When) -> Result<Self, BuildError> {
        let limits = match attacks.first() {
            Some(first) => {
                let store = MemoryStore::new(MemoryOptions::default()).map_err(BuildError::Store)?;
                let limiter = first.here.requests().limiter(Arc::new(store))?;
                let snapshot = limiter.snapshot();
                Some((limiter, snapshot))
            }
            None => None,
        };
        let followed = attacks.iter().map(|_| Followed::default()).collect();
        Ok(Self { attacks, limits, tolerance, when, moved: HashMap::new(), followed })
    }

    /// Decides records, which are in the order in which they were sent, and returns what came of each attack.
    pub(super) fn decide(mut self, records: &[&Record]) -> Vec<Followed> {
        for record in records {
            let undecided = record.response.kind == Kind::Undecided;
            let admitted = record.response.kind.is_admitted();
            if let Some(followed) = self.followed.get_mut(record.attack) {
                followed.sent = followed.sent.saturating_add(1);
                followed.admitted = followed.admitted.saturating_add(admitted.into());
                followed.undecided = followed.undecided.saturating_add(undecided.into());
            }
        }
        in_order(&mut self, records);
        self.followed
    }

    /// Plans a request; `None` when it is refused whatever was counted.
    pub(super) fn prepare(&self, record: &Record) -> Option<Prepared> {
        let (_, snapshot) = self.limits.as_ref()?;
        self.attacks.get(record.attack)?.here.requests().prepare(snapshot, &record.who)
    }

    /// Returns what the simulation says of a request.
    pub(super) fn say(&self, prepared: Option<&Prepared>, record: &Record) -> Said {
        let response = &record.response;
        let sent = response.sent;
        let not = |words: &str| Said {
            agrees: Agreement::None,
            at: sent,
            by: response.received,
            words: words.to_owned(),
        };
        let passed = response.kind.is_admitted();
        match prepared {
            None if passed => not("it is refused whatever was counted"),
            None => Said { agrees: Agreement::Exact, ..not("") },
            Some(prepared) if passed => self.say_of_passed(prepared, record),
            Some(prepared) => {
                let Some(verdict) = check(prepared, sent, true) else {
                    return not("the store did not answer");
                };
                let early = || check(prepared, before(sent, self.tolerance), true);
                let agrees = if !verdict.is_allowed() {
                    Agreement::Exact
                } else if early().is_some_and(|verdict| !verdict.is_allowed()) {
                    Agreement::Near
                } else {
                    Agreement::None
                };
                Said { agrees, at: sent, by: response.received, words: verdict.explain() }
            }
        }
    }

    fn say_of_passed(&self, prepared: &Prepared, record: &Record) -> Said {
        let response = &record.response;
        let sent = response.sent;
        let never = |words: String| Said { agrees: Agreement::None, at: sent, by: response.received, words };
        let Some(first) = check(prepared, sent, true) else {
            return never("the store did not answer".to_owned());
        };
        let words = first.explain();
        let wait = match first.retry() {
            _ if first.is_allowed() => Some(Span::ZERO),
            retry => retry.and_then(tidegate::Retry::wait),
        };
        let Some(free) = wait.map(|wait| sent.saturating_add(wait)) else { return never(words) };
        let then = check(prepared, free, true).filter(Verdict::is_allowed);
        let Some(then) = then else { return never(words) };
        // It was decided before it was held.
        let decided = before(response.received, then.delay()).max(sent);
        let agrees = if free <= decided {
            Agreement::Exact
        } else if free <= decided.saturating_add(self.tolerance) {
            Agreement::Near
        } else {
            Agreement::None
        };
        if agrees == Agreement::None {
            return never(words);
        }
        let under_way = decided.saturating_since(sent).as_micros();
        let within = |micros: u64| free.max(sent.saturating_add(Span::from_micros(micros)));
        let at = match *self.moved.get(&record.number).unwrap_or(&self.when) {
            When::Arrived(way) => within(way.as_micros().min(under_way)),
            When::Halves(halves) => within(under_way.saturating_mul(halves) >> 1),
            When::After(late) => within(under_way.saturating_add(late.as_micros())),
            When::Before(early) => {
                let at = before(sent, early);
                let may = check(prepared, at, true).is_some_and(|verdict| verdict.is_allowed());
                if may { at } else { free }
            }
        };
        Said { agrees, at, by: decided, words }
    }

    /// Gives back what an answer gives back.
    pub(super) fn settle(&self, settlement: Settlement, at: Timestamp) {
        if let Some((limiter, _)) = &self.limits {
            // A store in memory gives back at once.
            let _ = limiter.settle_at(settlement, Some(at)).now_or_never();
        }
    }

    /// Notes what came of a request.
    pub(super) fn note(&mut self, record: &Record, said: Said) {
        let Some(followed) = self.followed.get_mut(record.attack) else { return };
        let passed = record.response.kind.is_admitted();
        let same = said.agrees == Agreement::Exact;
        followed.simulated = followed.simulated.saturating_add((passed == same).into());
        match said.agrees {
            Agreement::Exact => {}
            Agreement::Near => followed.within_tolerance = followed.within_tolerance.saturating_add(1),
            Agreement::None => {
                followed.differing = followed.differing.saturating_add(1);
                if followed.differences.len() < MOST_TOLD {
                    followed.differences.push(Difference {
                        at_micros: record.response.sent.as_micros(),
                        passed,
                        status: record.response.status.as_u16(),
                        simulation: said.words,
                    });
                }
            }
        }
    }
}

/// Charges a request that passed, and returns what its answer gives back.
pub(super) fn charge(prepared: &Prepared, said: &Said, response: &Response) -> Option<Settlement> {
    let pending = check(prepared, said.at, false)?.take_pending();
    let settlement = match response.kind {
        Kind::Unserved => pending.never_forwarded(),
        _ => pending.answered(response.status, &response.headers),
    };
    Some(settlement).filter(|settlement| !settlement.is_empty())
}

fn check(prepared: &Prepared, at: Timestamp, peek: bool) -> Option<Verdict> {
    prepared.check(CheckOptions { at: Some(at), peek, ..CheckOptions::default() }).now_or_never()
}

/// Returns the instant a span earlier.
fn before(at: Timestamp, span: Span) -> Timestamp {
    Timestamp::saturating_from_micros(at.as_micros().saturating_sub(span.as_micros()))
}
