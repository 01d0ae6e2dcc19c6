//! Envoy.
