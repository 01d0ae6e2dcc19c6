//! The wall clock, for what depends on the date rather than on a store: a token's expiry, an override's end.

use std::time::SystemTime;

use tidegate_algorithms::Timestamp;

/// Returns the time of this machine, the epoch for one before it.
pub(crate) fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX)).unwrap_or(Timestamp::MAX)
}
