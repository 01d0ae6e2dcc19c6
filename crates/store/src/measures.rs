//! What a store counts about its own work, for whoever shows it.
//!
//! Plain counters and a histogram of atomics: recording allocates nothing, and no label is ever a key or a limit's name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a store has counted since it was built. A store in this process has nothing to tell: all of it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measures {
    /// Calls to wherever the state is, by what they asked for.
    pub calls: Vec<(&'static str, u64)>,
    /// Calls that brought no answer, by why.
    pub errors: Vec<(&'static str, u64)>,
    /// How long calls took, those that failed among them.
    pub durations: DurationsSeen,
    /// Questions that wait for a call at this moment.
    pub queued: u64,
    /// Whatever else came up, by its name: connections made, values repaired.
    pub events: Vec<(&'static str, u64)>,
}

/// The upper ends of the buckets of [`Durations`], in microseconds: a decision over a network takes a tenth of a
/// millisecond at best, and what takes longer than a second is lost.
pub const BUCKETS: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000];

/// A histogram of durations, from 50 µs up.
#[derive(Debug, Default)]
pub struct Durations {
    counts: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

/// What a histogram held at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationsSeen {
    /// How many durations ended in each bucket of [`BUCKETS`] (not cumulative), and last those beyond; empty for none.
    pub counts: Vec<u64>,
    /// Their sum.
    pub sum: Duration,
}

impl Durations {
    /// Records one.
    pub fn record(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|end| *end < micros);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns what was recorded so far.
    pub fn seen(&self) -> DurationsSeen {
        DurationsSeen {
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: Duration::from_micros(self.micros.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prometheus counts a value at a bucket's end into it (`le`).
    #[test]
    fn a_duration_at_the_end_of_a_bucket_is_in_it() {
        let durations = Durations::default();
        for micros in [0, 50, 51, 1_000_000, 1_000_001] {
            durations.record(Duration::from_micros(micros));
        }
        let seen = durations.seen();
        assert_eq!((seen.counts[0], seen.counts[1]), (2, 1));
        assert_eq!((seen.counts[13], seen.counts[14]), (1, 1));
        assert_eq!(seen.sum, Duration::from_micros(2_000_102));
    }
}
