//! Envoy's rate-limit service: asked by a gRPC client, by JSON, and by a real Envoy before a real upstream.

mod behind;
mod calls;
mod compatibility;
mod failures;
mod health;
mod hits;
mod json;
mod page;
mod statuses;
mod vectors;
mod ways;
mod world;
