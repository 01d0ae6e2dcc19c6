//! Tidegate's network faces: gateway, decision API, the operator's endpoint, health.
//!
//! For programs of one's own there are four doors:
//!
//! - [`app::App`] binds and runs every face that a policy names, which is what `tidegate serve` does;
//! - [`api::router`] and [`health::router`] are axum routers, to be mounted anywhere; [`api::service`] is faster, and a listener's
//!   only service;
//! - [`net::serve`] serves any tower service with the listener's protections, PROXY protocol, TLS and draining.
//!
//! The rest of [`net`], [`proxy`] and [`gateway`] is public so that each half can be run and tested without the other:
//! the listener with no limits and no upstream, the forwarding service with no listener. It may change with any version.

pub mod admin;
pub mod alerts;
pub mod api;
pub mod app;
mod changes;
pub mod envoy;
mod epoch;
mod front;
pub mod gateway;
pub mod health;
pub mod net;
mod overrides;
mod problem;
pub mod proxy;
pub mod reload;
pub mod resp;
pub mod snapshot;
pub mod store;
mod tokens;
mod watch;
pub mod watchman;
