//! The attack bench held against the closed forms, and against itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod attained;
mod cases;
mod deterministic;
mod envoy;
mod never_above;
mod played;
