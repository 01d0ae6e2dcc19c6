//! "Never more than so many in any such span": which limits keep it, each as generous as it can be.

use serde::Serialize;
use tidegate::{Anchor, Quota, Rate};
use tidegate_algorithms::Span;
use tidegate_review::{float, written};

/// A promise, and the limits that keep it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promise {
    /// The most that is to pass.
    pub most: u32,
    /// In any half-open span of so many microseconds.
    pub micros: u64,
    /// What keeps it, the best first.
    pub kept_by: Vec<Keeper>,
}

/// A limit that keeps a promise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Keeper {
    /// The limit as a policy file writes it.
    pub limit: String,
    /// The most that passes in the span, by its closed form.
    pub bound: u128,
    /// How many pass in the span in the long run.
    pub in_the_long_run: f64,
    /// What it costs besides, in words.
    pub but: &'static str,
}

/// Returns what keeps a promise; `None` when nothing may pass, or the span is no window.
pub fn promises(most: u32, span: Span) -> Option<Promise> {
    if most == 0 {
        return None;
    }
    let kept = |quota: Quota, but| {
        let bound = quota.most_in_half_open(span);
        let rate = quota.long_run();
        let in_the_long_run = f64::from(rate.units) * float(span.as_micros()) / float(rate.micros);
        (bound <= most.into()).then(|| Keeper { limit: written(&quota), bound, in_the_long_run, but })
    };
    let log = Quota::sliding_log(most.into(), span).ok();
    let log = log.and_then(|quota| kept(quota, "keeps an instant for every unit"));
    // Half at once, and what is left of the promise as the refill: B + ⌈R·W⌉ − 1 = the promise.
    let capacity = most.div_ceil(2).max(1);
    let refill = Rate::new(most.saturating_add(1).saturating_sub(capacity).into(), span).ok();
    let bucket = refill.and_then(|refill| Quota::token_bucket(capacity.into(), refill).ok());
    let bucket = bucket.and_then(|quota| kept(quota, "lets through less at once, and less in the long run"));
    let lowered = |make: &dyn Fn(u64) -> Option<Quota>| {
        let keeps =
            |limit: u32| make(limit.into()).filter(|quota| quota.most_in_half_open(span) <= most.into());
        let limit = greatest(most, |limit| keeps(limit).is_some())?;
        kept(keeps(limit)?, "lets through about half of it in the long run")
    };
    let first_hit = |limit| Quota::fixed_window(limit, span, Anchor::FirstHit).ok();
    let clock = |limit| Quota::fixed_window(limit, span, Anchor::Clock).ok();
    let counter = |limit| Quota::sliding_counter(limit, span).ok();
    let kept_by = [log, bucket, lowered(&counter), lowered(&first_hit), lowered(&clock)];
    Some(Promise { most, micros: span.as_micros(), kept_by: kept_by.into_iter().flatten().collect() })
}

/// Returns the greatest number from 1 to `most` that keeps a promise which no greater one keeps once one does not.
fn greatest(most: u32, keeps: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut good, mut bad) = (0, most.saturating_add(1));
    while bad.saturating_sub(good) > 1 {
        let middle = good.midpoint(bad);
        if keeps(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    (good > 0).then_some(good)
}

#[cfg(test)]
mod tests {
    use tidegate_policy::parse_quota;

    use super::*;

    /// Guards against advice that breaks its promise, that no policy file takes, or that is meaner than it has to be: for 5 in
    /// 30 seconds the reference has a log of 5, and a bucket of 3 that refills 3 in 30 seconds.
    #[test]
    fn what_is_advised_keeps_the_promise_and_is_what_a_policy_file_takes() {
        for (most, secs) in [(1, 30), (5, 30), (100, 60), (7, 1), (1000, 3600)] {
            let span = Span::from_secs(secs);
            let promise = promises(most, span).unwrap();
            for keeper in &promise.kept_by {
                let (quota, _) = parse_quota("LIMIT", &keeper.limit).unwrap();
                assert_eq!(quota.most_in_half_open(span), keeper.bound, "{}", keeper.limit);
                assert!(keeper.bound <= u128::from(most), "{}", keeper.limit);
            }
            let log = promise.kept_by.first().map(|keeper| keeper.bound);
            assert_eq!(log, Some(most.into()));
        }
        let five: Vec<String> = promises(5, Span::from_secs(30))
            .unwrap()
            .kept_by
            .into_iter()
            .map(|keeper| keeper.limit)
            .collect();
        assert_eq!(five[0], "sliding_log: { limit: 5, window: 30s }");
        assert_eq!(five[1], "token_bucket: { capacity: 3, refill: 1 per 10s }");
        assert_eq!(five[2], "sliding_counter: { limit: 2, window: 30s }");
        assert_eq!(five[3], "fixed_window: { limit: 3, window: 30s, anchor: first_hit }");
        assert!(promises(0, Span::from_secs(30)).is_none());
    }
}
