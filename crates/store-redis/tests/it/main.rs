//! The Redis store against real servers.

mod script;
