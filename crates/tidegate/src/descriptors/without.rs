//! A call about descriptors that cannot wait for the store.

use tidegate_policy::Counting;

use super::{DescriptorAsk, DescriptorsVerdict};
use crate::limiter::Snapshot;
use crate::options::CheckOptions;
use crate::verdict::Verdict;

impl Snapshot {
    /// Returns whether the store is this limiter's own, in its process: then a check is decided as soon as it is asked, and
    /// there is nothing to wait for.
    pub fn answers_at_once(&self) -> bool {
        self.inner.lasting.own_store.is_some()
    }

    /// Decides a call about descriptors without the store, as its limits choose for that case: for a caller who cannot wait
    /// any longer for [`Snapshot::check_descriptors`], which is let run on. The request has been counted there; how it was
    /// decided is counted here.
    ///
    /// Nothing is given back or used up behind it: what limits that go on in this process were charged for a call that quota
    /// rules refuse stays charged there.
    pub fn descriptors_without_store(
        &self,
        asks: &[DescriptorAsk<'_>],
        counting: Counting,
        options: CheckOptions,
    ) -> DescriptorsVerdict {
        let counted_already = CheckOptions { peek: true, ..options };
        let call = match self.inner.call(asks, counting, counted_already) {
            Ok(call) => call,
            Err(stop) => return DescriptorsVerdict::turned_away(stop, asks.len()),
        };
        if call.plan.is_empty() {
            let verdict = Verdict::passing();
            return DescriptorsVerdict { answers: call.answers(&verdict), verdict };
        }
        let checks = call.plan.checks(&self.inner.limits, options.max_delay);
        let mut verdict = self.inner.without_store(&call.plan, &checks, options);
        let answers = call.answers(&verdict);
        call.judge(&mut verdict);
        self.inner.finish(&call.plan, counted_already, &mut verdict);
        DescriptorsVerdict { verdict, answers }
    }
}
