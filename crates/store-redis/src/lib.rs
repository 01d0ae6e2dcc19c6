//! Limiter state that all instances share: Redis or Valkey, decided by one atomic script.
//!
//! The script is the second writing of `tidegate_algorithms`. It says whether each batch is admitted and writes what
//! follows; it answers with the states it found, and this crate runs the first writing on them, so that every number of a
//! decision comes from one place and a script that decides otherwise is noticed at once.

mod codec;
mod digest;
mod op;
mod options;
mod script;
#[cfg(feature = "testing")]
#[allow(clippy::missing_panics_doc, reason = "a fault in a test is told by panicking")]
pub mod testing;

pub use options::{RedisOptions, Secret, Servers, Tls};
