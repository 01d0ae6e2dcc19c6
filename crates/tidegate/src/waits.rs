//! How long requests are held for leaky buckets: a histogram of atomics, so that recording allocates nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_algorithms::Span;

/// The upper ends of the buckets, in milliseconds. A delay is what an operator's queue amounts to: milliseconds between two
/// calls of one client, minutes where work is spread out.
const ENDS: [u64; 12] = [1, 5, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000];

/// What a histogram of waits held at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitsSeen {
    /// How many waits were no longer than each end and longer than the one before (not cumulative).
    pub buckets: Vec<(Duration, u64)>,
    /// How many were longer than the last end.
    pub beyond: u64,
    /// Their sum.
    pub sum: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Waits {
    counts: [AtomicU64; ENDS.len() + 1],
    micros: AtomicU64,
}

impl Waits {
    /// Records a wait; none is no wait.
    pub(crate) fn record(&self, wait: Span) {
        let micros = wait.as_micros();
        if micros == 0 {
            return;
        }
        let bucket = ENDS.partition_point(|end| end.saturating_mul(1_000) < micros);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn seen(&self) -> WaitsSeen {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let ends = ENDS.iter().map(|end| Duration::from_millis(*end));
        WaitsSeen {
            buckets: ends.zip(self.counts.iter().map(read)).collect(),
            beyond: self.counts.last().map_or(0, read),
            sum: Duration::from_micros(read(&self.micros)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against requests that were not held counting as held, and a wait at a bucket's end as longer than it.
    #[test]
    fn a_wait_at_the_end_of_a_bucket_is_in_it_and_none_is_no_wait() {
        let waits = Waits::default();
        for millis in [0, 1, 60_000, 60_001] {
            waits.record(Span::from_millis(millis));
        }
        let seen = waits.seen();
        assert_eq!(seen.buckets[0], (Duration::from_millis(1), 1));
        assert_eq!(seen.buckets[11], (Duration::from_mins(1), 1));
        assert_eq!((seen.beyond, seen.sum), (1, Duration::from_millis(120_002)));
        assert_eq!(seen.buckets.iter().map(|(_, count)| count).sum::<u64>(), 2);
    }
}
