//! Counters that other programs count as well: under which name of theirs.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::key::{Spelled, spelled};
use crate::limit::Limit;

/// The longest part of a name that is spelled out: a path that is longer is whoever's wish to fill the store.
const LONGEST: usize = 512;

/// What the names of a limit's counters begin with, where other programs count under them as well.
///
/// In a store that they see (Redis), the counter of a key is a plain number under `name:part:part`, the parts of the key
/// spelled out: no prefix, and no hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedCounter {
    pub(crate) name: String,
}

impl SharedCounter {
    /// Returns what the names begin with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counter's name for the bytes of a key.
    fn of_key(&self, key: &[u8]) -> Vec<u8> {
        let mut text = self.name.clone();
        for part in spelled(key) {
            text.push(':');
            match part {
                Spelled::Text(bytes) => push_text(&mut text, &String::from_utf8_lossy(bytes)),
                Spelled::Address(address) => push_address(&mut text, address),
                Spelled::Digest(digest) => {
                    text.push_str("sha256-");
                    push_hex(&mut text, digest);
                }
                Spelled::Nobody => text.push('-'),
            }
        }
        text.into_bytes()
    }
}

impl Limit {
    /// Makes of a key's bytes, which begin at `start` of `out`, the name by which a store has to know the key: they
    /// themselves, unless the limit has a [`SharedCounter`].
    pub fn name_key(&self, out: &mut Vec<u8>, start: usize) {
        if let Some(counter) = &self.shared_counter {
            let name = counter.of_key(out.get(start..).unwrap_or_default());
            out.truncate(start);
            out.extend_from_slice(&name);
        }
    }
}

/// Appends a text, or the beginning of one that is too long and the digest of all of it.
fn push_text(out: &mut String, text: &str) {
    if text.len() <= LONGEST {
        out.push_str(text);
        return;
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    out.push_str(text.get(..end).unwrap_or_default());
    out.push_str("~sha256-");
    push_hex(out, &crate::key::digest(text));
}

fn push_address(out: &mut String, address: IpAddr) {
    // Writing to a string cannot fail.
    let _ = match address {
        IpAddr::V4(v4) => write!(out, "{v4}"),
        // As Java's servers write it: eight groups, none left out.
        IpAddr::V6(v6) => {
            let groups = v6.segments().map(|group| format!("{group:x}"));
            write!(out, "{}", groups.join(":"))
        }
    };
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
}

/// Returns the address of its octets, if they are one's.
pub(crate) fn address(octets: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Some(IpAddr::V4(Ipv4Addr::from(octets)));
    }
    <[u8; 16]>::try_from(octets).ok().map(|octets| IpAddr::V6(Ipv6Addr::from(octets)))
}

#[cfg(test)]
mod tests {
    use crate::{Presence, Request, parse};

    fn name(path: &str, peer: &str) -> String {
        let policy = parse(
            "p.yaml",
            "tidegate: 1\ngateway: { listen: 127.0.0.1:1, upstream: http://127.0.0.1:2 }\nkeys:\n  \
             client: { client_ip: { ipv6: 128 } }\n  endpoint: { request: path }\nrules:\n  - name: r\n    match: { path: /** }\n    \
             limits:\n      - { name: l, says: \"Ten a minute, per client and endpoint, counted from the first request.\", key: [client, endpoint], \
             shared_counter: rate-limit, fixed_window: { limit: 10, window: 1m, anchor: first_hit } }\n",
        )
        .unwrap();
        let headers = http::HeaderMap::new();
        let request = Request {
            method: "GET",
            host: None,
            path,
            query: None,
            headers: &headers,
            peer: peer.parse().ok(),
            body: None,
        };
        let seen = policy.see(&request).unwrap();
        let matched = policy.matching(&seen).next().unwrap();
        let (limit, mut key) = (&matched.rule.limits[0], b"before".to_vec());
        assert_eq!(limit.key.read(&matched.facts, &mut key), Ok(Presence::Present));
        limit.name_key(&mut key, 6);
        String::from_utf8(key).unwrap().strip_prefix("before").unwrap().to_owned()
    }

    /// A byte that differs is another counter: whoever counts beside us would not be counted.
    #[test]
    fn a_counter_has_the_name_that_others_give_it() {
        assert_eq!(name("/a/b", "192.0.2.7"), "rate-limit:192.0.2.7:/a/b");
        assert_eq!(name("//a/./b", "192.0.2.7"), "rate-limit:192.0.2.7:/a/b");
        assert_eq!(name("/", "2001:db8::1"), "rate-limit:2001:db8:0:0:0:0:0:1:/");
    }

    /// A path of eight kilobytes is a key of eight kilobytes in a store that is full sooner for it.
    #[test]
    fn a_long_path_is_cut_and_still_has_a_counter_of_its_own() {
        let long = |last: &str| name(&format!("/{}{last}", "a".repeat(5_000)), "192.0.2.7");
        assert!(long("b").len() < 640, "{}", long("b").len());
        assert_ne!(long("b"), long("c"));
    }
}
