//! The network half of the gateway, with real sockets on every side.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod alerts;
mod api;
mod app;
mod bodies;
mod connections;
mod curl;
mod drain;
mod envoy;
mod examples;
mod forward;
mod framing;
mod headers;
mod http2;
mod pool;
mod proxy_protocol;
mod resp;
mod snapshots;
mod support;
mod tls;
mod trouble;
mod upgrade;
