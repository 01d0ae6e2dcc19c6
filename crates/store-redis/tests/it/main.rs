//! The Redis store against real servers.

mod cluster;
mod conforms;
mod failures;
mod sentinel;
mod tools;
