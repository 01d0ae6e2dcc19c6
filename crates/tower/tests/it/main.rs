//! The layer from outside: real bodies, real policies, a service behind that tells what it saw.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod allocations;
mod bodies;
mod examples;
mod fields;
mod grpc;
mod holding;
mod keyed;
mod outage;
mod pace;
mod page;
mod refusals;
mod routers;
mod settling;
mod world;
