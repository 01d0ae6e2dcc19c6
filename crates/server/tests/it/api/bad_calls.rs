//! Calls at fault: each is answered with what is wrong and what to do, and none takes the service down.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tidegate_server::api::MAX_CALL_BYTES;

use super::check::{VERIFY, verify};
use super::world::{Served, limiter};
use crate::support::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::ServiceExt;

/// The call, the member at fault and a word of the remedy.
fn faulty_members() -> Vec<(Value, &'static str, &'static str)> {
    let many: serde_json::Map<_, _> = (0..129).map(|n| (format!("x-{n}"), json!("1"))).collect();
    let long = "a".repeat(8_193);
    vec![
        (json!({ "pth": "/" }), "pth", "expected one of"),
        (json!({ "path": 7 }), "path", "expected a string"),
        (json!({ "path": "otp" }), "path", "from its slash on"),
        (json!({ "path": "*" }), "path", "from its slash on"),
        (json!({ "path": "/a?b=c" }), "path", "without the query"),
        (json!({ "path": "/a#b" }), "path", "percent-encoded"),
        (json!({ "path": "/a b" }), "path", "percent-encoded"),
        (json!({ "path": "/\u{0}" }), "path", "percent-encoded"),
        (json!({ "path": "/é" }), "path", "percent-encoded"),
        (json!({ "path": format!("/{long}") }), "path", "at most 8192"),
        (json!({ "query": "a b" }), "query", "percent-encoded"),
        (json!({ "query": "a#b" }), "query", "percent-encoded"),
        (json!({ "query": long }), "query", "at most 8192"),
        (json!({ "method": "" }), "method", "GET"),
        (json!({ "method": "P OST" }), "method", "GET"),
        (json!({ "method": "A".repeat(65) }), "method", "64"),
        (json!({ "host": "" }), "host", "a name or address"),
        (json!({ "host": "a b" }), "host", "a name or address"),
        (json!({ "client": "192.0.2.7:80" }), "client", "without a port"),
        (json!({ "client": "localhost" }), "client", "192.0.2.7"),
        (json!({ "headers": [] }), "headers", "an object"),
        (json!({ "headers": many }), "headers", "128"),
        (json!({ "headers": { "": "1" } }), "headers.", "a token"),
        (json!({ "headers": { "a b": "1" } }), "headers.a b", "a token"),
        (json!({ "headers": { "x-a": "1\r\nx-b: 2" } }), "headers.x-a", "none of them a control"),
        (json!({ "headers": { "x-a": long } }), "headers.x-a", "at most 8192"),
        (json!({ "headers": { "x-a": vec!["1"; 17] } }), "headers.x-a", "16 values"),
        (json!({ "headers": { "x-a": 1 } }), "headers.x-a", "a list of strings"),
        (json!({ "body": "a", "body_base64": "YQ==" }), "body_base64", "one of them"),
        (json!({ "body_base64": "YQ" }), "body_base64", "padded"),
        (json!({ "body_base64": "_-8=" }), "body_base64", "standard alphabet"),
        (json!({ "keys": { "acount": "ada" } }), "keys.acount", "account, client"),
        (json!({ "keys": { "account": long } }), "keys.account", "at most 8192"),
        (json!({ "keys": { "account": 7 } }), "keys.account", "expected a string"),
        (json!({ "cost": (1_u64 << 30) + 1 }), "cost", "0 to 1073741824"),
        (json!({ "cost": u64::MAX }), "cost", "0 to 1073741824"),
        (json!({ "cost": -1 }), "cost", "a whole number"),
        (json!({ "cost": 1.5 }), "cost", "a whole number"),
        (json!({ "cost": 1e300 }), "cost", "a whole number"),
        (json!({ "cost": "1" }), "cost", "a whole number"),
        (json!({ "peek": "yes" }), "peek", "expected a boolean"),
        (json!({ "max_delay_ms": 34_560_000_001_u64 }), "max_delay_ms", "0 to 34560000000"),
    ]
}

