//! What stands in front, and whose word is taken.

use std::net::IpAddr;

use super::*;
use crate::adversary::OneAddress;

const RULE: &str = "
rules:
  - name: r
    match: { path: /** }
    limits:
      - { name: client, says: x, key: client_ip, fixed_window: { limit: 1, window: 1m } }
";

/// Returns requests under a head, and what their client is for an address and a claim.
fn under(head: &str) -> (Requests, impl Fn(&str, Option<&str>) -> IpAddr) {
    let requests = first(&format!("{head}{RULE}"));
    let policy = Arc::clone(&requests.policy);
    let made = requests.clone();
    let client = move |address: &str, claim: Option<&str>| {
        let forwarded = claim.map(|claim| claim.parse().unwrap());
        let wire = made.wire(&Who { forwarded, ..Who::new(0, address.parse().unwrap()) }).unwrap();
        let request = wire.request();
        policy.see(&request).unwrap().client().unwrap().address
    };
    (requests, client)
}

/// Guards against claims that count where the policy believes nobody but its proxies, in each field that names a client.
#[test]
fn a_client_is_who_connects_and_no_claim_of_his_counts() {
    let gateway =
        "gateway: { listen: 0.0.0.0:0, upstream: \"http://127.0.0.1:3000\", proxy_protocol: true }\n";
    for head in [
        String::new(),
        "trusted_proxies: [10.0.0.0/8]\n".to_owned(),
        "trusted_proxies: [10.1.2.3/32, \"fd00::/8\"]\ntopology: { proxies: 2 }\n".to_owned(),
        "trusted_proxies: [10.0.0.0/8]\nclient_header: forwarded\n".to_owned(),
        "trusted_proxies: [10.0.0.0/8]\nclient_header: x-real-ip\n".to_owned(),
        "trusted_proxies: { hops: 1 }\n".to_owned(),
        "trusted_proxies: { hops: 3 }\nclient_header: forwarded\n".to_owned(),
        format!("trusted_proxies: [10.0.0.0/8]\n{gateway}"),
    ] {
        let (requests, client) = under(&head);
        for address in ["198.18.0.1", "2001:db8::7"] {
            for claim in [None, Some("192.0.2.9"), Some("2001:db8::9")] {
                assert_eq!(client(address, claim), address.parse::<IpAddr>().unwrap(), "{head}{claim:?}");
            }
        }
        assert!(!requests.aim().believes_anybody, "{head}");
        assert_eq!(requests.aim().one_address, None, "{head}");
        let proxies = requests.wire(&at_victim()).unwrap().peer;
        assert_eq!(
            proxies == at_victim().address,
            head.is_empty() || head.contains("proxy_protocol"),
            "{head}"
        );
    }
}

/// Guards the attack by claimed addresses: where anybody is believed, the claim alone decides.
#[test]
fn a_claim_decides_where_anybody_is_believed() {
    for head in [
        "trusted_proxies: { networks: [0.0.0.0/0, \"::/0\"], trust_everyone: true }\n",
        "trusted_proxies: { networks: [0.0.0.0/1, 128.0.0.0/1, \"::/0\"], trust_everyone: true }\n",
        "trusted_proxies: { networks: [0.0.0.0/0, \"::/0\"], trust_everyone: true }\nclient_header: x-real-ip\n",
        "trusted_proxies: { networks: [0.0.0.0/0, \"::/0\"], trust_everyone: true }\ntopology: { proxies: 1 }\n",
        "trusted_proxies: { hops: 1 }\ntopology: { proxies: 0 }\n",
        "trusted_proxies: { hops: 4 }\ntopology: { proxies: 0 }\nclient_header: forwarded\n",
        "trusted_proxies: { hops: 3 }\ntopology: { proxies: 1 }\n",
    ] {
        let (requests, client) = under(head);
        for claim in ["192.0.2.9", "2001:db8::9"] {
            assert_eq!(client("198.18.0.1", Some(claim)), claim.parse::<IpAddr>().unwrap(), "{head}");
        }
        assert!(requests.aim().believes_anybody, "{head}");
        let spoof = |who: &mut Who| who.forwarded = "192.0.2.9".parse().ok();
        assert_eq!(changed(&requests, spoof), ["r/client"], "{head}");
    }
}

/// Guards against calling a policy safe that counts on the raw field.
#[test]
fn a_key_of_the_raw_field_believes_anybody() {
    let text = "
rules:
  - name: r
    match: { path: /** }
    limits:
      - { name: raw, says: x, key: { header: x-forwarded-for }, fixed_window: { limit: 1, window: 1m } }
";
    let requests = first(text);
    assert!(requests.aim().believes_anybody);
    assert_eq!(changed(&requests, |who| who.forwarded = "192.0.2.9".parse().ok()), ["r/raw"]);
}

/// Guards the finding that all clients are one: behind a proxy that nobody trusts they are, in the simulation as well.
#[test]
fn behind_a_proxy_that_nobody_trusts_all_clients_are_one() {
    let (requests, client) = under("topology: { proxies: 1 }\n");
    assert_eq!(client("198.18.0.1", None), client("203.0.113.5", Some("192.0.2.9")));
    assert_eq!(requests.aim().one_address, Some(OneAddress::Proxy));
    let (requests, client) = under("trusted_proxies: { hops: 1 }\ntopology: { proxies: 2 }\n");
    assert_eq!(client("198.18.0.1", None), client("203.0.113.5", None), "the address of the outer proxy");
    assert_eq!(requests.aim().one_address, Some(OneAddress::Hops));
    assert!(!requests.aim().believes_anybody);
}

/// Guards keys that a proxy writes behind a balancer that only names the client: the request then comes through a proxy.
#[test]
fn what_only_a_proxy_writes_comes_through_one() {
    let text = "
gateway: { listen: 0.0.0.0:0, upstream: \"http://127.0.0.1:3000\", proxy_protocol: true }
trusted_proxies: [10.0.0.0/8]
rules:
  - name: r
    match: { path: /** }
    limits:
      - { name: user, says: x, key: { header: x-user, from: trusted_proxies }, fixed_window: { limit: 1, window: 1m } }
";
    let wire = first(text).wire(&at_victim()).unwrap();
    assert_eq!(wire.peer.to_string(), "10.0.0.1");
    assert_eq!(
        (&wire.headers["x-user"], &wire.headers["x-forwarded-for"]),
        (&"customer-0".parse().unwrap(), &"198.18.0.0".parse().unwrap())
    );
}
