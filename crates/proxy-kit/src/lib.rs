//! Real proxies for tests: Envoy, nginx, Caddy and HAProxy.
//!
//! Each is a process of its own on free ports of 127.0.0.1 with a folder of its own, ready when its handle is there and
//! ended with it, also when a test panics. `./test` installs the programs.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a proxy that cannot be had ends the test"
)]

pub mod envoy;
pub mod proxies;

/// Pauses before another process is asked once more: it tells of nothing by itself.
pub(crate) fn moment() {
    std::thread::sleep(std::time::Duration::from_millis(10));
}
