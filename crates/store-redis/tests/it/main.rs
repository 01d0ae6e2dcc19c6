//! The Redis store against real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod clock;
mod cluster;
mod conforms;
mod connections;
mod counters;
mod failures;
mod notes;
mod rights;
mod script;
mod sentinel;
mod tools;
mod versions;
