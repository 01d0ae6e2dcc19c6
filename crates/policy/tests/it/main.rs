//! The policy as its users see it: files in, problems, matches and keys out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod acceptance;
mod accepted;
mod around;
mod dates;
mod diff;
mod docs;
mod import_envoy;
mod import_rate_limit;
mod overlay;
mod properties;
mod refused;
mod terms;
mod trust;
mod words;
