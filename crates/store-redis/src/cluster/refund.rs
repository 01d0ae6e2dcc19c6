//! Giving back over several slots.

use std::collections::BTreeMap;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Cluster;
use crate::error::Failure;
use crate::lane::Together;
use crate::op::{Op, OwnRefund};

/// What became of refunds that went out in several calls.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    answered: bool,
    worst: Option<Failure>,
}

impl Apart {
    /// Notes one call's end: of two failures the one that may have run is kept, of equal ones the first.
    pub(crate) fn note(&mut self, answer: Result<(), Failure>) {
        let Err(failure) = answer else {
            self.answered = true;
            return;
        };
        let is_worse = |held: &Failure| failure.error.may_have_counted() && !held.error.may_have_counted();
        if self.worst.as_ref().is_none_or(is_worse) {
            self.worst = Some(failure);
        }
    }

    /// Returns what to say of them all: a failure beside an answer has done a part.
    pub(crate) fn result(self) -> Result<(), Failure> {
        match self.worst {
            None => Ok(()),
            Some(failure) if self.answered => {
                Err(Failure { error: failure.error.perhaps_counted(), ..failure })
            }
            Some(failure) => Err(failure),
        }
    }
}

impl Cluster {
    /// Gives back, at all slots at once.
    pub(super) async fn refund(
        &self,
        refunds: Vec<OwnRefund>,
        together: Together,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let mut parts: BTreeMap<u16, Vec<OwnRefund>> = BTreeMap::new();
        for refund in refunds {
            parts.entry(self.slot(refund.digest)).or_default().push(refund);
        }
        let mut apart = Apart::default();
        for (_, answer) in self.refund_parts(parts.into_iter().collect(), together, deadline).await {
            apart.note(answer);
        }
        apart.result()
    }

    /// Gives back at all slots at once, in a task of its own that nobody who leaves stops half way. Returns how many
    /// charges each slot's part held and what became of it: one node that is gone is no reason to keep what others took.
    pub(super) async fn refund_parts(
        &self,
        parts: Vec<(u16, Vec<OwnRefund>)>,
        together: Together,
        deadline: Instant,
    ) -> Vec<(u64, Result<(), Failure>)> {
        let cluster = self.clone();
        let task = tokio::spawn(async move {
            let mut calls = JoinSet::new();
            for (slot, refunds) in parts.into_iter().filter(|(_, refunds)| !refunds.is_empty()) {
                let cluster = cluster.clone();
                calls.spawn(async move {
                    let count = u64::try_from(refunds.len()).unwrap_or(u64::MAX);
                    let answer = cluster.ask_slot(slot, &Op::Refund(refunds), together, deadline).await;
                    (count, answer.map(drop))
                });
            }
            let mut ends = Vec::with_capacity(calls.len());
            while let Some(end) = calls.join_next().await {
                ends.push(end.unwrap_or_else(|_| (0, Err(stopped()))));
            }
            ends
        });
        task.await.unwrap_or_else(|_| vec![(0, Err(stopped()))])
    }
}

/// A task that the runtime stopped: whether it had asked is not known.
pub(super) fn stopped() -> Failure {
    let failure = Failure::unreachable("the runtime was stopped while Redis was asked");
    Failure { error: failure.error.perhaps_counted(), ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answers: [Result<(), Failure>; 2]) -> Option<bool> {
        let mut apart = Apart::default();
        for answer in answers {
            apart.note(answer);
        }
        apart.result().err().map(|failure| failure.error.may_have_counted())
    }

    /// A caller that is told "nothing was given back" gives it back once more.
    #[test]
    fn a_part_that_ran_or_may_have_run_is_never_denied() {
        let (clean, unknown) = (|| Err(Failure::timeout(false)), || Err(Failure::timeout(true)));
        assert_eq!(of([Ok(()), Ok(())]), None);
        assert_eq!(of([clean(), clean()]), Some(false));
        for answers in [[Ok(()), clean()], [clean(), Ok(())], [unknown(), clean()], [clean(), unknown()]] {
            assert_eq!(of(answers), Some(true));
        }
    }
}
