//! Giving back what a call's descriptors were charged, without a receipt: what Envoy asks for by negative hits.

use smallvec::SmallVec;
use tidegate_algorithms::{Span, Timestamp, give_back_receipts};
use tidegate_policy::Counting;
use tidegate_store::{ChargeReceipt, Check, Give, Refund, Store as _, StoreError};

use super::DescriptorAsk;
use crate::inner::Inner;
use crate::limiter::Snapshot;
use crate::options::CheckOptions;

impl Snapshot {
    /// Gives units back to every limit that applies to a call's descriptors, shadow limits among them: as many as the ask
    /// has hits, or each limit's own cost, and no more than the limit's state holds now. The newest charges are taken to be
    /// the caller's, since there is no receipt to tell which are; see [`give_back_receipts`].
    ///
    /// Nothing is given where the call would be turned away as it came, and to limits that went on in this process while
    /// the store was gone. A store that cannot tell keys by name has nothing to give back to.
    ///
    /// # Errors
    /// When the store does not answer; what was given back is then unknown.
    pub async fn give_back_descriptors(
        &self,
        asks: &[DescriptorAsk<'_>],
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let unseen = CheckOptions { at, peek: true, ..CheckOptions::default() };
        let Ok(call) = self.inner.call(asks, Counting::AllOrNothing, unseen) else { return Ok(()) };
        let checks = call.plan.checks(&self.inner.limits, Span::MAX);
        if checks.is_empty() {
            return Ok(());
        }
        let names: SmallVec<[_; 4]> =
            checks.iter().map(|check| self.inner.lasting.denials.name(check)).collect();
        let forget = || names.iter().for_each(|name| self.inner.lasting.denials.forget(*name));
        // And once more when it is done: what was refused in between is remembered no more either.
        forget();
        let done = self.inner.through(self.inner.give_back_held(&checks, at)).await;
        forget();
        done
    }
}

impl Inner {
    async fn give_back_held(&self, checks: &[Check<'_>], at: Option<Timestamp>) -> Result<(), StoreError> {
        // A look at one of them tells what time it is by the store's clock.
        let now = match at {
            Some(at) => at,
            None => self.store.peek(checks.get(..1).unwrap_or_default(), None).await?.at,
        };
        let mut refunds = Vec::new();
        for (index, check) in checks.iter().enumerate() {
            let same = |other: &&Check<'_>| other.limit == check.limit && other.key == check.key;
            if checks.iter().take(index).any(|before| same(&before)) {
                continue;
            }
            let Some(digest) = self.store.digest(check.limit, check.key) else { continue };
            let Some(state) = self.store.inspect(check.limit, check.key).await? else { continue };
            // What several descriptors give back to one key is given at once, or each would find it all.
            let units = checks.iter().filter(same).map(|check| check.ask.cost()).fold(0, u32::saturating_add);
            let receipts = give_back_receipts(check.quota, &state, units, now);
            refunds.extend(receipts.into_iter().map(|receipt| Refund {
                receipt: ChargeReceipt::new(check.limit, digest, check.quota, receipt),
                quota: check.quota,
                give: Give::Charge,
            }));
        }
        if refunds.is_empty() { Ok(()) } else { self.store.refund(&refunds, at).await }
    }
}
