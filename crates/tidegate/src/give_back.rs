//! Giving back, forgetting a key and asking for a sign of life: what is no decision, and goes through the breaker too.

use smallvec::SmallVec;
#[cfg(feature = "policy")]
use tidegate_algorithms::Ask;
use tidegate_algorithms::{Quota, Timestamp};
#[cfg(feature = "policy")]
use tidegate_store::Check;
use tidegate_store::{Give, Refund, Store as _, StoreError};

use crate::ask::lost;
use crate::inner::Inner;
#[cfg(feature = "policy")]
use crate::inner::Registered;
use crate::outage::Pass;
use crate::settle::Charge;

impl Inner {
    /// Gives charges back where they were made.
    ///
    /// # Errors
    /// When a store does not answer; what it was to give back is then unknown.
    pub(crate) async fn give_back<'c>(
        &self,
        given: impl Iterator<Item = (&'c Charge, Give)>,
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let (mut shared, mut own) = (SmallVec::<[Refund<'_>; 4]>::new(), SmallVec::<[Refund<'_>; 2]>::new());
        let mut names = SmallVec::<[_; 4]>::new();
        for (charge, give) in given {
            names.extend(charge.name);
            let refund = Refund { receipt: charge.receipt, quota: charge.quota(), give };
            if charge.share.is_some() { own.push(refund) } else { shared.push(refund) }
        }
        let forget = || names.iter().for_each(|name| self.lasting.denials.forget(*name));
        let here = self.lasting.outage.local.made().filter(|_| !own.is_empty());
        let here = here.and_then(|local| local.refund(&own, at).now()).unwrap_or(Ok(()));
        if shared.is_empty() {
            return here;
        }
        // And once more when it is done: what was refused in between is remembered no more either.
        forget();
        let there = self.through(async { self.store.refund(&shared, at).await }).await;
        forget();
        here.and(there)
    }

    /// Forgets a key of a limit, here and in the store.
    ///
    /// # Errors
    /// When the store does not answer; whether it has forgotten is unknown.
    #[cfg(feature = "policy")]
    pub(crate) async fn forget_key(&self, registered: &Registered, key: &[u8]) -> Result<(), StoreError> {
        let limit = registered.id;
        let denials = &self.lasting.denials;
        let forget = || {
            for variant in &registered.variants {
                let check = Check { limit, key, quota: variant.quota(), ask: Ask::ONE, shadow: false };
                denials.forget(denials.name(&check));
            }
        };
        // What is known here is forgotten also when the store does not answer, and an operator asks again.
        let local = self.lasting.outage.local.made();
        let here = local.and_then(|local| local.reset(local.limit(&registered.storage_name), key).now());
        forget();
        let there = self.through(async { self.store.reset(limit, key).await }).await;
        forget();
        here.unwrap_or(Ok(())).and(there)
    }

    /// Asks whether the store answers, also while nobody else may.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let answer = self.store.ping().await;
        if let Err(error) = &answer {
            self.lasting.outage.breaker.unanswered(error, self.lasting.outage.clock.now());
        }
        self.note(&answer);
        answer
    }

    /// Sends what is no decision through the breaker.
    pub(crate) async fn through<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if self.lasting.own_store.is_some() {
            return call.await;
        }
        let outage = &self.lasting.outage;
        let pass = outage.breaker.pass(outage.clock.now());
        if let Pass::Without(why) = &pass {
            return Err(lost(why));
        }
        let answer = call.await;
        self.note(&answer);
        drop(pass);
        answer
    }

    fn note<T>(&self, answer: &Result<T, StoreError>) {
        let outage = &self.lasting.outage;
        let now = outage.clock.now();
        match answer {
            Ok(_) => outage.breaker.answered(now),
            Err(error) => self.failed(error, now),
        }
    }
}

impl Charge {
    /// Returns the numbers that the charge was made under.
    pub(crate) fn quota(&self) -> &Quota {
        self.share.as_deref().unwrap_or_else(|| self.limit.quota())
    }
}
