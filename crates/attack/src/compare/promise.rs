//! "Never more than so many in any such span": which limits keep it, and what each lets through of it.

use serde::Serialize;
use tidegate::{Anchor, Quota, Rate};
use tidegate_algorithms::Span;
use tidegate_review::{float, spoken_count, written};

/// A promise, and the limits that keep it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promise {
    /// The most that is to pass.
    pub most: u32,
    /// In any half-open span of so many microseconds.
    pub micros: u64,
    /// What keeps it: what gives all of it first.
    pub kept_by: Vec<Keeper>,
}

/// A limit that keeps a promise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Keeper {
    /// The limit as a policy file writes it.
    pub limit: String,
    /// The most that passes in the span, by its closed form.
    pub bound: u128,
    /// The most that passes in one instant.
    pub at_once: u128,
    /// How many pass in the span in the long run.
    pub in_the_long_run: f64,
    /// What it costs besides, in words.
    pub but: Option<&'static str>,
}

/// Returns what keeps a promise; `None` when nothing may pass, or the span is no window.
///
/// A log gives all of it, at once and in the long run. Of every other algorithm it is the limit of that window that lets most
/// through at once; a bucket of one shows the other end, all of the rate and nothing at once.
pub fn promises(most: u32, span: Span) -> Option<Promise> {
    if most == 0 {
        return None;
    }
    let keeps = |quota: &Quota| quota.most_in_half_open(span) <= most.into();
    let bucket = |capacity: u32| {
        // B + ⌈R·W⌉ − 1 is the promise.
        let refill = Rate::new(most.saturating_add(1).saturating_sub(capacity).into(), span).ok()?;
        Quota::token_bucket(capacity.into(), refill).ok()
    };
    let half = most.div_ceil(2).max(1);
    let lowered = |make: &dyn Fn(u64) -> Option<Quota>| {
        let limit = greatest(most, |limit| make(limit.into()).is_some_and(|quota| keeps(&quota)))?;
        make(limit.into())
    };
    let all = [
        Quota::sliding_log(most.into(), span).ok(),
        bucket(half),
        bucket(1).filter(|_| half > 1),
        lowered(&|limit| Quota::sliding_counter(limit, span).ok()),
        lowered(&|limit| Quota::fixed_window(limit, span, Anchor::FirstHit).ok()),
        lowered(&|limit| Quota::fixed_window(limit, span, Anchor::Clock).ok()),
    ];
    let kept_by = all.iter().flatten().filter(|quota| keeps(quota)).map(|quota| Keeper::of(quota, span));
    Some(Promise { most, micros: span.as_micros(), kept_by: kept_by.collect() })
}

impl Keeper {
    fn of(quota: &Quota, span: Span) -> Self {
        let rate = quota.long_run();
        Self {
            limit: written(quota),
            bound: quota.most_in_half_open(span),
            at_once: quota.most_in_closed(Span::ZERO),
            in_the_long_run: f64::from(rate.units) * float(span.as_micros()) / float(rate.micros),
            but: matches!(quota, Quota::SlidingLog(_)).then_some("keeps an instant for every unit"),
        }
    }

    /// Returns what it lets through of the promise, in words.
    pub fn says(&self) -> String {
        let rate = self.in_the_long_run;
        let rate =
            if (rate - rate.round()).abs() < 0.005 { format!("{rate:.0}") } else { format!("{rate:.2}") };
        let but = self.but.map(|but| format!("; it {but}")).unwrap_or_default();
        format!("{} at once, {rate} in the long run{but}", spoken_count(self.at_once))
    }
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
        assert_eq!(five[2], "token_bucket: { capacity: 1, refill: 1 per 6s }");
        assert_eq!(five[3], "sliding_counter: { limit: 2, window: 30s }");
        assert_eq!(five[4], "fixed_window: { limit: 3, window: 30s, anchor: first_hit }");
        let says: Vec<String> =
            promises(5, Span::from_secs(30)).unwrap().kept_by.iter().map(Keeper::says).collect();
        assert_eq!(says[0], "5 at once, 5 in the long run; it keeps an instant for every unit");
        assert_eq!(says[1], "3 at once, 3 in the long run");
        assert_eq!(says[2], "1 at once, 5 in the long run");
        assert!(promises(0, Span::from_secs(30)).is_none());
    }
}
