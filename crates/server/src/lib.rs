//! Tidegate's network faces: gateway, decision API, health.
