//! Who the upstream is told the client is, by who vouches for it.

use super::*;

const FROM_OUTSIDE: &str = "203.0.113.9:1";
const BALANCER: &str = "10.0.0.1:1";

/// Sets the fields for a request with these and returns all of them, sorted, as `name: value`.
fn run(peer: &str, trusted: Option<bool>, lines: &[(&str, &str)]) -> Vec<String> {
    let mut headers: HeaderMap = lines
        .iter()
        .map(|(name, value)| (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap()))
        .collect();
    let peer = PeerInfo { peer: peer.parse().unwrap(), local: BALANCER.parse().unwrap(), tls: true };
    let resolved =
        trusted.map(|peer_trusted| ResolvedClient { address: "198.51.100.7".parse().unwrap(), peer_trusted });
    drop_forged(&mut headers, trusted == Some(true), Some(&HeaderName::from_static("cf-connecting-ip")));
    set_forwarding(&mut headers, Some(&peer), resolved.as_ref());
    let mut lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort_unstable();
    lines
}

const FORGED: &[(&str, &str)] = &[
    ("host", "a"),
    ("x-forwarded-for", "1.1.1.1"),
    ("x-forwarded-host", "evil"),
    ("x-forwarded-proto", "http"),
    ("x-forwarded-port", "1"),
    ("x-real-ip", "1.1.1.1"),
    ("forwarded", "for=1.1.1.1"),
    ("x_forwarded_for", "1.1.1.1"),
    ("x-forwarded_for", "1.1.1.1"),
    ("x_real_ip", "1.1.1.1"),
    ("cf-connecting-ip", "1.1.1.1"),
    ("cf_connecting-ip", "1.1.1.1"),
    ("my_header", "kept"),
];

#[test]
fn nothing_an_unknown_peer_says_about_addresses_gets_through() {
    for trusted in [None, Some(false)] {
        let real_ip = if trusted.is_none() { "x-real-ip: 203.0.113.9" } else { "x-real-ip: 198.51.100.7" };
        assert_eq!(
            run(FROM_OUTSIDE, trusted, FORGED),
            [
                "host: a",
                "my_header: kept",
                "x-forwarded-for: 203.0.113.9",
                "x-forwarded-host: a",
                "x-forwarded-proto: https",
                real_ip,
            ]
        );
    }
}

#[test]
fn a_trusted_peer_is_believed_and_added() {
    let lines = [
        ("host", "a"),
        ("x-forwarded-for", "198.51.100.7"),
        ("x-forwarded-for", "10.0.0.2"),
        ("x-forwarded-host", "shop"),
        ("x-forwarded-proto", "http"),
        ("forwarded", "for=198.51.100.7"),
        ("X_Forwarded_For", "1.1.1.1"),
        ("CF-Connecting-IP", "198.51.100.7"),
        ("CF_Connecting_IP", "1.1.1.1"),
    ];
    assert_eq!(
        run(BALANCER, Some(true), &lines),
        [
            "cf-connecting-ip: 198.51.100.7",
            "forwarded: for=198.51.100.7, for=10.0.0.1;host=\"a\";proto=https",
            "host: a",
            "x-forwarded-for: 198.51.100.7, 10.0.0.2, 10.0.0.1",
            "x-forwarded-host: shop",
            "x-forwarded-proto: http",
            "x-real-ip: 198.51.100.7",
        ]
    );
}

#[test]
fn a_trusted_peer_that_says_nothing_gets_the_fields_but_no_forwarded() {
    assert_eq!(
        run("[2001:db8::1]:1", Some(true), &[("host", "a")]),
        [
            "host: a",
            "x-forwarded-for: 2001:db8::1",
            "x-forwarded-host: a",
            "x-forwarded-proto: https",
            "x-real-ip: 198.51.100.7",
        ]
    );
    let lines = run("[2001:db8::1]:1", Some(true), &[("forwarded", "for=x")]);
    assert_eq!(lines[0], "forwarded: for=x, for=\"[2001:db8::1]\";proto=https");
}

#[test]
fn a_mapped_address_is_written_as_the_ipv4_it_is() {
    let lines = run("[::ffff:203.0.113.9]:1", None, &[]);
    assert_eq!(lines, ["x-forwarded-for: 203.0.113.9", "x-forwarded-proto: https", "x-real-ip: 203.0.113.9"]);
}

#[test]
fn without_a_peer_the_fields_are_only_taken_out() {
    let mut headers = HeaderMap::new();
    headers.insert(X_FORWARDED_FOR, HeaderValue::from_static("1.1.1.1"));
    drop_forged(&mut headers, false, None);
    set_forwarding(&mut headers, None, None);
    assert!(headers.is_empty());
}
