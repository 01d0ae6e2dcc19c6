//! Tidegate's network faces: gateway, decision API, health.

pub mod api;
pub mod app;
pub mod gateway;
pub mod health;
pub mod net;
mod problem;
pub mod proxy;
