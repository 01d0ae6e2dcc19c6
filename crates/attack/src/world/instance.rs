//! One process: a limiter over its store, and the requests it has planned already.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use tidegate::{BuildError, Disclosure, Limiter, Prepared, Retry, Snapshot, Verdict};
use tidegate_algorithms::{Span, Timestamp};

use super::Seen;
use super::exposure::Exposure;
use super::watched::Watched;
use crate::act::{Outcome, Role, Who};
use crate::target::Target;

/// So many planned requests are kept; a flood of new ones must not fill the memory.
const MOST_PLANNED: usize = 1 << 16;

pub(super) struct Instance {
    limiter: Limiter,
    snapshot: Snapshot,
    /// Which store it is over, to tell its keys from another's.
    store: usize,
    /// How many microseconds its clock is ahead, where it tells its store the time.
    ahead: i64,
    planned: HashMap<Who, Planned>,
}

/// A request that was made before.
struct Planned {
    /// `None` for one that is refused whatever the store says.
    prepared: Option<Prepared>,
    /// The epoch in which an adversary last made it, one up.
    touched: u64,
}

impl Instance {
    /// Starts a process over a store of that number, by a clock that is so many microseconds ahead.
    pub(super) fn new(
        target: &dyn Target,
        (store, number): (Arc<Watched>, usize),
        ahead: i64,
    ) -> Result<Self, BuildError> {
        let limiter = target.limiter(store)?;
        let snapshot = limiter.snapshot();
        Ok(Self { limiter, snapshot, store: number, ahead, planned: HashMap::new() })
    }

    pub(super) fn request(
        &mut self,
        target: &dyn Target,
        exposure: &mut Exposure,
        request: &Arriving<'_>,
    ) -> Seen {
        if self.planned.len() >= MOST_PLANNED {
            self.planned.clear();
        }
        let planned = self
            .planned
            .entry(*request.who)
            .or_insert_with(|| Planned { prepared: target.prepare(&self.snapshot, request.who), touched: 0 });
        let refused = Seen { admitted: false, delay: Span::ZERO, retry_after: None, degraded: false };
        let Some(prepared) = &planned.prepared else { return refused };
        let epoch = exposure.epoch().saturating_add(1);
        if request.role == Role::Adversary && planned.touched != epoch {
            planned.touched = epoch;
            exposure.touch(prepared, self.store);
        }
        let now = Timestamp::saturating_from_micros(request.at.as_micros().saturating_add_signed(self.ahead));
        // A store in memory answers at once, also that it is lost.
        let Some(mut verdict) = prepared.check_at(now).now_or_never() else { return refused };
        if verdict.is_allowed() && request.outcome == Outcome::Success {
            let settlement = verdict.take_pending().succeeded();
            if !settlement.is_empty() {
                exposure.wiped(prepared);
                // A store that is lost gives nothing back, and the charges are spent.
                let _ = self.limiter.settle_at(settlement, Some(now)).now_or_never();
            }
        }
        seen(&verdict)
    }

    /// Notices that the store answers again, as a process does by asking now and then.
    pub(super) fn notice(&self) {
        // It answers at once: the store has been found before.
        let _ = self.limiter.ping().now_or_never();
    }
}

/// A request as it arrives at a process.
pub(super) struct Arriving<'a> {
    pub(super) at: Timestamp,
    pub(super) who: &'a Who,
    pub(super) outcome: Outcome,
    pub(super) role: Role,
}

/// Returns what a client sees of a verdict.
fn seen(verdict: &Verdict) -> Seen {
    let told = verdict.deciding().is_none_or(|by| by.limit.disclosure() != Disclosure::Nothing);
    let wait = verdict.retry().and_then(Retry::wait).filter(|_| told);
    Seen {
        admitted: verdict.is_allowed(),
        delay: verdict.delay(),
        retry_after: wait.map(|wait| Span::from_secs(wait.ceil_secs())),
        degraded: verdict.degraded().is_some(),
    }
}
