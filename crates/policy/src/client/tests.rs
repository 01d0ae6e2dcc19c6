//! The tables of what a client's address is, header by header.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

/// What a row expects: the address and its flags, `o` for an opaque hop, `i` for internal.
type Row<'a> = (&'a str, &'a [&'a [u8]], &'a str, &'a str);

fn networks(list: &[&str]) -> Trust {
    Trust::Networks(list.iter().map(|net| canonical_net(net.parse().unwrap())).collect())
}

fn headers(name: &'static str, lines: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(line).unwrap());
    }
    headers
}

fn check(trusted: &TrustedProxies, name: &'static str, rows: &[Row<'_>]) {
    for (peer, lines, expected, flags) in rows {
        let client = trusted.client(peer.parse().unwrap(), &headers(name, lines));
        let shown: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
        assert_eq!(client.address, expected.parse::<IpAddr>().unwrap(), "{peer} {shown:?}");
        let found = [(client.opaque_hop, 'o'), (client.internal, 'i')];
        let found: String = found.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
        assert_eq!(found, *flags, "{peer} {shown:?}");
    }
}

const PEER: &str = "10.0.0.1";

/// Guards against a client that chooses its own address, or shares its proxy's.
#[test]
fn a_list_is_walked_from_the_right_across_trusted_hops() {
    let trusted = TrustedProxies { who: networks(&["10.0.0.0/8"]), header: ClientHeader::XForwardedFor };
    check(
        &trusted,
        "x-forwarded-for",
        &[
            ("203.0.113.9", &[b"1.2.3.4"], "203.0.113.9", ""),
            (PEER, &[], PEER, ""),
            (PEER, &[b""], PEER, ""),
            (PEER, &[b"1.1.1.1, 203.0.113.5"], "203.0.113.5", ""),
            (PEER, &[b"203.0.113.5, 10.0.0.2"], "203.0.113.5", ""),
            (PEER, &[b"6.6.6.6", b"203.0.113.5, 10.0.0.2"], "203.0.113.5", ""),
            (PEER, &[b"1.1.1.1", b"203.0.113.7"], "203.0.113.7", ""),
            (PEER, &[b"203.0.113.5", b"10.0.0.2", b"10.0.0.3"], "203.0.113.5", ""),
            (PEER, &[b"203.0.113.5:4711, 10.0.0.2:80"], "203.0.113.5", ""),
            (PEER, &[b"[2001:db8::1]:443"], "2001:db8::1", ""),
            (PEER, &[b"[2001:db8::1]"], "2001:db8::1", ""),
            (PEER, &[b"2001:db8::1"], "2001:db8::1", ""),
            (PEER, &[b"2001:db8::1.2.3.4"], "2001:db8::102:304", ""),
            (PEER, &[b"::ffff:203.0.113.5"], "203.0.113.5", ""),
            (PEER, &[b"::FFFF:cb00:7105"], "203.0.113.5", ""),
            (PEER, &[b"[::ffff:203.0.113.5]:80"], "203.0.113.5", ""),
            (PEER, &[b"203.0.113.5, ::ffff:10.0.0.2"], "203.0.113.5", ""),
            ("::ffff:10.0.0.1", &[b"203.0.113.5"], "203.0.113.5", ""),
            (PEER, &[b"203.0.113.5, unknown, 10.0.0.2"], "10.0.0.2", "o"),
            (PEER, &[b"unknown, 203.0.113.7"], "203.0.113.7", ""),
            (PEER, &[b"203.0.113.5, , 10.0.0.2"], "203.0.113.5", ""),
            (PEER, &[b"10.0.0.3, 10.0.0.2"], "10.0.0.3", "i"),
            (PEER, &[b"203.0.113.5 10.0.0.2"], PEER, "o"),
            (PEER, &[b"203.0.113.05"], PEER, "o"),
            (PEER, &[b"203.000.113.007"], PEER, "o"),
            (PEER, &[b"203.0.113.5:99999"], PEER, "o"),
            (PEER, &[b"203.0.113.5:"], PEER, "o"),
            (PEER, &[b"203.0.113.5:+80"], PEER, "o"),
            (PEER, &[b"[::1"], PEER, "o"),
            (PEER, &[b"[2001:db8::1]443"], PEER, "o"),
            (PEER, &[b"[203.0.113.5]"], PEER, "o"),
            (PEER, &[b"127.1"], PEER, "o"),
            (PEER, &[b"0x7f.0.0.1"], PEER, "o"),
            (PEER, &[b"foo"], PEER, "o"),
            (PEER, &[b"\xff\xfe"], PEER, "o"),
            (PEER, &["203.0.113.５".as_bytes()], PEER, "o"),
            (PEER, &[b"0.0.0.0"], PEER, "o"),
            (PEER, &[b"::"], PEER, "o"),
            (PEER, &[b"255.255.255.255"], PEER, "o"),
            (PEER, &[b"224.0.0.1"], PEER, "o"),
            (PEER, &[b"ff02::1"], PEER, "o"),
            (PEER, &[b"fe80::1%eth0"], PEER, "o"),
            (PEER, &[b"fe80::1"], PEER, "o"),
            (PEER, &[b"2001:db8::1%eth0"], "2001:db8::1", ""),
            (PEER, &[b"2001:db8::1%25eth0"], "2001:db8::1", ""),
        ],
    );
}

