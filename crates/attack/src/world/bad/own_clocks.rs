//! Shared counts whose window is named by whoever asks, by his own clock: `count:29412345` for the minute that it is.
//!
//! A process that is ahead opens the next window early, and one that is behind keeps the last one open: each window goes on
//! for twice the clocks' difference longer, so a span s meets as many windows as one of s + 2δ does by one clock. Our Redis
//! store asks the Redis what time it is.

use tidegate_algorithms::{Anchor, Quota, Span, Timestamp};

use super::super::kept::{Charge, Kept};
use super::super::plain::{Held, Key, Table};

/// A state for each window of the clock; of what has no such windows, one.
pub(in super::super) struct OwnClocks {
    held: Held<Vec<(u64, Kept)>>,
    /// How far two clocks are apart at most.
    apart: Span,
}

/// So many windows of a key are kept: the last ones by any clock that is not off by more.
const MOST_WINDOWS: usize = 4;

impl OwnClocks {
    /// Builds an empty table for clocks that are so far off at most.
    pub(in super::super) fn new(skew: Span) -> Self {
        let apart = Span::from_micros(skew.as_micros().saturating_mul(2));
        Self { held: Held::default(), apart }
    }
}

/// Returns which window it is by the clock of whoever asks.
fn number(quota: &Quota, now: Timestamp) -> u64 {
    match quota {
        Quota::FixedWindow(window) if window.anchor() == Anchor::Clock => {
            now.as_micros().checked_div(window.window().as_micros()).unwrap_or(0)
        }
        _ => 0,
    }
}

impl Table for OwnClocks {
    fn read(&mut self, key: Key, now: Timestamp) -> Option<Kept> {
        let windows = self.held.by_key.get(&key)?;
        let is_this = |(of, kept): &&(u64, Kept)| *of == number(&kept.quota, now);
        windows.iter().find(is_this).map(|(_, kept)| kept.clone())
    }

    fn write(&mut self, key: Key, left: Kept, _charge: Option<Charge>, now: Timestamp) {
        let windows = self.held.by_key.entry(key).or_default();
        let of = number(&left.quota, now);
        windows.retain(|(held, _)| *held != of);
        windows.push((of, left));
        if windows.len() > MOST_WINDOWS {
            windows.remove(0);
        }
        // For whoever is the furthest behind as well.
        let behind = now.as_micros().saturating_sub(self.apart.as_micros());
        let behind = Timestamp::saturating_from_micros(behind);
        self.held.sweep(|windows| windows.iter().all(|(_, kept)| kept.is_over(behind)));
    }

    fn forget(&mut self, key: Key) {
        self.held.by_key.remove(&key);
    }

    fn keys(&self) -> usize {
        self.held.by_key.len()
    }
}
