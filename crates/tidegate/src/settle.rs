//! Settling: what becomes of the charges of limits that count failures, once it is known how their request went.
//!
//! Such a limit is charged before the request goes on, so that guesses made at once cannot pass unseen. A success gives
//! back, and so does a request that is known never to have gone on; anything else, not knowing among it, leaves the
//! charge where it is.

use smallvec::SmallVec;
use tidegate_algorithms::{Quota, Span, Timestamp};
use tidegate_store::{ChargeReceipt, Give, StoreError};

use crate::denial::Name;
use crate::limit::{Counts, Limit, OnSuccess};
use crate::limiter::Limiter;
use crate::verdict::{Receipt, Verdict};

/// A charge, with the place of its decision in the verdict.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) place: usize,
    pub(crate) limit: Limit,
    pub(crate) receipt: ChargeReceipt,
    /// This process's share of the limit, when the charge was made here and not in the shared store.
    pub(crate) share: Option<Box<Quota>>,
    /// By what name a refusal of the key is remembered, if refusals are.
    pub(crate) name: Option<Name>,
}

/// The charges of limits that count failures, of a request whose outcome is still to come.
///
/// They are judged once, by the outcome, and what is given back then is settled once, by [`Limiter::settle`]. A value
/// that is dropped on the way leaves the charges where they are.
#[derive(Debug, Default)]
#[must_use = "pending charges that are dropped stay, as those of a failure"]
pub struct Pending {
    charges: Box<[Charge]>,
}

/// What is given back of pending charges, now that the outcome is known.
#[derive(Debug, Default)]
#[must_use = "nothing is given back before the limiter settles it"]
pub struct Settlement {
    given: SmallVec<[(Charge, OnSuccess); 1]>,
}

/// What was given back.
#[derive(Debug, Default)]
pub struct Settled(Settlement);

impl Pending {
    /// Returns whether nothing waits for the outcome.
    pub fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    /// Judges a request that went as it should: a right code, say. Of a failure nothing is to be settled: drop the
    /// charges, and they stay.
    pub fn succeeded(self) -> Settlement {
        self.given_when(|_| true)
    }

    /// Judges a request by the answer it got: a limit's policy says which ones are successes; for a limit built in code
    /// it is any 2xx.
    #[cfg(feature = "policy")]
    pub fn answered(self, status: http::StatusCode, headers: &http::HeaderMap) -> Settlement {
        self.given_when(|limit| match limit.counts() {
            Counts::Failures { success: Some(success), .. } => success.covers(status, headers),
            _ => status.is_success(),
        })
    }

    /// Judges a request that never reached whoever would have looked at it: every charge is given back as a refund, also of
    /// limits that a success resets, since nothing was learnt of the key.
    pub fn never_forwarded(self) -> Settlement {
        Settlement::refund(self.charges)
    }

    fn given_when(self, is_success: impl Fn(&Limit) -> bool) -> Settlement {
        let given = self.charges.into_iter().filter_map(|charge| {
            let Counts::Failures { on_success, .. } = *charge.limit.counts() else { return None };
            is_success(&charge.limit).then_some((charge, on_success))
        });
        Settlement { given: given.collect() }
    }
}

impl Settled {
    /// Builds what a settlement that was carried out has given back.
    #[cfg(feature = "policy")]
    pub(crate) fn of(settlement: Settlement) -> Self {
        Self(settlement)
    }

    /// Returns the limits that gave something back, each with what it does on a success.
    pub fn limits(&self) -> impl Iterator<Item = (&Limit, OnSuccess)> {
        self.0.given.iter().map(|(charge, on_success)| (&charge.limit, *on_success))
    }
}

impl Settlement {
    /// Returns whether nothing is given back.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Gives charges back whatever came of them.
    pub(crate) fn refund(charges: Box<[Charge]>) -> Self {
        Self { given: charges.into_iter().map(|charge| (charge, OnSuccess::Refund)).collect() }
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = (&Charge, Give)> {
        self.given.iter().map(|(charge, on_success)| {
            let give = match on_success {
                OnSuccess::Refund => Give::Charge,
                OnSuccess::Reset => Give::All,
            };
            (charge, give)
        })
    }
}

impl Limiter {
    /// Gives back what the outcome of a request says, in one call of the store: the charges, or all that their limits
    /// remember of the keys, as each limit has it.
    ///
    /// Whoever can be cancelled spawns it, so that it is not stopped half way.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::{Counts, Limit, Limiter, OnSuccess, Quota, Span};
    ///
    /// let nine_a_day = Quota::sliding_log(9, Span::from_secs(86_400))?;
    /// let wrong_codes = Limit::new("wrong-codes", nine_a_day).with_counts(Counts::failures(OnSuccess::Refund));
    /// let limiter = Limiter::in_memory([wrong_codes])?;
    /// for code_is_right in [true, false, true] {
    ///     let mut verdict = limiter.check_key("wrong-codes", "odalys@example.com").await?;
    ///     assert!(verdict.is_allowed());
    ///     let pending = verdict.take_pending();
    ///     if code_is_right {
    ///         limiter.settle(pending.succeeded()).await?;
    ///     }
    /// }
    /// let verdict = limiter.check_key("wrong-codes", "odalys@example.com").await?;
    /// assert_eq!(verdict.decisions()[0].decision.remaining, 7);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the store does not answer; what was given back is then unknown, and the charges are spent.
    pub async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        self.settle_at(settlement, None).await
    }

    /// Gives back what the outcome of a request says, at an instant of the caller's.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn settle_at(
        &self,
        settlement: Settlement,
        at: Option<Timestamp>,
    ) -> Result<Settled, StoreError> {
        if !settlement.is_empty() {
            let in_force = self.snapshot().inner;
            in_force.give_back(settlement.charges(), at).await?;
        }
        Ok(Settled(settlement))
    }
}

impl Receipt {
    /// Keeps the charges of limits that count failures, for [`Limiter::settle`]; those of other limits stay for good.
    pub fn pending(self) -> Pending {
        let charges = self.charges.into_iter().filter(|charge| charge.limit.counts().is_failures());
        Pending { charges: charges.collect() }
    }
}

impl Verdict {
    /// Takes out the charges that wait for the request's outcome, those of limits that count failures; a second call
    /// finds none. No store is asked and nothing is allocated when there are none.
    pub fn take_pending(&mut self) -> Pending {
        Pending { charges: self.take_charges(|limit| limit.counts().is_failures()) }
    }

    /// Makes the verdict's numbers those after a settlement of its own charges: the units given back are added to what
    /// remains, and a limit that was reset is whole again. What others took or gave meanwhile is not seen.
    pub fn account_for(&mut self, settled: &Settled) {
        for (charge, on_success) in &settled.0.given {
            let Some(decision) = self.decisions.get_mut(charge.place) else { continue };
            let decision = &mut decision.decision;
            let whole = decision.limit;
            // A state that others share is not theirs to forget.
            let is_reset = *on_success == OnSuccess::Reset && !charge.receipt.is_shared();
            let remaining = decision.remaining.saturating_add(charge.receipt.units());
            decision.remaining = if is_reset { whole } else { remaining.min(whole) };
            if decision.remaining > 0 {
                decision.next_unit = Span::ZERO;
            }
            if decision.remaining == whole {
                decision.reset_after = Span::ZERO;
            }
        }
    }
}
