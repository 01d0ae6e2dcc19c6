//! What the demo prints: what runs where, and what to try, as lines to copy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tidegate_server::app::Addresses;

use super::upstream::CODE;

/// The guide with places for the addresses and the right code.
const TEXT: &str = include_str!("guide.txt");

/// Returns the guide for a demo that listens here; `program` is how the reader started it.
pub(crate) fn text(program: &str, addresses: &Addresses, behind: SocketAddr) -> String {
    let shown = |address: Option<SocketAddr>| {
        address.map_or_else(String::new, |address| reachable(address).to_string())
    };
    TEXT.replace("{gateway}", &shown(addresses.gateway))
        .replace("{api}", &shown(addresses.api))
        .replace("{admin}", &shown(addresses.admin))
        .replace("{health}", &shown(addresses.health))
        .replace("{behind}", &behind.to_string())
        .replace("{code}", CODE)
        .replace("{program}", program)
}

/// Returns the address at which this machine reaches a listener: one that listens everywhere is also here.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        // A listener on every IPv6 address takes IPv4 as well, as systems are set up.
        return SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port());
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_in_and_curl_keeps_its_own() {
        let at = |port: u16| SocketAddr::from(([0, 0, 0, 0], port));
        let addresses = Addresses {
            gateway: Some(at(1)),
            api: Some(at(2)),
            admin: Some(at(5)),
            health: Some(at(3)),
            ..Addresses::default()
        };
        let text = text("target/release/tidegate", &addresses, at(4));
        for place in ["{gateway}", "{api}", "{admin}", "{health}", "{behind}", "{code}"] {
            assert!(!text.contains(place), "{place}");
        }
        assert!(text.contains("http://127.0.0.1:1/otp/verify"));
        assert!(text.contains("-w '%{http_code}\\n'"));
    }
}
