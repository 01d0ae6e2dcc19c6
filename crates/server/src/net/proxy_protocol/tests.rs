//! Tables of headers a load balancer, or somebody posing as one, may send.

use super::*;

fn complete(source: &str, length: usize) -> Parsed {
    Parsed::Complete { length, source: Some(source.parse().unwrap()) }
}

#[test]
fn version_1_lines_name_their_source() {
    for (line, expected) in [
        ("PROXY TCP4 203.0.113.5 10.0.0.1 4711 443\r\n", "203.0.113.5:4711"),
        ("PROXY TCP6 2001:db8::1 2001:db8::2 4711 443\r\n", "[2001:db8::1]:4711"),
        ("PROXY TCP4 203.0.113.5 10.0.0.1 0 0\r\n", "203.0.113.5:0"),
    ] {
        let with_request = format!("{line}GET / HTTP/1.1\r\n");
        assert_eq!(parse(with_request.as_bytes()).unwrap(), complete(expected, line.len()), "{line:?}");
    }
}

#[test]
fn version_1_unknown_means_the_real_peer_whatever_follows() {
    for line in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 a b c d e f g h\r\n"] {
        let parsed = parse(line.as_bytes()).unwrap();
        assert_eq!(parsed, Parsed::Complete { length: line.len(), source: None }, "{line:?}");
    }
}

#[test]
fn version_1_lines_that_break_a_rule_are_refused() {
    let long = format!("PROXY UNKNOWN {}\r\n", "a".repeat(100));
    for line in [
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 203.0.113.5 10.0.0.1 4711 443\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 4711 443\n",
        "PROXY TCP4 203.0.113.5\r10.0.0.1 4711 443\r\n",
        "PROXY TCP4  203.0.113.5 10.0.0.1 4711 443\r\n",
        "PROXY TCP4 203.0.113.05 10.0.0.1 4711 443\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 04711 443\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 +4711 443\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 65536 443\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 4711\r\n",
        "PROXY TCP4 203.0.113.5 10.0.0.1 4711 443 1\r\n",
        "PROXY TCP4 2001:db8::1 2001:db8::2 4711 443\r\n",
        "PROXY UDP4 203.0.113.5 10.0.0.1 4711 443\r\n",
        "PROXY \r\n",
        long.as_str(),
    ] {
        assert!(parse(line.as_bytes()).is_err(), "{line:?}");
    }
}

/// Builds a version 2 header from its command, family and everything after the length.
fn v2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [V2_SIGNATURE.as_slice(), &[command, family], &length, block].concat()
}

const V4: [u8; 12] = [203, 0, 113, 5, 10, 0, 0, 1, 0x12, 0x67, 1, 187];

#[test]
fn version_2_headers_name_their_source() {
    let plain = v2(0x21, 0x11, &V4);
    assert_eq!(parse(&plain).unwrap(), complete("203.0.113.5:4711", 28));
    let noop = v2(0x21, 0x11, &[V4.as_slice(), &[0x04, 0, 2, 9, 9]].concat());
    assert_eq!(parse(&noop).unwrap(), complete("203.0.113.5:4711", 33));
    let mut v6 = [0; 36];
    v6[..4].copy_from_slice(&[0x20, 1, 0x0d, 0xb8]);
    v6[15] = 1;
    v6[32..34].copy_from_slice(&4711_u16.to_be_bytes());
    assert_eq!(parse(&v2(0x21, 0x21, &v6)).unwrap(), complete("[2001:db8::1]:4711", 52));
}

#[test]
fn version_2_local_and_unspecified_mean_the_real_peer() {
    for header in [v2(0x20, 0x11, &V4), v2(0x20, 0, &[]), v2(0x21, 0, &[1, 2, 3])] {
        let length = header.len();
        assert_eq!(parse(&header).unwrap(), Parsed::Complete { length, source: None });
    }
}

#[test]
fn version_2_headers_that_break_a_rule_are_refused() {
    for (header, fault) in [
        (v2(0x11, 0x11, &V4), "version 1 in the nibble"),
        (v2(0x22, 0x11, &V4), "unknown command"),
        (v2(0x21, 0x12, &V4), "datagrams on a stream"),
        (v2(0x21, 0x31, &[0; 216]), "a Unix socket has no address to limit by"),
        (v2(0x21, 0x11, &V4[..11]), "short addresses"),
        (v2(0x21, 0x11, &[V4.as_slice(), &[4, 0]].concat()), "half an extension"),
        (v2(0x21, 0x11, &[V4.as_slice(), &[4, 0, 9, 1]].concat()), "an extension past the end"),
        (v2(0x21, 0x11, &[V4.as_slice(), &[3, 0, 4, 1, 2, 3, 4]].concat()), "wrong checksum"),
        (v2(0x20, 0x11, &[0; 4081]), "over the cap, seen before the bytes are awaited"),
    ] {
        assert!(parse(&header).is_err(), "{fault}");
    }
}

#[test]
fn a_right_checksum_is_accepted() {
    assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    let mut header = v2(0x21, 0x11, &[V4.as_slice(), &[3, 0, 4, 0, 0, 0, 0]].concat());
    let sum = crc32c(&header).to_be_bytes();
    header[31..].copy_from_slice(&sum);
    assert_eq!(parse(&header).unwrap(), complete("203.0.113.5:4711", 35));
}

#[test]
fn every_proper_prefix_is_partial() {
    let v1 = b"PROXY TCP4 203.0.113.5 10.0.0.1 4711 443\r\n".to_vec();
    for header in [v1, v2(0x21, 0x11, &[V4.as_slice(), &[4, 0, 1, 0]].concat())] {
        for cut in 1..header.len() {
            assert_eq!(parse(&header[..cut]).unwrap(), Parsed::Partial, "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn the_bytes_after_the_header_are_handed_back_however_it_is_cut() {
    let header = v2(0x21, 0x11, &V4);
    let whole = [header.as_slice(), b"GET /"].concat();
    for cut in 1..whole.len() {
        let mut stream = whole[..cut].chain(&whole[cut..]);
        let (source, mut seen) = read_header(&mut stream).await.map(|(s, rest)| (s, rest.to_vec())).unwrap();
        stream.read_to_end(&mut seen).await.unwrap();
        assert_eq!(source, Some("203.0.113.5:4711".parse().unwrap()));
        assert_eq!(seen, b"GET /", "cut at {cut}");
    }
}
