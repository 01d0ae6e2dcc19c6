//! Time since the beginning of a phase, and a sleep that ends when it should.
//!
//! The runtime's own timers are as fine as a millisecond, many decisions long. On Linux a timer of the kernel's wakes within tens
//! of microseconds, and costs nothing while it waits; elsewhere the runtime's has to do, and the schedule's slip tells of it.

use std::time::{Duration, Instant};

/// Tells how long ago a phase began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the nanoseconds since the beginning.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        nanos(self.0.elapsed())
    }
}

/// Returns a duration in nanoseconds, the most there can be for what is longer.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Wakes a task at an instant.
#[derive(Debug)]
pub(crate) struct Alarm {
    #[cfg(target_os = "linux")]
    timer: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl Alarm {
    /// Makes one, inside a runtime.
    #[cfg(target_os = "linux")]
    #[expect(
        deprecated,
        reason = "its successor is unsafe; what is asked of the caller there an owned descriptor keeps"
    )]
    pub(crate) fn new() -> Self {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok();
        Self { timer: timer.and_then(|timer| tokio::io::unix::AsyncFd::new(timer).ok()) }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Waits so long.
    pub(crate) async fn sleep(&self, wait: Duration) {
        #[cfg(target_os = "linux")]
        if self.sleep_fine(wait).await.is_some() {
            return;
        }
        tokio::time::sleep(wait).await;
    }

    #[cfg(target_os = "linux")]
    async fn sleep_fine(&self, wait: Duration) -> Option<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let timer = self.timer.as_ref()?;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would disarm it.
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: wait.as_secs().try_into().ok()?, tv_nsec: wait.subsec_nanos().into() };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &spec).ok()?;
        let mut expirations = [0; 8];
        loop {
            let mut ready = timer.readable().await.ok()?;
            match rustix::io::read(timer.get_ref(), &mut expirations) {
                Ok(_) => return Some(()),
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(_) => return None,
            }
        }
    }
}
