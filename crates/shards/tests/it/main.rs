//! The locking code under a model checker that runs the interleavings of its threads.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod batches;
mod model;
mod order;
