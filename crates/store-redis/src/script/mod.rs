//! The script, and the calls of it.

mod call;
mod replay;

use ring::digest;

use crate::digest::hex;

pub(crate) use call::{Call, MAX_KEYS, MAX_OPS};

/// The script's parts: what every call needs, then what few do, then the call itself.
const SOURCE: &str = concat!(
    include_str!("lua/head.lua"),
    include_str!("lua/wide.lua"),
    include_str!("lua/codec.lua"),
    include_str!("lua/fixed_window.lua"),
    include_str!("lua/level.lua"),
    include_str!("lua/token_bucket.lua"),
    include_str!("lua/leaky_bucket.lua"),
    include_str!("lua/sliding_counter.lua"),
    include_str!("lua/lockout.lua"),
    include_str!("lua/sliding_log.lua"),
    include_str!("lua/decide.lua"),
    include_str!("lua/cells.lua"),
    include_str!("lua/slow/head.lua"),
    include_str!("lua/slow/wide.lua"),
    include_str!("lua/slow/calendar.lua"),
    include_str!("lua/slow/codec.lua"),
    include_str!("lua/slow/level.lua"),
    include_str!("lua/slow/log.lua"),
    include_str!("lua/slow/refund.lua"),
    include_str!("lua/slow/carry.lua"),
    include_str!("lua/slow/plans.lua"),
    include_str!("lua/slow/ops.lua"),
    include_str!("lua/slow/foot.lua"),
    include_str!("lua/main.lua"),
);

/// A script and the name by which a server knows it.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    source: String,
    sha1: String,
}

impl Default for Script {
    fn default() -> Self {
        Self::of(SOURCE)
    }
}

impl Script {
    /// Builds the script of some text; tests give it faults.
    pub(crate) fn of(source: &str) -> Self {
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, source.as_bytes());
        Self { source: source.to_owned(), sha1: hex(hash.as_ref()) }
    }

    /// Returns the text, as `SCRIPT LOAD` takes it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Returns the SHA-1 of the text in hex digits, as `EVALSHA` takes it.
    pub(crate) fn sha1(&self) -> &str {
        &self.sha1
    }
}
