//! Each algorithm beside the others, in memory and in Redis: time, CPU, bytes a key.

use anyhow::{Context as _, Result};
use tidegate_store::algorithms::{Anchor, Quota, Rate, Span};

/// Units in a window, or that a bucket holds.
const UNITS: u32 = 100;
/// How many of them are used up where a log is weighed that has entries.
const CHARGES: u32 = 50;

/// An algorithm as it is measured: what its figures are called, its name, its numbers.
pub(super) struct Algorithm {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) quota: Quota,
}

/// Returns all of them, with numbers of one size: a hundred an hour.
pub(super) fn all() -> Result<Vec<Algorithm>> {
    let hour = Span::from_secs(3_600);
    let units = u64::from(UNITS);
    let rate = Rate::new(units, hour)?;
    Ok(vec![
        Algorithm::new("fixed-window", "fixed window", Quota::fixed_window(units, hour, Anchor::Clock)?),
        Algorithm::new(
            "fixed-window-first",
            "fixed window from the first hit",
            Quota::fixed_window(units, hour, Anchor::FirstHit)?,
        ),
        Algorithm::new("sliding-counter", "sliding counter", Quota::sliding_counter(units, hour)?),
        Algorithm::new("token-bucket", "token bucket", Quota::token_bucket(units, rate)?),
        Algorithm::new("leaky-bucket", "leaky bucket", Quota::leaky_bucket(rate, units)?),
        Algorithm::new("lockout", "lockout", Quota::lockout(units, hour, hour)?),
        Algorithm::new("sliding-log", "sliding log", Quota::sliding_log(units, hour)?),
    ])
}

impl Algorithm {
    fn new(id: &'static str, name: &'static str, quota: Quota) -> Self {
        Self { id, name, quota }
    }
}

/// Returns the quota that goes by that id where bytes are weighed, and how often each key is to be charged: `sliding-log` or,
/// charged several times, `sliding-log*50`.
pub(super) fn weighed(id: &str) -> Result<(Quota, u32)> {
    let (id, charges) = id.split_once('*').map_or((id, Ok(1)), |(id, charges)| (id, charges.parse()));
    let found = all()?.into_iter().find(|algorithm| algorithm.id == id);
    Ok((found.with_context(|| format!("no algorithm {id}"))?.quota, charges?))
}
