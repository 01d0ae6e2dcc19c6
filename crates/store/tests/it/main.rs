//! The memory store: held to the conformance suite, and to its own promises about room and forgetting.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod conforms;
