//! Streams of requests, and which of them is the first that must be refused.

use super::*;

/// Feeds a stream in pieces of the given size and returns the first faulty request's number.
fn first_faulty(stream: &[u8], piece: usize) -> Option<u64> {
    let findings = Findings::new();
    let mut watcher = Watcher::new(Arc::clone(&findings));
    for bytes in stream.chunks(piece) {
        watcher.see(bytes);
    }
    Some(findings.first_faulty.load(Ordering::Relaxed)).filter(|&number| number != NONE)
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const CHUNKED: &str =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nab\ncd\r\n0\r\nA: b\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const FIXED: &str = "POST / HTTP/1.1\r\nContent-Length: 9\r\nHost: a\r\n\r\na\nb: c\n\n\n";
const BOTH: &str = "POST / HTTP/1.1\r\nContent-Length: 9\r\ntransfer-encoding:chunked\r\n\r\n0\r\n\r\n";
const BOTH_TURNED: &str =
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n";
const BARE_LF: &str = "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n";

#[test]
fn the_first_faulty_request_is_found_wherever_the_stream_is_cut() {
    let long = format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", "c".repeat(3 * KEPT));
    let long_bare = format!("GET / HTTP/1.1\r\nCookie: {}\n\r\n", "c".repeat(3 * KEPT));
    for (stream, expected) in [
        (GET.to_owned(), None),
        ([GET, CHUNKED, FIXED, GET, &long, GET].concat(), None),
        (format!("\r\n\r\n{GET}\r\n{GET}"), None),
        ([BOTH, GET].concat(), Some(0)),
        ([GET, FIXED, CHUNKED, BOTH].concat(), Some(3)),
        ([CHUNKED, BOTH_TURNED, BOTH].concat(), Some(1)),
        ([FIXED, BARE_LF].concat(), Some(1)),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n".to_owned(), Some(0)),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n".to_owned(), Some(0)),
        ([CHUNKED, &long_bare].concat(), Some(1)),
        // Bodies that hyper reads to their end, and the watcher otherwise: the next request may begin elsewhere.
        (format!("{POST}{}2\r\nab\r\n0\r\n\r\n{GET}", "0".repeat(2 * KEPT)), Some(1)),
        (format!("{POST}0\r\nA: b\n\r\nX: y\r\nContent-Length: 9\r\n\r\n{GET}"), Some(1)),
    ] {
        for piece in [1, 2, 3, 7, 64, stream.len()] {
            assert_eq!(first_faulty(stream.as_bytes(), piece), expected, "{stream:?} in pieces of {piece}");
        }
    }
}

#[test]
fn a_body_that_looks_like_a_faulty_request_is_no_fault() {
    let stream = format!(
        "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BOTH}{BARE_LF}{GET}",
        BOTH.len() + BARE_LF.len()
    );
    assert_eq!(first_faulty(stream.as_bytes(), 5), None);
}

#[test]
fn bytes_that_are_no_http_are_let_be_and_do_not_grow_the_watcher() {
    let findings = Findings::new();
    let mut watcher = Watcher::new(findings);
    watcher.see(&vec![0xAB; 100_000]);
    assert!(watcher.line.capacity() <= 2 * KEPT);
}

#[test]
fn requests_before_the_faulty_one_are_sound() {
    let findings = Findings::new();
    Watcher::new(Arc::clone(&findings)).see([GET, GET, BOTH].concat().as_bytes());
    assert_eq!([(); 3].map(|()| findings.next_is_sound()), [true, true, false]);
}
