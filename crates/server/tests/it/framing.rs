//! Requests that two readers could understand differently: refused, and never sent on.

use crate::support::{Gateway, RawServer, field, soon, status};

/// Requests to be refused, with the status and the fault each stands for. What follows the first request in each is
/// what an attacker would like to have taken for a second one.
const REFUSED: &[(&str, u16, &str)] = &[
    (
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
        400,
        "CL.TE",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
        400,
        "TE.CL",
    ),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "two lengths"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab", 400, "a list of lengths"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400, "a signed length"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400, "a hexadecimal length"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na", 400, "a negative length"),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\na",
        400,
        "a length past 64 bits",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        400,
        "a coding that looks like chunked",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        400,
        "chunked not last",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        501,
        "a coding we cannot undo",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "two codings",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        400,
        "space before the colon",
    ),
    ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "chunks in HTTP/1.0"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400, "a folded line"),
    ("GET / HTTP/1.1\r\n X: b\r\nHost: a\r\n\r\n", 400, "a folded first line"),
    ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400, "a bare LF"),
    ("GET / HTTP/1.1\nHost: a\n\n", 400, "bare LFs throughout"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n", 400, "a bare CR"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 400, "a NUL"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400, "a line without a colon"),
    ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400, "a field without a name"),
    ("GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n", 400, "a name that is no token"),
    ("GET / HTTP/1.1\r\n\r\n", 400, "no Host"),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "two Hosts"),
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "two spaces"),
    ("GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "a target with a space"),
    ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400, "an unknown version"),
    ("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "a target for CONNECT"),
    ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405, "CONNECT"),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n", 417, "an unknown expectation"),
];

#[tokio::test]
async fn ambiguous_requests_are_refused_and_the_connection_closed() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for (request, expected, fault) in REFUSED {
        let mut client = gateway.connect().await;
        client.send(request).await;
        client.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let answer = client.read_to_close().await;
        assert_eq!(status(&answer), *expected, "{fault}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{fault}: {answer}");
    }
    assert!(upstream.is_untouched().await);
}

#[tokio::test]
async fn a_sound_request_before_an_ambiguous_one_is_still_answered() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    let sound = "POST /sound HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    client.send(format!("{sound}{}", REFUSED[0].0)).await;
    let mut server = upstream.accept().await;
    assert!(server.read_head().await.starts_with("POST /sound "));
    server.read_until("0\r\n\r\n").await;
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let answers = client.read_to_close().await;
    assert!(answers.starts_with("HTTP/1.1 200") && answers.contains("HTTP/1.1 400"), "{answers}");
    // The pool goes with the gateway, and with it the connection.
    drop(client);
    soon(gateway.stop()).await.unwrap();
    assert_eq!(server.read_to_close().await.as_str(), "", "nothing of the second request may be sent on");
}

#[tokio::test]
async fn bodies_with_broken_chunks_never_end_well_for_the_upstream() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    for chunk in [
        "x\r\n",
        "-1\r\n",
        "0x1\r\na\r\n",
        "1\na\r\n",
        "1\r\nab\r\n",
        "10000000000000000\r\n",
        "1;\n\r\na\r\n",
    ] {
        let mut client = gateway.connect().await;
        client
            .send(format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"))
            .await;
        let mut server = upstream.accept().await;
        // Whether or not the header was sent on before the fault was seen.
        let body = server.read_to_close().await;
        assert!(
            !body.ends_with("0\r\n\r\n"),
            "{chunk:?}: the upstream must not see a whole body, saw {body:?}"
        );
        let answer = client.read_to_close().await;
        assert!(answer.is_empty() || status(&answer) == 400, "{chunk:?}: {answer}");
    }
}

#[tokio::test]
async fn the_target_names_the_host_when_it_is_a_whole_url() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("GET http://real:8080/p?q HTTP/1.1\r\nHost: other\r\n\r\n").await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert!(head.starts_with("GET /p?q HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "host"), Some("real:8080"));
    assert!(!head.contains("other"), "{head}");
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.read_head().await), 200);
    client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(server.read_head().await.starts_with("OPTIONS * HTTP/1.1\r\n"));
}

#[tokio::test]
async fn twice_the_same_length_is_sent_on_once() {
    let upstream = RawServer::new().await;
    let gateway = Gateway::before(&upstream).await;
    let mut client = gateway.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na").await;
    let mut server = upstream.accept().await;
    let head = server.read_head().await;
    assert_eq!(head.matches("content-length: 1\r\n").count(), 1, "{head}");
    assert_eq!(soon(server.read_exact(1)).await, b"a");
}