#[tokio::test]
async fn a_member_at_fault_is_named_with_its_remedy() {
    let api = Served::api(VERIFY).await;
    for (call, member, remedy) in faulty_members() {
        let answer = api.post("/v1/check", call.to_string()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{call} {answer:?}");
        let problem = answer.problem();
        assert_eq!(problem["member"], member, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(remedy), "{problem} should say {remedy:?}");
    }
    assert_eq!(api.check(verify("ada")).await["decisions"][0]["remaining"], 1, "none of them was charged");
}

#[tokio::test]
async fn what_is_not_one_json_object_is_refused() {
    let api = Served::api(VERIFY).await;
    let deep = format!("{{\"headers\":{}", "[".repeat(100_000));
    let bodies: [(&[u8], StatusCode); 12] = [
        (b"", StatusCode::BAD_REQUEST),
        (b"{", StatusCode::BAD_REQUEST),
        (b"{} {}", StatusCode::BAD_REQUEST),
        (b"{'path': '/'}", StatusCode::BAD_REQUEST),
        (b"\xff\xfe{}", StatusCode::BAD_REQUEST),
        (b"{\"path\":\"\xff\"}", StatusCode::BAD_REQUEST),
        (br#"{"path":"\ud800"}"#, StatusCode::BAD_REQUEST),
        (b"{\"cost\":1e999}", StatusCode::BAD_REQUEST),
        (b"\0", StatusCode::BAD_REQUEST),
        (deep.as_bytes(), StatusCode::UNPROCESSABLE_ENTITY),
        (b"[]", StatusCode::UNPROCESSABLE_ENTITY),
        (b"null", StatusCode::UNPROCESSABLE_ENTITY),
    ];
    for (body, status) in bodies {
        for path in ["/v1/check", "/v1/refund"] {
            let answer = api.post(path, body).await;
            let accepted = [status, StatusCode::UNPROCESSABLE_ENTITY];
            assert!(
                accepted.contains(&answer.status),
                "{path} {:?} {answer:?}",
                String::from_utf8_lossy(body)
            );
            answer.problem();
        }
    }
}

#[tokio::test]
async fn a_member_there_twice_is_refused() {
    let api = Served::api(VERIFY).await;
    let twice = [
        r#"{"path":"/a","path":"/b"}"#,
        r#"{"keys":{"account":"a","account":"b"}}"#,
        r#"{"headers":{"x-a":"1","x-a":"2"}}"#,
    ];
    for body in twice {
        assert_eq!(api.post("/v1/check", body).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    }
}

#[tokio::test]
async fn only_json_is_taken() {
    let api = Served::api(VERIFY).await;
    let kinds: [&[(&str, &str)]; 6] = [
        &[],
        &[("content-type", "text/plain")],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "application/json; charset=utf-16")],
        &[("content-type", "application/json"), ("content-type", "application/json")],
        &[("content-type", "application/json"), ("content-encoding", "gzip")],
    ];
    for kind in kinds {
        let request = kind
            .iter()
            .fold(Request::post("/v1/check"), |request, (name, value)| request.header(*name, *value));
        let answer = api.send(request.body(Full::from("{}")).unwrap()).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind:?}");
        assert!(answer.problem()["detail"].as_str().unwrap().contains("send"), "{kind:?}");
    }
    for kind in ["application/json;charset=UTF-8", "Application/JSON", "application/json; charset=\"utf-8\""]
    {
        let request = Request::post("/v1/check").header("content-type", kind);
        let answer = api.send(request.body(Full::from("{}")).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{kind:?}");
    }
}

#[tokio::test]
async fn a_body_past_its_bound_is_refused() {
    let api = Served::api(VERIFY).await;
    let filler = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
    let most = api.post("/v1/check", filler(MAX_CALL_BYTES)).await;
    assert_eq!(most.status, StatusCode::OK);
    let answer = api.post("/v1/check", filler(MAX_CALL_BYTES + 1)).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer.problem()["detail"].as_str().unwrap().contains("1048576"));
}

#[tokio::test]
async fn a_body_without_a_length_is_read_no_further_than_its_bound() {
    let api = Served::api(VERIFY).await;
    let mut socket = TcpStream::connect(api.address).await.unwrap();
    let head = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
    // Two bounds' worth and no end: the answer must come while the body still goes on.
    for _ in 0..32 {
        if soon(socket.write_all(chunk.as_bytes())).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    soon(socket.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

// Time is the test's: it goes on as soon as everybody waits.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let (_sender, body) = http_body_util::channel::Channel::<Bytes>::new(1);
    let request = Request::post("/v1/check").header("content-type", "application/json");
    let router = tidegate_server::api::router(limiter(VERIFY), None);
    let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_call() {
    let (mut sender, body) = http_body_util::channel::Channel::<Bytes, std::io::Error>::new(1);
    sender.send_data(Bytes::from_static(b"{}")).await.unwrap();
    sender.abort(std::io::Error::other("reset"));
    let request = Request::post("/v1/check").header("content-type", "application/json");
    let router = tidegate_server::api::router(limiter(VERIFY), None);
    let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "what came looks whole, and is not");
}
