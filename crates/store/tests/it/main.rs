//! The memory store: held to the conformance suite, and to its own promises about room and forgetting.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod books;
mod conforms;
mod crowd;
mod faulty;
mod flood;
mod forgetting;
mod overflow;
mod plans;
mod property;
mod restarts;
mod snapshot;
mod tools;