/// Guards against two headers of which the client may break one to be believed in the other.
#[test]
fn only_the_chosen_header_is_read() {
    let trusted = TrustedProxies { who: networks(&["10.0.0.0/8"]), header: ClientHeader::XForwardedFor };
    let mut both = headers("x-forwarded-for", &[b"foo"]);
    both.insert("x-real-ip", HeaderValue::from_static("9.9.9.9"));
    both.insert("forwarded", HeaderValue::from_static("for=9.9.9.9"));
    assert_eq!(trusted.client(PEER.parse().unwrap(), &both), Client::opaque(PEER.parse().unwrap()));
    let client = TrustedProxies::NOBODY.client(PEER.parse().unwrap(), &both);
    assert_eq!(client, Client::untrusted(PEER.parse().unwrap()));
}

/// Guards against a proxy list that names the next proxy as the client.
#[test]
fn a_second_trusted_network_is_walked_as_well() {
    let who = networks(&["10.0.0.9/32", "198.51.100.2/32"]);
    let trusted = TrustedProxies { who, header: ClientHeader::XForwardedFor };
    check(
        &trusted,
        "x-forwarded-for",
        &[
            ("10.0.0.9", &[b"203.0.113.7:41234, 198.51.100.2"], "203.0.113.7", ""),
            ("10.0.0.9", &[b"203.0.113.7, 198.51.100.3"], "198.51.100.3", ""),
        ],
    );
}

/// Guards against a mapped network that trusts nobody, or everybody.
#[test]
fn a_mapped_network_is_the_ipv4_one() {
    let trusted =
        TrustedProxies { who: networks(&["::ffff:10.0.0.0/104"]), header: ClientHeader::XForwardedFor };
    assert!(trusted.trusts("10.1.2.3".parse().unwrap()));
    assert!(trusted.trusts("::ffff:10.1.2.3".parse().unwrap()));
    assert!(!trusted.trusts("11.0.0.1".parse().unwrap()));
}

