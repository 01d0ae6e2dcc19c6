//! Real Redis servers for tests.
//!
//! Each is a process of its own on free ports of 127.0.0.1 that keeps nothing on the disk, ready when its handle is there
//! and ended with it, also when a test panics. `./test` installs the programs.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a server that cannot be had ends the test"
)]

mod clock;
mod cluster;
mod proxy;
mod sentinel;
mod server;
mod tls;
mod versions;

pub use clock::Clocked;
pub use cluster::Cluster;
pub use proxy::Proxy;
pub use sentinel::Watched;
pub use server::{Server, moment, soon};
pub use tls::Certificates;
pub use versions::Version;
