//! The simulation of what was sent to a gateway: the same requests at the instants at which they were under way.
//!
//! When a gateway decided is known only to lie between sending and receiving, and its clock may be off ours. So the limiter
//! here follows: where the two differ by no more than that, it does as the gateway did and goes on from there, lest one
//! difference of a millisecond become a hundred. Of requests that were under way at once those that passed are taken first:
//! their order is the gateway's, and any order is right.

use std::sync::Arc;

use futures_util::FutureExt;
use serde::Serialize;
use tidegate::{BuildError, CheckOptions, Limiter, MemoryOptions, MemoryStore, Prepared, Snapshot, Verdict};
use tidegate_algorithms::{Span, Timestamp};

use super::drive::Record;
use crate::act::Who;
use crate::target::{Requests, Target};

/// So many differences are told; more say nothing more.
const MOST_TOLD: usize = 20;

/// What came of an adversary's requests, at the gateway and in the simulation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Followed {
    /// How many requests were sent.
    pub sent: u64,
    /// How many passed at the gateway.
    pub admitted: u64,
    /// How many passed in the simulation at the same instants.
    pub simulated: u64,
    /// How many the two decided differently, but no more than clocks and the network explain.
    pub within_tolerance: u64,
    /// How many they decided differently beyond that.
    pub differing: u64,
    /// The first of those.
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

/// A limiter that follows a gateway.
pub(super) struct Follower {
    limiter: Limiter,
    snapshot: Snapshot,
    tolerance: Span,
}

impl Follower {
    /// Builds the limits of the policy over a fresh store.
    pub(super) fn new(requests: &Requests, tolerance: Span) -> Result<Self, BuildError> {
        let store = Arc::new(MemoryStore::new(MemoryOptions::default()).map_err(BuildError::Store)?);
        let limiter = requests.limiter(store)?;
        let snapshot = limiter.snapshot();
        Ok(Self { limiter, snapshot, tolerance })
    }

    /// Decides what was sent, in the order in which it can have been decided.
    pub(super) fn decide(&mut self, requests: &Requests, mut records: Vec<Record>) -> Followed {
        let mut followed = Followed::default();
        records.sort_by_key(|record| record.response.sent);
        let mut rest = records.as_slice();
        while let Some(first) = rest.first() {
            let mut last = first.response.received;
            let together = rest.iter().take_while(|record| {
                let under_way = record.response.sent <= last;
                if under_way {
                    last = last.max(record.response.received);
                }
                under_way
            });
            let (group, after) = rest.split_at(together.count().max(1));
            rest = after;
            let (passed, refused): (Vec<_>, Vec<_>) =
                group.iter().partition(|record| record.response.is_admitted());
            for record in passed.into_iter().chain(refused) {
                self.one(requests, record, &mut followed);
            }
        }
        followed
    }

    fn one(&mut self, requests: &Requests, record: &Record, followed: &mut Followed) {
        followed.sent = followed.sent.saturating_add(1);
        let passed = record.response.is_admitted();
        followed.admitted = followed.admitted.saturating_add(passed.into());
        let said = self.say(requests, &record.who, record);
        followed.simulated = followed.simulated.saturating_add(said.admits.into());
        if said.admits == passed {
            return;
        }
        if said.is_near {
            followed.within_tolerance = followed.within_tolerance.saturating_add(1);
            return;
        }
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

    /// Returns what the simulation says of a request, having done as the gateway did where that is near.
    fn say(&self, requests: &Requests, who: &Who, record: &Record) -> Said {
        let response = &record.response;
        let under_way = response.received.saturating_since(response.sent);
        let at = response.sent.saturating_add(Span::from_micros(under_way.as_micros() / 2));
        let near = Span::from_micros(self.tolerance.as_micros().saturating_add(under_way.as_micros()));
        let Some(prepared) = requests.prepare(&self.snapshot, who) else {
            return Said {
                admits: false,
                is_near: false,
                words: "it is refused whatever was counted".to_owned(),
            };
        };
        let look = |at| check(&prepared, at, true);
        let Some(verdict) = look(at) else { return Said::nothing() };
        let words = verdict.explain();
        let admits = verdict.is_allowed();
        let wait = verdict.retry().and_then(tidegate::Retry::wait);
        if response.is_admitted() {
            let late = wait.filter(|wait| *wait <= near).map_or(at, |wait| at.saturating_add(wait));
            let is_near = admits || wait.is_some_and(|wait| wait <= near);
            self.charge(&prepared, late, record);
            return Said { admits, is_near, words };
        }
        let early = Timestamp::saturating_from_micros(at.as_micros().saturating_sub(near.as_micros()));
        let is_near = !admits || look(early).is_some_and(|verdict| !verdict.is_allowed());
        Said { admits, is_near, words }
    }

    /// Charges a request that passed, and settles it by the gateway's answer.
    fn charge(&self, prepared: &Prepared, at: Timestamp, record: &Record) {
        let Some(mut verdict) = check(prepared, at, false) else { return };
        let settlement = verdict.take_pending().answered(record.response.status, &record.response.headers);
        // A store in memory gives back at once.
        let _ = self.limiter.settle_at(settlement, Some(at)).now_or_never();
    }
}

/// What the simulation says of a request.
struct Said {
    admits: bool,
    /// Whether the opposite is so near in time that clocks and the network explain it.
    is_near: bool,
    words: String,
}

impl Said {
    fn nothing() -> Self {
        Self { admits: false, is_near: false, words: "the store did not answer".to_owned() }
    }
}

fn check(prepared: &Prepared, at: Timestamp, peek: bool) -> Option<Verdict> {
    prepared.check(CheckOptions { at: Some(at), peek, ..CheckOptions::default() }).now_or_never()
}
