//! Keys in header fields that only trusted proxies can send, and what single limits tell clients.

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_policy::{Diff, Policy, Presence, Request, parse_embedded};

/// A policy of one limit on this key.
fn counting(key: &str) -> Policy {
    let text = format!(
        "tidegate: 1\ntrusted_proxies: [10.0.0.0/8]\nkeys:\n  \
         customer: {{ header: x-customer, from: trusted_proxies, normalize: lowercase, called: account }}\n  \
         open: {{ header: x-customer, normalize: lowercase }}\n  \
         client: {{ client_ip: {{ ipv4: 32 }} }}\n  caller: {{ first_of: [customer, client] }}\n\
         rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - name: l\n        says: base\n        \
         key: {key}\n        sliding_log: {{ limit: 1, window: 1m }}\n        overrides:\n          \
         - {{ value: acme, because: contract, says: override, sliding_log: {{ limit: 9, window: 1m }} }}\n"
    );
    parse_embedded("test.yaml", &text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// What a peer with these fields is counted on, where that is read, and the words of its terms.
fn counted(
    policy: &Policy,
    peer: &str,
    fields: &[(&'static str, &'static str)],
) -> Result<(Option<Vec<u8>>, String, String), String> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let request = Request {
        method: "GET",
        host: None,
        path: "/a",
        query: None,
        headers: &headers,
        peer: Some(peer.parse().unwrap()),
        body: None,
    };
    let seen = policy.see(&request).unwrap();
    let matched = policy.matching(&seen).next().unwrap();
    let limit = &matched.rule.limits[0];
    let mut bytes = Vec::new();
    let read = limit.key.read(&matched.facts, &mut bytes).map_err(|error| error.to_string())?;
    let variant = limit.choose(&matched.facts).unwrap().variant;
    let says = limit.variants().nth(variant).unwrap().1.says.clone();
    let source = limit.key.show(&matched.facts).unwrap()[0].source.clone();
    Ok(((read == Presence::Present).then_some(bytes), source, says))
}

/// Guards a customer's override, and every count, against whoever writes the customer's name into a field.
#[test]
fn a_key_from_trusted_proxies_is_missing_in_what_a_stranger_sends() {
    const STRANGER: &str = "192.0.2.7";
    const PROXY: &str = "10.0.0.1";
    let acme: &[_] = &[("x-customer", "ACME")];
    let forwarded = &[("x-customer", "ACME"), ("x-forwarded-for", "192.0.2.9")];
    for key in ["customer", "{ header: x-customer, from: trusted_proxies, normalize: lowercase }"] {
        let policy = counting(key);
        let (bytes, source, says) = counted(&policy, STRANGER, acme).unwrap();
        assert_eq!((bytes, says.as_str()), (None, "base"), "{key}");
        assert_eq!(source, "header x-customer, of a trusted proxy");
        let (bytes, _, says) = counted(&policy, PROXY, forwarded).unwrap();
        assert_eq!((bytes.is_some(), says.as_str()), (true, "override"), "{key}");
        let open = counted(&counting("open"), STRANGER, acme).unwrap();
        assert_eq!((open.0, open.2.as_str()), (bytes, "override"), "without `from` anybody is believed");
    }
    let caller = counting("caller");
    let alone = counted(&caller, STRANGER, &[]).unwrap();
    assert_eq!(alone.1, "client, client address, /32");
    assert_eq!(counted(&caller, STRANGER, acme).unwrap(), alone, "a first_of goes on to the address");
    let (_, source, says) = counted(&caller, PROXY, forwarded).unwrap();
    assert_eq!(
        (source.as_str(), says.as_str()),
        ("customer, header x-customer, of a trusted proxy", "override")
    );
}

/// Guards a field of a stranger against being refused as ambiguous: nobody looks at it.
#[test]
fn a_stranger_s_field_twice_is_as_missing_as_once() {
    let policy = counting("customer");
    let twice = &[("x-customer", "a"), ("x-customer", "b")];
    assert_eq!(counted(&policy, "192.0.2.7", twice).unwrap().0, None);
    assert!(counted(&policy, "10.0.0.1", twice).unwrap_err().contains("more than once"));
}

/// Guards against a key that stops, or begins, to believe anybody and is told as the same one.
#[test]
fn whom_a_key_believes_is_a_change_of_the_key() {
    let diff = Diff::between(&counting("open"), &counting("customer"));
    let told = format!("{diff:?}");
    assert!(told.contains("customer (header x-customer, of a trusted proxy; lowercase)"), "{told}");
    let inline = |from: &str| counting(&format!("{{ header: x-customer{from} }}"));
    let told = format!("{:?}", Diff::between(&inline(""), &inline(", from: trusted_proxies")));
    assert!(told.contains("header x-customer (header x-customer, of a trusted proxy)"), "{told}");
}
