//! The limiter from outside: by code and by policy file, on the memory store, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod acceptance;
mod allocations;
mod by_code;
mod by_policy;
mod dates;
mod descriptors;
mod failure;
mod files;
mod lost;
mod outage;
mod own;
mod prepared;
mod reload;
mod reset;
mod settling;
mod warnings;
mod why;
mod why_descriptors;
mod world;
