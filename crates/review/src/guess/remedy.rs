//! Limits of the same algorithm that let fewer tries through.

use tidegate_algorithms::{Anchor, MAX_SPAN, Quota, Rate, Span};

/// Returns a limit of the same algorithm that lets at most so many units through from idle within a horizon: as many at
/// once, but more slowly, in a time that people would write; `None` when none does up to the longest time, or its windows
/// are the calendar's.
///
/// Of a lockout, the window and the lock are made that long, whichever is shorter; a rate becomes one unit in that time.
pub fn stretched(quota: &Quota, horizon: Span, most: u128) -> Option<Quota> {
    let fits = |seconds: u64| slower(quota, seconds).is_some_and(|slow| slow.most_from_idle(horizon) <= most);
    let longest = MAX_SPAN.ceil_secs();
    let seconds = least(time_of(quota)?.ceil_secs().max(1), longest, fits)?;
    let rounded = round_up(seconds).min(longest);
    [rounded, seconds].into_iter().find(|seconds| fits(*seconds)).and_then(|seconds| slower(quota, seconds))
}

/// Returns a limit of the same algorithm and times that lets at most so many units through from idle within a horizon, with
/// as many at once as that allows; `None` when even one is too many.
pub fn lowered(quota: &Quota, horizon: Span, most: u128) -> Option<Quota> {
    let nominal = u64::from(quota.nominal());
    let fits = |by: u64| {
        let lower = fewer(quota, nominal.saturating_sub(by));
        lower.is_some_and(|lower| lower.most_from_idle(horizon) <= most)
    };
    let by = least(0, nominal.checked_sub(1)?, fits)?;
    fewer(quota, nominal.saturating_sub(by))
}

/// Returns the least number of a range that fits, where all above one that fits do.
fn least(from: u64, to: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (from.min(to), to);
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    Some(high)
}

/// Returns the time that a slower limit stretches.
fn time_of(quota: &Quota) -> Option<Span> {
    Some(match quota {
        Quota::FixedWindow(window) if matches!(window.anchor(), Anchor::Calendar(_)) => return None,
        Quota::FixedWindow(window) => window.window(),
        Quota::SlidingLog(log) => log.window(),
        Quota::SlidingCounter(counter) => counter.window(),
        Quota::TokenBucket(bucket) => bucket.refill().time_for(1),
        Quota::LeakyBucket(bucket) => bucket.rate().time_for(1),
        Quota::Lockout(lockout) => lockout.within().min(lockout.lock()),
    })
}

/// Returns the same limit with another time.
fn slower(quota: &Quota, seconds: u64) -> Option<Quota> {
    let time = Span::from_secs(seconds);
    let rate = || Rate::new(1, time).ok();
    match quota {
        Quota::FixedWindow(window) => Quota::fixed_window(window.limit().into(), time, window.anchor()).ok(),
        Quota::SlidingLog(log) => Quota::sliding_log(log.limit().into(), time).ok(),
        Quota::SlidingCounter(counter) => Quota::sliding_counter(counter.limit().into(), time).ok(),
        Quota::TokenBucket(bucket) => Quota::token_bucket(bucket.capacity().into(), rate()?).ok(),
        Quota::LeakyBucket(bucket) => Quota::leaky_bucket(rate()?, bucket.queue().into()).ok(),
        Quota::Lockout(lockout) => {
            let (within, lock) = (lockout.within().max(time), lockout.lock().max(time));
            Quota::lockout(lockout.attempts().into(), within, lock).ok()
        }
    }
}

/// Returns the same limit with so many units at once.
fn fewer(quota: &Quota, units: u64) -> Option<Quota> {
    match quota {
        Quota::FixedWindow(window) => Quota::fixed_window(units, window.window(), window.anchor()).ok(),
        Quota::SlidingLog(log) => Quota::sliding_log(units, log.window()).ok(),
        Quota::SlidingCounter(counter) => Quota::sliding_counter(units, counter.window()).ok(),
        Quota::TokenBucket(bucket) => Quota::token_bucket(units, bucket.refill()).ok(),
        // One of the units that a queue admits at once does not wait.
        Quota::LeakyBucket(bucket) => Quota::leaky_bucket(bucket.rate(), units.checked_sub(1)?).ok(),
        Quota::Lockout(lockout) => Quota::lockout(units, lockout.within(), lockout.lock()).ok(),
    }
}

/// Rounds a time up to minutes from ten minutes on, to hours from ten hours on.
fn round_up(seconds: u64) -> u64 {
    let unit = match seconds {
        ..600 => 1,
        600..36_000 => 60,
        _ => 3_600,
    };
    seconds.next_multiple_of(unit)
}
