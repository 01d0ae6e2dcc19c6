//! The script, and the calls of it.

mod call;
mod places;
mod replay;

use std::sync::{Arc, LazyLock};

use ring::digest;

use crate::digest::hex;

pub(crate) use call::{Call, MAX_KEYS, MAX_OPS};

/// The script's parts: what every call needs, what batches do, what few of those do, then the call itself.
const SOURCE: &str = concat!(
    include_str!("lua/head.lua"),
    include_str!("lua/names.lua"),
    include_str!("lua/quota.lua"),
    include_str!("lua/window_end.lua"),
    include_str!("lua/single.lua"),
    include_str!("lua/put.lua"),
    include_str!("lua/batch/head.lua"),
    include_str!("lua/names.lua"),
    include_str!("lua/batch/wide.lua"),
    include_str!("lua/batch/codec.lua"),
    include_str!("lua/batch/fixed_window.lua"),
    include_str!("lua/batch/level.lua"),
    include_str!("lua/batch/token_bucket.lua"),
    include_str!("lua/batch/leaky_bucket.lua"),
    include_str!("lua/batch/sliding_counter.lua"),
    include_str!("lua/batch/lockout.lua"),
    include_str!("lua/batch/sliding_log.lua"),
    include_str!("lua/batch/decide.lua"),
    include_str!("lua/batch/cells.lua"),
    include_str!("lua/batch/slow/head.lua"),
    include_str!("lua/batch/slow/wide.lua"),
    include_str!("lua/batch/slow/calendar.lua"),
    include_str!("lua/batch/slow/codec.lua"),
    include_str!("lua/batch/slow/level.lua"),
    include_str!("lua/batch/slow/log.lua"),
    include_str!("lua/batch/slow/refund.lua"),
    include_str!("lua/batch/slow/carry.lua"),
    include_str!("lua/batch/slow/plans.lua"),
    include_str!("lua/batch/slow/ops.lua"),
    include_str!("lua/batch/slow/foot.lua"),
    include_str!("lua/batch/run.lua"),
    include_str!("lua/batch/write.lua"),
    include_str!("lua/batch/foot.lua"),
    include_str!("lua/main.lua"),
);

/// A script and the name by which a server knows it; clones share the text.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    source: Arc<str>,
    sha1: Arc<str>,
}

impl Default for Script {
    fn default() -> Self {
        /// Hashed once: every lane and every connection has it.
        static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::of(SOURCE));
        SCRIPT.clone()
    }
}

impl Script {
    /// Builds the script of some text; tests give it faults.
    pub(crate) fn of(source: &str) -> Self {
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, source.as_bytes());
        Self { source: source.into(), sha1: hex(hash.as_ref()).into() }
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
