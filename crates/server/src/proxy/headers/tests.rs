//! Tables of headers before and after.

use super::*;

fn map(lines: &[(&str, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap()))
        .collect()
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn hop_by_hop_fields_and_those_named_are_taken_out() {
    for (lines, left) in [
        (vec![("Connection", "close"), ("A", "1")], vec!["a"]),
        (vec![("Connection", "x-a, X-B"), ("X-A", "1"), ("X-B", "1"), ("X-C", "1")], vec!["x-c"]),
        (vec![("Connection", "x-a"), ("Connection", "x-b"), ("X-A", "1"), ("X-B", "1")], vec![]),
        (
            vec![
                ("Connection", "host, content-length, x-forwarded-for, trailer, FORWARDED"),
                ("Host", "a"),
                ("Content-Length", "1"),
                ("X-Forwarded-For", "1"),
                ("Trailer", "t"),
                ("Forwarded", "for=a"),
            ],
            vec!["content-length", "forwarded", "host", "trailer", "x-forwarded-for"],
        ),
        (
            vec![("Connection", "\u{0}bad name, ,x-a"), ("X-A", "1")].into_iter().skip(1).collect(),
            vec!["x-a"],
        ),
        (
            vec![
                ("Keep-Alive", "1"),
                ("Proxy-Connection", "1"),
                ("Proxy-Authenticate", "1"),
                ("Proxy-Authorization", "1"),
                ("TE", "gzip"),
                ("Transfer-Encoding", "chunked"),
                ("Upgrade", "x"),
                ("HTTP2-Settings", "x"),
                ("Trailer", "t"),
                ("Authorization", "kept"),
            ],
            vec!["authorization", "trailer"],
        ),
    ] {
        let mut headers = map(&lines);
        strip_hop_by_hop(&mut headers);
        assert_eq!(names(&headers), left, "{lines:?}");
    }
}

#[test]
fn te_stays_only_for_trailers_and_is_named_in_connection() {
    for (te, to_http2, expected) in [
        ("trailers", false, (Some("trailers"), Some("te"))),
        ("gzip, Trailers;q=1", false, (None, None)),
        ("gzip, Trailers", false, (Some("trailers"), Some("te"))),
        ("trailers", true, (Some("trailers"), None)),
        ("gzip", false, (None, None)),
    ] {
        let mut headers = map(&[("TE", te), ("Connection", "TE")]);
        prepare_request(&mut headers, None, to_http2);
        let get = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((get(TE), get(CONNECTION)), expected, "{te}");
    }
}

#[test]
fn only_asked_for_upgrades_of_other_protocols_are_wanted() {
    let (h10, h11, h2) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
    for (version, method, connection, upgrade, expected) in [
        (h11, "GET", "Upgrade", "websocket", Some("websocket")),
        (h11, "GET", "keep-alive, upgrade", "foo/2", Some("foo/2")),
        (h11, "GET", "keep-alive", "websocket", None),
        (h10, "GET", "upgrade", "websocket", None),
        (h2, "GET", "upgrade", "websocket", None),
        (h11, "CONNECT", "upgrade", "websocket", None),
        (h11, "GET", "upgrade", "h2c", None),
        (h11, "GET", "upgrade", "H2C", None),
        (h11, "GET", "upgrade", "HTTP/2.0", None),
        (h11, "GET", "upgrade", "TLS/1.0", None),
        (h11, "GET", "upgrade", "h2c, websocket", Some("websocket")),
    ] {
        let headers = map(&[("Connection", connection), ("Upgrade", upgrade)]);
        let wanted = wanted_upgrade(&Method::try_from(method).unwrap(), version, &headers);
        assert_eq!(
            wanted,
            expected.map(HeaderValue::from_static),
            "{version:?} {method} {connection} {upgrade}"
        );
    }
}

#[test]
fn answers_lose_the_length_they_do_not_have() {
    let mut headers = map(&[("Transfer-Encoding", "chunked"), ("Content-Length", "3"), ("Upgrade", "h2c")]);
    prepare_response(&mut headers, false);
    assert_eq!(names(&headers), Vec::<&str>::new());
    let mut headers =
        map(&[("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Accept", "x")]);
    prepare_response(&mut headers, true);
    assert_eq!(names(&headers), ["connection", "sec-websocket-accept", "upgrade"]);
}

#[test]
fn trailers_cannot_say_what_only_a_header_may() {
    let mut trailers = map(&[
        ("X-Forwarded-For", "1"),
        ("x_real_ip", "1"),
        ("Host", "a"),
        ("Content-Length", "1"),
        ("Digest", "kept"),
    ]);
    clean_trailers(&mut trailers);
    assert_eq!(names(&trailers), ["digest"]);
}

#[test]
fn the_header_agrees_with_the_body_or_the_request_is_not_sent() {
    for (length, has_body, to_http2, expected) in [
        (None, true, false, Some("transfer-encoding: chunked")),
        (None, true, true, Some("")),
        (None, false, false, Some("")),
        (Some("3"), true, false, Some("content-length: 3")),
        (Some("0"), false, false, Some("content-length: 0")),
        (Some("3"), false, false, None),
        (Some("3"), false, true, None),
    ] {
        let mut headers =
            map(&length.map(|length| ("Content-Length", length)).into_iter().collect::<Vec<_>>());
        let agreed = frame_body(&mut headers, has_body, to_http2).then(|| {
            let lines = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            lines.collect::<Vec<_>>().join("|")
        });
        assert_eq!(agreed.as_deref(), expected, "{length:?} {has_body} {to_http2}");
    }
}
