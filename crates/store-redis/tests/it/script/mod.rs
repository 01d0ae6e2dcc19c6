//! The script, held against the first writing of the algorithms.

mod differential;
mod faults;
mod golden;
mod values;

use tidegate_redis_kit::Server;
use tidegate_store_redis::testing::Scripted;

/// The script on a server, with faults put into it, over keys of its own.
fn scripted(server: &Server, faults: &[(&str, &str)]) -> Scripted {
    Scripted::new(server.connection(), &crate::tools::prefix(), faults)
}
