//! The one reader of the clock.
//!
//! Wall time when the store began, plus what the boot clock has counted since: it goes on while the machine sleeps,
//! and it never goes back when somebody sets the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tidegate_algorithms::Timestamp;

/// The clock that goes on while the machine sleeps, where there is one.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT: ClockId = ClockId::Monotonic;

#[derive(Debug)]
pub(crate) struct Clock {
    /// Wall time less boot time when the store began, in microseconds; zero on a machine whose wall clock is not set.
    offset: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        Self { offset: wall.saturating_sub(boot_micros()) }
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::saturating_from_micros(self.offset.saturating_add(boot_micros()))
    }
}

#[inline]
#[allow(clippy::cast_sign_loss, reason = "the boot clock begins at zero and counts up")]
pub(super) fn boot_micros() -> u64 {
    let time = clock_gettime(BOOT);
    (time.tv_sec as u64).wrapping_mul(1_000_000).wrapping_add(time.tv_nsec as u64 / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_wall_time_and_never_goes_back() {
        let clock = Clock::start();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut last = clock.now();
        assert!((last.as_micros() / 1_000_000).abs_diff(wall) <= 60, "{last:?} at {wall}");
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
