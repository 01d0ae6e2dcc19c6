//! What the servers are asked by HTTP, as requests of wrk's.

use super::super::computed::message::{Load, Make};
use super::super::wrk::Asks;

/// Returns the requests of a load, on so many keys where it has many.
pub(super) fn asks(make: Make, load: Load, keys: u32) -> Asks {
    let (path, body) = match (make, load) {
        (Make::Throttlecrab, Load::Allowed) => (
            "/throttle",
            r#"{"key":"user-%06d","max_burst":1000000,"count_per_period":1,"period":60,"quantity":1}"#,
        ),
        (Make::Throttlecrab, Load::Refused) => (
            "/throttle",
            r#"{"key":"flooded-%06d","max_burst":2,"count_per_period":1,"period":86400,"quantity":1}"#,
        ),
        (Make::Tidegate, Load::Allowed) => {
            ("/v1/check", r#"{"method":"GET","path":"/allowed","keys":{"account":"user-%06d"}}"#)
        }
        (Make::Tidegate, Load::Refused) => {
            ("/v1/check", r#"{"method":"GET","path":"/refused","keys":{"account":"flooded-%06d"}}"#)
        }
    };
    Asks {
        name: "decisions",
        count: if load == Load::Allowed { keys } else { 1 },
        request: format!(
            "'POST', '{path}', {{ ['Content-Type'] = 'application/json' }}, string.format('{body}', number)"
        ),
    }
}
