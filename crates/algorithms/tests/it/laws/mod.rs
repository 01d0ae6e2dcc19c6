//! Laws that hold for every quota and every history.

mod bound;
mod carry;
mod change;
mod drift;
mod forget;
mod log;
mod refund;
mod share;
mod step;
mod time;

use proptest::prelude::ProptestConfig;

/// So many cases; failures are shown shrunk, and kept by being written as a test.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}
