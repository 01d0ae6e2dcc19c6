//! The script, asked directly.

use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_store::conformance_tests;
use tidegate_store_redis::testing::Scripted;

fn scripted() -> Scripted {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let port = std::env::var("TG_PORT").unwrap();
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    Scripted::new(client.get_connection().unwrap(), &format!("t{}-{number}", std::process::id()), &[])
}

conformance_tests!(scripted);
