//! The Redis store against real servers.

mod clock;
mod cluster;
mod conforms;
mod failures;
mod rights;
mod script;
mod sentinel;
mod tools;
