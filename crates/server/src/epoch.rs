//! Instants as metrics and health tell them.

use std::time::SystemTime;

/// Returns the whole seconds since 1970 at an instant; zero before.
pub(crate) fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
