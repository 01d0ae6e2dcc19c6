//! One process: a limiter over its store, and the requests it has planned already.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use tidegate::{BuildError, Disclosure, Limiter, Prepared, Retry, Snapshot, Verdict};
use tidegate_algorithms::{Span, Timestamp};

use super::Seen;
use super::exposure::Exposures;
use super::watched::Watched;
use crate::act::{Outcome, Role, Who};
use crate::target::Target;

pub(super) struct Instance {
    limiter: Limiter,
    snapshot: Snapshot,
    /// Which store it is over, to tell its keys from another's.
    store: usize,
    /// How many microseconds its clock is ahead, where it tells its store the time.
    ahead: i64,
    planned: HashMap<Who, Planned>,
    most_planned: usize,
}

/// A request that was made before.
struct Planned {
    /// `None` for one that is refused whatever the store says.
    prepared: Option<Prepared>,
    /// The epoch in which an adversary last made it, one up, and which one.
    touched: (u64, usize),
}

impl Instance {
    /// Starts a process over a store of that number, by a clock that is so many microseconds ahead; it keeps so many
    /// requests that it has planned.
    pub(super) fn new(
        target: &dyn Target,
        (store, number): (Arc<Watched>, usize),
        ahead: i64,
        most_planned: usize,
    ) -> Result<Self, BuildError> {
        let limiter = target.limiter(store)?;
        let snapshot = limiter.snapshot();
        Ok(Self { limiter, snapshot, store: number, ahead, planned: HashMap::new(), most_planned })
    }

    pub(super) fn request(
        &mut self,
        target: &dyn Target,
        exposures: &mut Exposures,
        request: &Arriving<'_>,
    ) -> Seen {
        if self.planned.len() >= self.most_planned {
            self.planned.clear();
        }
        let planned = self.planned.entry(*request.who).or_insert_with(|| Planned {
            prepared: target.prepare(&self.snapshot, request.who),
            touched: (0, 0),
        });
        let Some(prepared) = &planned.prepared else { return Seen::REFUSED };
        let now_touched = (exposures.epoch().saturating_add(1), request.party);
        if request.role == Role::Adversary && planned.touched != now_touched {
            planned.touched = now_touched;
            exposures.touch(prepared, self.store, request);
        }
        let now = Timestamp::saturating_from_micros(request.at.as_micros().saturating_add_signed(self.ahead));
        // A store in memory answers at once, also that it is lost.
        let Some(mut verdict) = prepared.check_at(now).now_or_never() else { return Seen::REFUSED };
        if verdict.is_allowed() && request.outcome == Outcome::Success && target.tells_outcomes() {
            let settlement = verdict.take_pending().succeeded();
            if !settlement.is_empty() {
                exposures.succeeded(prepared, self.store, request);
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
    /// The number of the adversary whose it is.
    pub(super) party: usize,
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
