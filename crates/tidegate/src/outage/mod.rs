//! What happens when the store does not answer: a breaker before it, its health for whoever watches, and the limits that
//! each process goes on with by itself.

mod breaker;
mod local;
mod without;

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub(crate) use breaker::{Breaker, Pass, Without, is_loss};
pub(crate) use local::LocalStore;

/// Whether the store answers, as far as the limiter has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StoreHealth {
    /// It does, or nobody has asked yet.
    #[default]
    Up,
    /// It does not: requests are decided without it, by their rules' choices.
    Down {
        /// Since when.
        since: SystemTime,
        /// What it said last, or what was seen of it.
        error: Arc<str>,
    },
}

impl StoreHealth {
    /// Returns whether requests are decided without the store.
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Down { .. })
    }
}

/// How a request was decided that its store did not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Degraded {
    /// It was denied, since nobody could tell.
    Denied,
    /// It passed, and nobody counted it.
    Uncounted,
    /// It was decided in this process alone, against this process's share of the limits.
    Local,
}

impl Degraded {
    /// Every way, in the order in which they are counted.
    pub(crate) const ALL: [Self; 3] = [Self::Denied, Self::Uncounted, Self::Local];

    /// Returns the word for it: `deny`, `allow` or `local`, as a rule chooses it.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Denied => "deny",
            Self::Uncounted => "allow",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode())
    }
}

/// What a limiter keeps for outages of its store; it outlives a reload.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    pub(crate) breaker: Breaker,
    pub(crate) local: LocalStore,
    pub(crate) clock: Clock,
}

/// The monotonic clock, which unit tests set.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    #[cfg(test)]
    set: std::sync::Mutex<Option<Instant>>,
}

impl Clock {
    /// Returns the instant it is.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "a test's has a time of its own"))]
    pub(crate) fn now(&self) -> Instant {
        #[cfg(test)]
        if let Some(set) = *crate::observe::lock(&self.set) {
            return set;
        }
        Instant::now()
    }

    /// Stops the clock at an instant.
    #[cfg(test)]
    pub(crate) fn set(&self, now: Instant) {
        *crate::observe::lock(&self.set) = Some(now);
    }
}
