//! A request, or a call about descriptors, that has been planned once, to be asked about many times: what simulations repeat.

use std::fmt;
use std::sync::Arc;

use tidegate_algorithms::{Span, Timestamp};
#[cfg(feature = "policy")]
use tidegate_policy::{Counting, ReadyKeys, Request};

#[cfg(feature = "policy")]
use crate::descriptors::{Call, DescriptorAsk};
use crate::inner::Inner;
use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::options::{CheckOptions, UnknownLimit};
use crate::plan::Plan;
use crate::verdict::Verdict;

/// A request, or a call about descriptors, whose rules, keys and costs have been read, under the limits of one [`Snapshot`].
///
/// Every check of it asks the store anew. What depends on a date is as it was when it was prepared, and a reload changes
/// nothing about it.
#[derive(Clone)]
pub struct Prepared {
    inner: Arc<Inner>,
    planned: Planned,
    /// The longest delay that whoever asks can hold it for.
    max_delay: Span,
}

#[derive(Clone)]
enum Planned {
    Request(Arc<Plan>),
    #[cfg(feature = "policy")]
    Call(Arc<Call>, Counting),
}

/// One limit that a prepared request asks.
#[derive(Debug, Clone, Copy)]
pub struct AskedLimit<'p> {
    /// The limit, under the terms the request has.
    pub limit: &'p Limit,
    /// The key it is counted on, as the store is given it.
    pub key: &'p [u8],
    /// The units it takes.
    pub cost: u32,
}

impl Prepared {
    /// Returns the limits that are asked, in their order.
    pub fn asked(&self) -> impl Iterator<Item = AskedLimit<'_>> {
        let plan = self.plan();
        plan.asked().filter_map(|(asked, key)| {
            let limit = plan.find(&self.inner.limits, asked.limit)?.limit;
            Some(AskedLimit { limit, key, cost: asked.cost })
        })
    }

    /// Checks the request. The units are those it was prepared with, whatever `options` says.
    pub async fn check(&self, options: CheckOptions) -> Verdict {
        match &self.planned {
            Planned::Request(plan) => self.inner.run(plan, options).await,
            #[cfg(feature = "policy")]
            Planned::Call(call, counting) => self.inner.decide(call, *counting, options).await.verdict,
        }
    }

    /// Checks the request at an instant of the caller's, with the longest delay that it was prepared with.
    pub async fn check_at(&self, at: Timestamp) -> Verdict {
        let max_delay = self.max_delay;
        self.check(CheckOptions { at: Some(at), max_delay, ..CheckOptions::default() }).await
    }

    fn plan(&self) -> &Plan {
        match &self.planned {
            Planned::Request(plan) => plan,
            #[cfg(feature = "policy")]
            Planned::Call(call, _) => &call.plan,
        }
    }
}

impl Snapshot {
    /// Plans a request by the policy without asking the store. It is not counted in what [`Limiter::observe`] tells; its
    /// checks are.
    ///
    /// # Errors
    /// With the verdict, when the request is refused whatever the store says.
    ///
    /// [`Limiter::observe`]: crate::Limiter::observe
    #[cfg(feature = "policy")]
    pub fn prepare(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
    ) -> Result<Prepared, Box<Verdict>> {
        let mut plan = Plan::default();
        if let Some(compiled) = &self.inner.policy {
            let unseen = CheckOptions { peek: true, ..options };
            let planned = compiled.plan(request, ready, unseen, &mut plan);
            planned.map_err(|stop| Box::new(Verdict::without_decisions(stop)))?;
        }
        Ok(self.prepared(plan, options.max_delay))
    }

    /// Plans a call about descriptors by the policy without asking the store. Each check of it decides as
    /// [`Snapshot::check_descriptors`] does, with what that gives back and uses up; what is to be said of each descriptor is
    /// not told. As with [`Snapshot::prepare`], it is not counted, and its checks are.
    ///
    /// # Errors
    /// With the verdict, when the call is turned away whatever the store says.
    #[cfg(feature = "policy")]
    pub fn prepare_descriptors(
        &self,
        asks: &[DescriptorAsk<'_>],
        counting: Counting,
        options: CheckOptions,
    ) -> Result<Prepared, Box<Verdict>> {
        let unseen = CheckOptions { peek: true, ..options };
        let planned = self.inner.call(asks, counting, unseen);
        let call = planned.map_err(|stop| Box::new(Verdict::without_decisions(stop)))?;
        let planned = Planned::Call(Arc::new(call), counting);
        Ok(Prepared { inner: Arc::clone(&self.inner), planned, max_delay: options.max_delay })
    }

    /// Plans checks of several limits, each on its key, without asking the store.
    ///
    /// # Errors
    /// When no limit has one of the names.
    pub fn prepare_keys<'k, K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = (&'k str, K)>,
        cost: Option<u32>,
    ) -> Result<Prepared, UnknownLimit> {
        let mut plan = Plan::default();
        self.plan_keys(&mut plan, keys, cost)?;
        Ok(self.prepared(plan, Span::MAX))
    }

    fn prepared(&self, plan: Plan, max_delay: Span) -> Prepared {
        Prepared { inner: Arc::clone(&self.inner), planned: Planned::Request(Arc::new(plan)), max_delay }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.asked().map(|asked| asked.limit.name().to_owned());
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Quota;

    use super::*;
    use crate::Limiter;

    /// Guards against a prepared request that charges once, or that asks a limit on another key than the request itself.
    #[tokio::test]
    async fn a_prepared_request_is_counted_with_the_request_itself_at_every_check() {
        let quota = Quota::sliding_log(3, Span::from_secs(60)).unwrap();
        let limiter = Limiter::in_memory([Limit::new("a", quota)]).unwrap();
        let prepared = limiter.snapshot().prepare_keys([("a", "ada")], None).unwrap();
        let at = Timestamp::saturating_from_micros(1 << 40);
        for _ in 0..2 {
            assert!(prepared.check_at(at).await.is_allowed());
        }
        let options = CheckOptions { at: Some(at), ..CheckOptions::default() };
        assert!(limiter.check_keys([("a", "ada")], options).await.unwrap().is_allowed());
        assert!(!prepared.check_at(at).await.is_allowed());
        let asked: Vec<_> =
            prepared.asked().map(|asked| (asked.limit.name(), asked.key, asked.cost)).collect();
        assert_eq!(asked, [("a", b"ada".as_slice(), 1)]);
    }
}
