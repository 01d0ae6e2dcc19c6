//! The one reader of the clock.
//!
//! Wall time when the store began, plus what the boot clock has counted since: it goes on while the machine sleeps,
//! and it never goes back when somebody sets the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tidegate_algorithms::Timestamp;

#[derive(Debug)]
pub(crate) struct Clock {
    /// What to add to the boot clock, in nanoseconds; may be negative on a machine whose wall clock is not set.
    offset: i128,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(0),
            Err(_) => 0,
        };
        Self { offset: wall.saturating_sub(boot_nanos()) }
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        let micros = self.offset.saturating_add(boot_nanos()) / 1_000;
        Timestamp::saturating_from_micros(u64::try_from(micros).unwrap_or(0))
    }
}

#[inline]
fn boot_nanos() -> i128 {
    let time = clock_gettime(ClockId::Boottime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
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
