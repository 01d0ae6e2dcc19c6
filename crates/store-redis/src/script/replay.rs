//! The first writing of the algorithms, run on what the script found: every number of an answer comes from here.

use redis::Value;
use tidegate_algorithms::{Ask, Decision, State, Timestamp, decide, refund, settle};
use tidegate_store::plans::Plans;
use tidegate_store::{ChargeReceipt, CheckOutcome, Decided, Give, Outcomes, StoreError};

use super::places::Places;
use crate::codec::decode;
use crate::digest::hex;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};

/// What is held of a key.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "nearly every key has the large one")]
pub(crate) enum Found {
    /// States, or none.
    Plans(Plans),
    /// Something that is none of ours.
    Foreign,
}

impl Found {
    /// Reads what the script says of a key; `None` for no word of the script's.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Nil => Some(Self::Plans(Plans::default())),
            Value::Int(0) => Some(Self::Foreign),
            Value::BulkString(bytes) => Some(decode(bytes).map_or(Self::Foreign, Self::Plans)),
            _ => None,
        }
    }
}

/// The states of a call's keys as its questions are answered one after the other.
pub(super) struct Replay<'c> {
    pub(super) now: Timestamp,
    /// The place of each key, counted from one.
    pub(super) places: &'c Places,
    pub(super) found: Vec<Found>,
}

impl Replay<'_> {
    /// Answers a question, and tells whether the script's word on it is the same.
    pub(super) fn answer(&mut self, op: &Op, flag: u8) -> (Result<Answer, StoreError>, bool) {
        match op {
            Op::Decide { checks, peek } => {
                let decided = self.decide(checks, *peek);
                match (decided, flag) {
                    (Some(decided), b'0' | b'1') if decided.admitted == (flag == b'1') => {
                        (Ok(Answer::Decided(decided)), true)
                    }
                    (None, b'x') => (Err(self.foreign(checks.iter().map(|check| check.digest))), true),
                    _ => (Err(disagreement()), false),
                }
            }
            Op::Refund(refunds) => {
                for refund in refunds {
                    self.refund(refund);
                }
                (Ok(Answer::Done), true)
            }
            Op::Reset(digest) => {
                if let Some(found) = self.find(*digest) {
                    *found = Found::Plans(Plans::default());
                }
                (Ok(Answer::Done), true)
            }
            Op::Inspect(digest) => match self.find(*digest) {
                Some(Found::Plans(plans)) => {
                    let state = plans.current.as_ref().map(|(state, _)| state.clone());
                    (Ok(Answer::State(state)), true)
                }
                _ => (Err(self.foreign([*digest])), true),
            },
            Op::Counter(_) => (Err(disagreement()), false),
        }
    }

    fn find(&mut self, digest: Digest) -> Option<&mut Found> {
        let place = usize::from(*self.places.get(&digest)?);
        self.found.get_mut(place.checked_sub(1)?)
    }

    fn plans(&mut self, digest: Digest) -> Option<&mut Plans> {
        match self.find(digest)? {
            Found::Plans(plans) => Some(plans),
            Found::Foreign => None,
        }
    }

    /// Decides a batch as the conformance kit's naive store does; `None` when nothing can be made of one of its keys.
    fn decide(&mut self, checks: &[OwnCheck], peek: bool) -> Option<Decided> {
        let now = self.now;
        for check in checks {
            self.plans(check.digest)?.forget(now);
        }
        let before: Vec<Plans> =
            checks.iter().map(|check| self.plans(check.digest).cloned()).collect::<Option<_>>()?;
        let (mut outcomes, mut admitted) = (Outcomes::new(), true);
        for check in checks {
            let plans = self.plans(check.digest)?;
            let outcome = decide(&check.quota, plans.state(&check.quota, now).as_ref(), check.ask, now);
            plans.change(&check.quota, &outcome.change, now);
            admitted &= check.shadow || outcome.decision.is_admitted();
            let receipt = outcome
                .receipt
                .map(|receipt| ChargeReceipt::new(check.limit, check.digest.to_key(), &check.quota, receipt));
            outcomes.push(CheckOutcome { decision: outcome.decision, receipt });
        }
        if peek || !admitted {
            for (check, before) in checks.iter().zip(before).rev() {
                *self.plans(check.digest)? = before;
            }
            self.leave_untouched(checks, &mut outcomes)?;
        }
        if !peek && !admitted {
            for check in checks {
                let plans = self.plans(check.digest)?;
                let settled = settle(&check.quota, plans.state(&check.quota, now).as_ref(), now);
                plans.change(&check.quota, &settled, now);
            }
        }
        Some(Decided { admitted, at: now, outcomes })
    }

    /// Puts the numbers of untouched states beside each check's own answer.
    fn leave_untouched(&mut self, checks: &[OwnCheck], outcomes: &mut Outcomes) -> Option<()> {
        let now = self.now;
        for (check, outcome) in checks.iter().zip(outcomes) {
            let held: Option<State> = self.plans(check.digest)?.state(&check.quota, now);
            let untouched = decide(&check.quota, held.as_ref(), Ask::units(0), now).decision;
            outcome.decision = Decision { answer: outcome.decision.answer, ..untouched };
            outcome.receipt = None;
        }
        Some(())
    }

    fn refund(&mut self, given: &OwnRefund) {
        let now = self.now;
        let Some(plans) = self.plans(given.digest) else { return };
        if given.give == Give::All {
            *plans = Plans::default();
            return;
        }
        plans.forget(now);
        let Some((state, quota)) = &plans.current else { return };
        if *quota == given.quota {
            let change = refund(quota, Some(state), &given.receipt, now);
            plans.change(&given.quota, &change, now);
        }
    }

    fn foreign(&mut self, digests: impl IntoIterator<Item = Digest>) -> StoreError {
        let mut digests = digests.into_iter();
        let bad = digests.find(|digest| !matches!(self.find(*digest), Some(Found::Plans(_))));
        let name = bad.map(|digest| hex(&digest.0)).unwrap_or_default();
        StoreError::rejected(format!(
            "the value of the key that ends in {name} (hex) is none of ours; \
             resetting the key removes it, and whoever else writes under this prefix needs another"
        ))
    }
}

fn disagreement() -> StoreError {
    StoreError::rejected("the script decided otherwise than this program does on what it found; report this")
        .perhaps_counted()
}
