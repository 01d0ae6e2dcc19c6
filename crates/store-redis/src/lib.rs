//! Limiter state that all instances share: Redis or Valkey, decided by one atomic script.
//!
//! The script is the second writing of `tidegate_algorithms`. It says whether each batch is admitted and writes what
//! follows; it answers with the states it found, and this crate runs the first writing on them, so that every number of a
//! decision comes from one place and a script that decides otherwise is noticed at once.
//!
//! A question travels like this: [`RedisStore`] names its keys (`names`), a `lane` gathers it with others that wait and
//! sends them as one call of the `script` over a `link` that is kept by a task of its own, and the reply is replayed.

mod cluster;
mod codec;
mod counter;
mod diagnosis;
mod digest;
mod error;
mod held;
mod lane;
mod link;
mod measures;
mod names;
mod notes;
mod op;
mod options;
mod script;
mod store;
#[cfg(feature = "testing")]
#[allow(clippy::missing_panics_doc, reason = "a fault in a test is told by panicking")]
pub mod testing;
mod trial;

pub use counter::COUNTER_RIGHTS;
pub use diagnosis::{Finding, Level, RIGHTS};
pub use held::{Held, HeldValue};
pub use notes::NOTE_RIGHTS;
pub use options::{OptionsError, RedisOptions, Secret, Servers, Tls};
pub use store::RedisStore;
