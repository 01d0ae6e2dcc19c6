//! The decision API and the health endpoints, on real sockets.

mod bad_calls;
mod check;
mod health;
mod http;
mod outcome;
mod policy;
mod refund;
mod same_as_gateway;
mod schemathesis;
mod token;
mod ways;
mod why;
pub(crate) mod world;
