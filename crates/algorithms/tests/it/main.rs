//! The laws of `decide`, the golden tables, and an oracle that shares nothing with it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod calendar;
mod days;
mod golden;
mod laws;
mod oracle;
mod play;
