//! Services that take their time, which is what a load test has to find.

use std::thread;
use std::time::Duration;

use crate::service::Service;

/// Starts a service that takes ten milliseconds for each request.
pub(super) fn of_ten_milliseconds() -> Service {
    Service::start(|_, _| after(10))
}

/// Starts a service whose fiftieth request or so takes half a second.
pub(super) fn that_stalls() -> Service {
    Service::start(|_, nth| after(if nth == 50 { 500 } else { 0 }))
}

/// Starts a service whose fiftieth request or so takes a whole second.
pub(super) fn that_stalls_long() -> Service {
    Service::start(|_, nth| after(if nth == 50 { 1_000 } else { 0 }))
}

fn after(millis: u64) -> &'static str {
    thread::sleep(Duration::from_millis(millis));
    "200 OK"
}
