//! Tidegate's network faces: gateway, decision API, health.

pub mod net;
pub mod proxy;
