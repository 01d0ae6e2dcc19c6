//! The Redis store against real servers.

mod clock;
mod cluster;
mod conforms;
mod failures;
mod rights;
mod sentinel;
mod tools;
