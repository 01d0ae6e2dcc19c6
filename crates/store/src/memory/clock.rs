//! The one reader of the clock.
//!
//! Wall time when the store began, plus what the boot clock has counted since: it goes on while the machine sleeps,
//! and it never goes back when somebody sets the wall clock.
//!
//! To ask the system for it is a good part of what a hot decision takes. So where the system itself keeps time by a counter
//! of the processor, which it has then found to be the same on every core and to run at one rate, that counter is read, and
//! added to what the boot clock said less than a millisecond before ([`Counter`]). In so short a time the two part by about
//! a microsecond, however the system corrects its clock. A counter that says that more time went by, or less than none, may
//! have stood still or leapt while the machine slept or was moved: then the boot clock is asked.
//!
//! So of two instants the later may be told as the earlier, by a microsecond or two, the more so as a processor may read its
//! counter before it has the lock that comes first in the program. Whoever keeps states sees to it that time does not go
//! back for them ([`Shard::instant`](super::shard::Shard::instant)).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tidegate_algorithms::Timestamp;

/// The clock that goes on while the machine sleeps, where there is one.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT: ClockId = ClockId::Monotonic;

/// How long a reading of the boot clock is good for, in nanoseconds.
const GOOD_FOR: u64 = 1_000_000;
/// How long reading it takes at most, in nanoseconds, unless the thread was interrupted. What is then made of the two
/// clocks is right to half of it.
const AT_ONCE: u64 = 1_000;

#[derive(Debug)]
pub(crate) struct Clock {
    /// Wall time less boot time when the store began, in microseconds; zero on a machine whose wall clock is not set.
    offset: u64,
    counter: Option<Counter>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        let counter = is_kept_by_a_counter().then(Counter::start);
        Self { offset: wall.saturating_sub(boot_nanos() / 1_000), counter }
    }

    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        let boot = self.counter.as_ref().map_or_else(boot_nanos, Counter::boot_nanos);
        Timestamp::saturating_from_micros(self.offset.saturating_add(boot / 1_000))
    }
}

/// Returns whether the system keeps its own time by a counter that programs can read.
fn is_kept_by_a_counter() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|source| matches!(source.trim(), "tsc" | "arch_sys_counter"))
}

/// The processor's counter, and what the boot clock said when it was asked last.
#[derive(Debug)]
struct Counter {
    source: quanta::Clock,
    /// What the counter said then, in nanoseconds. Written last and read first, so that who finds it good finds an offset
    /// at least as new.
    asked_at: AtomicU64,
    /// What the boot clock said, less what the counter did.
    offset: AtomicU64,
    /// Who holds it asks. Nobody waits for another to: an interrupted thread would stop all.
    asking: Mutex<()>,
}

impl Counter {
    fn start() -> Self {
        let source = quanta::Clock::new();
        let (asked_at, offset) = (AtomicU64::new(0), AtomicU64::new(0));
        let this = Self { source, asked_at, offset, asking: Mutex::new(()) };
        this.ask();
        this
    }

    #[inline]
    fn read(&self) -> u64 {
        self.source.delta_as_nanos(0, self.source.raw())
    }

    #[inline]
    fn boot_nanos(&self) -> u64 {
        let read = self.read();
        if read.wrapping_sub(self.asked_at.load(Ordering::Acquire)) > GOOD_FOR {
            return self.ask();
        }
        read.wrapping_add(self.offset.load(Ordering::Relaxed))
    }

    /// Asks the boot clock.
    #[cold]
    fn ask(&self) -> u64 {
        let Some(_alone) = self.asking.try_lock() else { return boot_nanos() };
        let before = self.read();
        let boot = boot_nanos();
        let took = self.read().wrapping_sub(before);
        // Read far apart, the two would be a bad pair for a millisecond.
        if took <= AT_ONCE {
            let meanwhile = before.wrapping_add(took / 2);
            self.offset.store(boot.wrapping_sub(meanwhile), Ordering::Relaxed);
            self.asked_at.store(meanwhile, Ordering::Release);
        }
        boot
    }
}

#[inline]
pub(super) fn boot_micros() -> u64 {
    boot_nanos() / 1_000
}

#[inline]
#[allow(clippy::cast_sign_loss, reason = "the boot clock begins at zero and counts up")]
fn boot_nanos() -> u64 {
    let time = clock_gettime(BOOT);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_wall_time_and_goes_back_by_no_more_than_two_microseconds() {
        let clock = Clock::start();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut last = clock.now();
        assert!((last.as_micros() / 1_000_000).abs_diff(wall) <= 60, "{last:?} at {wall}");
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now.as_micros() + 2 >= last.as_micros(), "{now:?} after {last:?}");
            last = now;
        }
    }

    /// A counter taken for nanoseconds, or a pair of readings that do not belong together, would be off by far more.
    #[test]
    fn the_counter_never_parts_from_the_boot_clock() {
        let counter = Counter::start();
        let ends = boot_nanos() + 20_000_000;
        let mut by = Vec::new();
        while boot_nanos() < ends {
            let before = boot_nanos();
            let told = counter.boot_nanos();
            let after = boot_nanos();
            by.push(before.saturating_sub(told).max(told.saturating_sub(after)));
        }
        assert!(by.iter().all(|by| *by < 5_000), "{:?} ns", by.iter().max());
        assert!(counter.asked_at.load(Ordering::Relaxed) > 0, "the counter was never good");
    }

    /// After a sleep in which the counter stood still or leapt, it must be left within a millisecond and at once.
    #[test]
    fn a_counter_that_stood_still_or_leapt_is_set_by_the_boot_clock() {
        let counter = Counter::start();
        for leap in [GOOD_FOR + 1, 1 << 60, 0_u64.wrapping_sub(GOOD_FOR), 0_u64.wrapping_sub(1 << 60)] {
            let asked_at = counter.asked_at.load(Ordering::Relaxed);
            counter.asked_at.store(asked_at.wrapping_sub(leap), Ordering::Relaxed);
            counter.offset.store(1, Ordering::Relaxed);
            let (before, told) = (boot_nanos(), counter.boot_nanos());
            assert!((before..=boot_nanos()).contains(&told), "{leap}");
        }
    }
}
