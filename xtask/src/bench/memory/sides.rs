//! The sides: Tidegate's memory store and the crates it is held against, each asked as its users ask it.
//!
//! `governor` is keyed by `String` on its default store, and asked with a `&String`, so it does not allocate for known keys.
//! `throttlecrab` needs `&mut`, so it is asked under a mutex; its store is the one that its server takes unless told otherwise.
//! `ratelimit` has no keys: one bucket, to show what a bare one costs.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use governor::{DefaultKeyedRateLimiter, RateLimiter};
use ratelimit::Ratelimiter;
use throttlecrab::PeriodicStore;
use tidegate_store::algorithms::{Ask, Quota, Rate, Span};
use tidegate_store::{Check, LimitId, MemoryOptions, MemoryStore, Store};

/// Units at once, of which one is back every five minutes: more than is asked for, and a key that was charged once is not full
/// again while it is measured, since a store may forget one that is. Larger numbers overflow what some sides compute with.
const AMPLE: u32 = 10_000_000;

/// How much is admitted of what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// All of it.
    Admits,
    /// Two of each key, then one an hour. (throttlecrab 0.4.40 limits nothing where it is to admit one at a time.)
    Refuses,
}

impl Limit {
    /// Returns the units at once, the units that come back, and the hours in which they do.
    fn numbers(self) -> (u32, u32, u32) {
        match self {
            Self::Admits => (AMPLE, 12, 1),
            Self::Refuses => (2, 1, 1),
        }
    }
}

/// One that is asked whether a key's request may pass.
#[allow(clippy::ptr_arg, reason = "governor is asked with a `&String`, or would have to make one")]
pub(super) trait Side: Sync {
    /// Asks, and returns whether it may.
    fn ask(&self, key: &String) -> bool;
}

/// Tidegate's store in memory, as users hold it: without knowing which it is.
pub(in super::super) struct Tidegate {
    store: MemoryStore,
    limit: LimitId,
    quota: Quota,
}

impl Tidegate {
    pub(super) fn new(limit: Limit) -> Result<Self> {
        let (most, count, hours) = limit.numbers();
        let rate = Rate::new(count.into(), Span::from_secs(3_600 * u64::from(hours)))?;
        Self::of(Quota::token_bucket(most.into(), rate)?)
    }

    /// Makes one whose quota is given.
    pub(in super::super) fn of(quota: Quota) -> Result<Self> {
        let options = MemoryOptions { max_keys: 8_000_000, max_bytes: 4 << 30 };
        let store = MemoryStore::new(options).context("a secret for the store")?;
        let limit = store.limit("bench");
        Ok(Self { store, limit, quota })
    }

    /// Asks for so many units of a key.
    pub(in super::super) fn ask_for(&self, key: &str, ask: Ask) -> bool {
        let store: &dyn Store = black_box(&self.store);
        let check = Check { limit: self.limit, key: key.as_bytes(), quota: &self.quota, ask, shadow: false };
        let decided = store.decide(&[check], None).now();
        decided.is_some_and(|decided| decided.is_ok_and(|decided| decided.admitted))
    }

    /// Reads the clock that each decision reads.
    pub(super) fn read_clock(&self) -> bool {
        black_box(self.store.now());
        true
    }
}

impl Side for Tidegate {
    fn ask(&self, key: &String) -> bool {
        self.ask_for(key, Ask::ONE)
    }
}

/// `governor` on its default store.
pub(super) struct Governor(DefaultKeyedRateLimiter<String>);

impl Governor {
    pub(super) fn new(limit: Limit) -> Result<Self> {
        let (most, count, hours) = limit.numbers();
        let each = Duration::from_hours(hours.into()) / count;
        let quota = governor::Quota::with_period(each).context("governor refuses its period")?;
        let most = NonZeroU32::new(most).context("a limit that admits nothing")?;
        Ok(Self(RateLimiter::keyed(quota.allow_burst(most))))
    }
}

impl Side for Governor {
    fn ask(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

/// `throttlecrab` under a mutex.
pub(super) struct Throttlecrab {
    limiter: Mutex<throttlecrab::RateLimiter<PeriodicStore>>,
    /// Units at once, units in a period, and the period in seconds.
    numbers: [i64; 3],
}

impl Throttlecrab {
    pub(super) fn new(limit: Limit) -> Self {
        let (most, count, hours) = limit.numbers();
        let numbers = [most.into(), count.into(), 3_600 * i64::from(hours)];
        Self { limiter: Mutex::new(throttlecrab::RateLimiter::new(PeriodicStore::new())), numbers }
    }
}

impl Side for Throttlecrab {
    fn ask(&self, key: &String) -> bool {
        let [most, count, period] = self.numbers;
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.rate_limit(key, most, count, period, 1, SystemTime::now()).is_ok_and(|(allowed, _)| allowed)
    }
}

/// `ratelimit`: one bucket for all.
pub(super) struct Ratelimit(Ratelimiter);

impl Ratelimit {
    pub(super) fn new(limit: Limit) -> Result<Self> {
        let (most, count, hours) = limit.numbers();
        let builder = Ratelimiter::builder(count.into()).period(Duration::from_hours(hours.into()));
        let builder = builder.max_tokens(most.into()).initial_available(most.into());
        Ok(Self(builder.build()?))
    }
}

impl Side for Ratelimit {
    fn ask(&self, _: &String) -> bool {
        self.0.try_wait().is_ok()
    }
}
