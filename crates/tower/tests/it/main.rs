//! The layer from outside: real bodies, real policies, a service behind that tells what it saw.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bodies;
mod fields;
mod holding;
mod outage;
mod refusals;
mod settling;
mod world;
