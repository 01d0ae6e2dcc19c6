//! Questions whose keys lie in several slots.
//!
//! A batch is charged slot by slot, in ascending order. When one refuses, what was charged before is given back by its
//! receipts, at all slots at once, and those that are left are only looked at. So no limit is ever exceeded; for a moment another request may be
//! refused by a charge that is about to be given back.

use std::collections::BTreeMap;

use tidegate_algorithms::Timestamp;
use tidegate_store::{CheckOutcome, Decided, Give, Outcomes};
use tokio::time::Instant;

use super::Cluster;
use super::refund::stopped;
use crate::digest::slot;
use crate::error::Failure;
use crate::lane::Together;
use crate::measures::Event;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};

/// The checks of one slot, with their places in the batch.
type Part = Vec<(usize, OwnCheck)>;

/// What came of a batch so far.
#[derive(Debug)]
struct Progress {
    outcomes: Vec<Option<CheckOutcome>>,
    charged: Vec<(u16, Part)>,
    admitted: bool,
    at: Timestamp,
}

impl Cluster {
    /// Asks whoever has the slots of a question's keys.
    pub(crate) async fn ask(&self, op: Op, together: Together, deadline: Instant) -> Result<Answer, Failure> {
        match op {
            Op::Decide { checks, peek } => {
                self.decide(checks, peek, (together, deadline)).await.map(Answer::Decided)
            }
            Op::Refund(refunds) => self.refund(refunds, together, deadline).await.map(|()| Answer::Done),
            Op::Counter(ref tally) => self.ask_slot(slot(&tally.name), &op, together, deadline).await,
            Op::Reset(digest) | Op::Inspect(digest) => {
                self.ask_slot(self.slot(digest), &op, together, deadline).await
            }
        }
    }

    pub(super) fn slot(&self, digest: Digest) -> u16 {
        slot(&digest.redis_key(&self.0.lane_options.prefix))
    }

    /// Decides a batch: in one call where one slot has all keys, else in a task of its own, which ends properly (all
    /// charged, or what was charged given back) although the caller may leave. The charges of one that has left stay, as
    /// they do at one server.
    async fn decide(
        &self,
        checks: Vec<OwnCheck>,
        peek: bool,
        (together, deadline): (Together, Instant),
    ) -> Result<Decided, Failure> {
        let mut parts: BTreeMap<u16, Part> = BTreeMap::new();
        let count = checks.len();
        for (place, check) in checks.into_iter().enumerate() {
            parts.entry(self.slot(check.digest)).or_default().push((place, check));
        }
        let progress = Progress {
            outcomes: vec![None; count],
            charged: Vec::new(),
            admitted: true,
            at: together.at.unwrap_or_default(),
        };
        if parts.len() < 2 {
            return self.decide_parts(parts, peek, progress, (together, deadline)).await;
        }
        let cluster = self.clone();
        let task =
            tokio::spawn(
                async move { cluster.decide_parts(parts, peek, progress, (together, deadline)).await },
            );
        task.await.unwrap_or_else(|_| Err(stopped()))
    }

    async fn decide_parts(
        &self,
        parts: BTreeMap<u16, Part>,
        peek: bool,
        mut progress: Progress,
        (together, deadline): (Together, Instant),
    ) -> Result<Decided, Failure> {
        for (slot, part) in parts {
            let looks = peek || !progress.admitted;
            match self.decide_part(slot, &part, looks, (together, deadline)).await {
                Ok(decided) => progress.note(slot, part, decided, looks),
                Err(failure) => return Err(self.give_up(progress, failure, (together, deadline)).await),
            }
        }
        if !progress.admitted && !progress.charged.is_empty() {
            let charged = std::mem::take(&mut progress.charged);
            let given = self.give_back(&charged, &progress.outcomes, (together, deadline)).await;
            for (slot, part) in charged {
                // Untouched numbers, where they can be had; those after the charge say a little less.
                let looked = if given {
                    self.decide_part(slot, &part, true, (together, deadline)).await.ok()
                } else {
                    None
                };
                progress.untouched(&part, looked);
            }
        }
        Ok(progress.decided())
    }

    async fn decide_part(
        &self,
        slot: u16,
        part: &Part,
        peek: bool,
        (together, deadline): (Together, Instant),
    ) -> Result<Decided, Failure> {
        let checks = part.iter().map(|(_, check)| *check).collect();
        match self.ask_slot(slot, &Op::Decide { checks, peek }, together, deadline).await? {
            Answer::Decided(decided) => Ok(decided),
            _ => Err(Failure::other_answer()),
        }
    }

    /// Gives back what a batch was charged that will not be decided, and says whether anything of it may stay counted.
    async fn give_up(
        &self,
        progress: Progress,
        failure: Failure,
        (together, deadline): (Together, Instant),
    ) -> Failure {
        let given = progress.charged.is_empty()
            || self.give_back(&progress.charged, &progress.outcomes, (together, deadline)).await;
        if given { failure } else { Failure { error: failure.error.perhaps_counted(), ..failure } }
    }

    /// Gives charges back and returns whether all are, as far as it is known by the caller's deadline. It has a deadline
    /// of its own and goes on in the background until then: what is left of the caller's may be nothing.
    async fn give_back(
        &self,
        charged: &[(u16, Part)],
        outcomes: &[Option<CheckOutcome>],
        (together, deadline): (Together, Instant),
    ) -> bool {
        let refunds = charged
            .iter()
            .map(|(slot, part)| {
                let refunds = part.iter().filter_map(|(place, check)| {
                    let receipt = outcomes.get(*place)?.as_ref()?.receipt?;
                    let (digest, quota) = (check.digest, check.quota);
                    Some(OwnRefund { digest, quota, receipt: *receipt.receipt(), give: Give::Charge })
                });
                (*slot, refunds.collect())
            })
            .collect();
        let cluster = self.clone();
        let own = Instant::now() + self.0.lane_options.timeout;
        let task = tokio::spawn(async move {
            let mut all = true;
            for (count, answer) in cluster.refund_parts(refunds, together, own).await {
                cluster.0.counters.happened(Event::Compensated, if answer.is_ok() { count } else { 0 });
                all &= answer.is_ok();
            }
            all
        });
        matches!(tokio::time::timeout_at(deadline, task).await, Ok(Ok(true)))
    }
}

impl Progress {
    fn note(&mut self, slot: u16, part: Part, decided: Decided, looked: bool) {
        self.at = self.at.max(decided.at);
        self.admitted &= decided.admitted;
        for ((place, _), outcome) in part.iter().zip(decided.outcomes) {
            if let Some(held) = self.outcomes.get_mut(*place) {
                *held = Some(outcome);
            }
        }
        if decided.admitted && !looked {
            self.charged.push((slot, part));
        }
    }

    /// Takes the receipts of charges that were given back out, and puts the numbers without them in.
    fn untouched(&mut self, part: &Part, looked: Option<Decided>) {
        let mut numbers = looked.map(|decided| decided.outcomes.into_iter());
        for (place, _) in part {
            let Some(Some(outcome)) = self.outcomes.get_mut(*place) else { continue };
            outcome.receipt = None;
            if let Some(looked) = numbers.as_mut().and_then(Iterator::next) {
                outcome.decision =
                    tidegate_algorithms::Decision { answer: outcome.decision.answer, ..looked.decision };
            }
        }
    }

    fn decided(self) -> Decided {
        let outcomes: Outcomes = self.outcomes.into_iter().flatten().collect();
        Decided { admitted: self.admitted, at: self.at, outcomes }
    }
}