/// Guards the grammar of RFC 7239: quotes, one `for` each, obfuscated names and ports.
#[test]
fn forwarded_is_split_outside_quotes_only() {
    let trusted = TrustedProxies { who: networks(&["10.0.0.0/8"]), header: ClientHeader::Forwarded };
    check(
        &trusted,
        "forwarded",
        &[
            (PEER, &[br#"for=192.0.2.43, for="[2001:db8:cafe::17]:4711""#], "2001:db8:cafe::17", ""),
            (PEER, &[b"for=192.0.2.43, for=198.51.100.17"], "198.51.100.17", ""),
            (PEER, &[b"for=192.0.2.43", b"for=198.51.100.17, for=10.0.0.2"], "198.51.100.17", ""),
            (PEER, &[br#"For="192.0.2.43:47011""#], "192.0.2.43", ""),
            (PEER, &[b"for=_hidden, for=198.51.100.17"], "198.51.100.17", ""),
            (PEER, &[br#"for="_gazonk""#], PEER, "o"),
            (PEER, &[b"for=unknown"], PEER, "o"),
            (PEER, &[b"proto=https"], PEER, "o"),
            (PEER, &[br#"For="192.0.2.43:_p1";By=10.0.0.1"#], "192.0.2.43", ""),
            (PEER, &[br#"for="1.1.1.1, for=2.2.2.2""#], PEER, "o"),
            (PEER, &[b"for=192.0.2.43:47011"], PEER, "o"),
            (PEER, &[b"for=1.1.1.1;for=2.2.2.2"], PEER, "o"),
            (PEER, &[br#"for="2001:db8::1""#], PEER, "o"),
            (PEER, &[br#"for="1.1.1.1"#], PEER, "o"),
            (PEER, &[br#"for="\1.1.1.1""#], "1.1.1.1", ""),
            (PEER, &[br#"for="1.1.1.1:_""#], PEER, "o"),
            (PEER, &[b" , for=1.1.1.1 , "], "1.1.1.1", ""),
            (PEER, &[br#"by="a\";for=6.6.6.6";for=1.1.1.1"#], "1.1.1.1", ""),
            (PEER, &[b"for=10.0.0.3, for=10.0.0.2"], "10.0.0.3", "i"),
        ],
    );
}

/// Guards against a single-address header that is taken from a stranger, or twice.
#[test]
fn a_single_header_is_one_address_from_a_trusted_peer() {
    let header = ClientHeader::Single(HeaderName::from_static("x-real-ip"));
    let trusted = TrustedProxies { who: networks(&["10.0.0.0/8"]), header };
    check(
        &trusted,
        "x-real-ip",
        &[
            (PEER, &[b"203.0.113.5"], "203.0.113.5", ""),
            (PEER, &[], PEER, ""),
            (PEER, &[b"1.1.1.1", b"203.0.113.5"], PEER, "o"),
            (PEER, &[b"1.1.1.1, 203.0.113.5"], PEER, "o"),
            ("203.0.113.9", &[b"1.1.1.1"], "203.0.113.9", ""),
        ],
    );
}

/// Guards hop counting: the n-th from the right, and the peer when the list is shorter.
#[test]
fn hops_are_counted_from_the_right() {
    let one = TrustedProxies { who: Trust::Hops(1), header: ClientHeader::XForwardedFor };
    check(
        &one,
        "x-forwarded-for",
        &[
            (PEER, &[b"1.1.1.1, 203.0.113.7"], "203.0.113.7", ""),
            (PEER, &[b"1.1.1.1, foo"], PEER, "o"),
            (PEER, &[], PEER, ""),
        ],
    );
    let two = TrustedProxies { who: Trust::Hops(2), header: ClientHeader::XForwardedFor };
    check(
        &two,
        "x-forwarded-for",
        &[
            (PEER, &[b"1.1.1.1, 203.0.113.7, 198.51.100.2"], "203.0.113.7", ""),
            (PEER, &[b"203.0.113.7", b"198.51.100.2"], "203.0.113.7", ""),
            (PEER, &[b"203.0.113.7"], PEER, ""),
        ],
    );
}

/// Guards against a long header that costs more than its right end, or whose cut-off beginning is believed.
#[test]
fn only_the_right_end_of_a_long_list_is_read() {
    let trusted = TrustedProxies { who: networks(&["10.0.0.0/8"]), header: ClientHeader::XForwardedFor };
    let long = format!("203.0.113.5{}", ", 10.0.0.2".repeat(2_000));
    let peer = PEER.parse().unwrap();
    let client = trusted.client(peer, &headers("x-forwarded-for", &[long.as_bytes()]));
    assert_eq!((client.address, client.internal), ("10.0.0.2".parse().unwrap(), true));
    let cut = format!("{}9.9.9.9,{}10.0.0.2", "x".repeat(8_192), " ".repeat(8_170));
    let client = trusted.client(peer, &headers("x-forwarded-for", &[cut.as_bytes()]));
    assert_eq!((client.address, client.opaque_hop), ("10.0.0.2".parse().unwrap(), true));
}

/// Guards against a client that walks its own network, and against prefixes that cut within a byte wrongly.
#[test]
fn addresses_are_cut_to_their_prefix() {
    for (address, ipv4, ipv6, expected) in [
        ("2001:db8:1234:5678:9abc::1", 32, 64, "2001:db8:1234:5678::"),
        ("2001:db8:1234:5678::1.2.3.4", 32, 56, "2001:db8:1234:5600::"),
        ("2001:db8:1234:56ff::1", 32, 57, "2001:db8:1234:5680::"),
        ("2001:db8::1", 32, 128, "2001:db8::1"),
        ("::1", 32, 56, "::"),
        ("203.0.113.77", 32, 64, "203.0.113.77"),
        ("203.0.113.77", 24, 64, "203.0.113.0"),
    ] {
        let cut = aggregate(address.parse().unwrap(), ipv4, ipv6);
        assert_eq!(cut, expected.parse::<IpAddr>().unwrap(), "{address}/{ipv4}/{ipv6}");
    }
}
