//! The ways that a call can come by gRPC, and the stores that can decide it: all are answered alike.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;

use bytes::{BufMut as _, Bytes, BytesMut};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use http::{HeaderMap, Request};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use tokio::net::TcpStream;

use super::world::{Filed, World, question, told};
use crate::support::soon;
use crate::tls::Folder;

const RULES: &str = "
keys: { user: { descriptor: user } }
headers: [ ietf, { x-ratelimit: delta } ]
rules:
  - name: login
    match: { domain: shop, descriptor: [ { key: path, value: /login }, user ] }
    limits:
      - { name: each, says: \"Two in any hour, per user.\", key: user, sliding_log: { limit: 2, window: 1h } }
  - name: closed
    match: { domain: shop, descriptor: [ { key: path, value: /closed } ] }
    refuse: { status: 403, because: Not for the public. }
";

/// How a call is sent.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// In one piece, as nearly always.
    Whole,
    /// In two, so that what has been read is read again.
    InPieces,
    /// With a field that only the library knows.
    ByLibrary,
}

/// Returns a message as a call's body has it.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.put_u32(u32::try_from(message.len()).unwrap());
    framed.put_slice(message);
    framed
}

/// The bodies of calls, one after the other: what makes sense, and what does not.
fn bodies() -> Vec<Vec<u8>> {
    let login: &[(&str, &str)] = &[("path", "/login"), ("user", "ada")];
    let closed: &[(&str, &str)] = &[("path", "/closed")];
    let unknown = [("path", "/login"), ("user", "??")];
    let no_text = question("shop", &[&unknown]).encode_to_vec();
    let at = no_text.windows(2).position(|pair| pair == b"??").unwrap();
    let no_text = [&no_text[..at], b"\xff\xfe", &no_text[at + 2..]].concat();
    let login = question("shop", &[login]);
    let mut bodies: Vec<_> = [
        login.clone(),
        login.clone(),
        login.clone(),
        question("shop", &[closed]),
        question("shop", &[&[("path", "/other")], &[("path", "/login"), ("user", "bob")]]),
        question("elsewhere", &[closed]),
        question("", &[closed]),
        question("shop", &[]),
    ]
    .map(|question| framed(&question.encode_to_vec()))
    .into();
    let whole = framed(&login.encode_to_vec());
    bodies.extend([
        framed(&no_text),
        framed(&no_text),
        framed(&[]),
        framed(b"\xff\xff"),
        Vec::new(),
        vec![0, 0],
        whole[..whole.len() - 1].to_vec(),
        [&whole[..], b"\0"].concat(),
        [&whole[..], &whole].concat(),
        [b"\x01", &whole[1..]].concat(),
        [b"\x02", &whole[1..]].concat(),
    ]);
    bodies
}

/// Sends a call and returns what is told of it: the status of gRPC with its message, the fields' names, what became of the
/// descriptors, the fields for the client, and whether there is a body for it.
async fn send(address: SocketAddr, way: Way, body: &[u8]) -> String {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let _connection = tokio::spawn(connection);
    let split = if matches!(way, Way::InPieces) { body.len() / 2 } else { 0 };
    let pieces = [&body[..split], &body[split..]].map(Bytes::copy_from_slice);
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
    let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    let mut request = Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    if matches!(way, Way::ByLibrary) {
        request = request.header("grpc-encoding", "identity");
    }
    let body = StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>()));
    let response = soon(sender.send_request(request.body(body).unwrap())).await.unwrap();
    let (head, body) = response.into_parts();
    let collected = soon(body.collect()).await.unwrap();
    let trailers = collected.trailers().cloned().unwrap_or_default();
    let field = |fields: &HeaderMap, name: &str| fields.get(name).cloned();
    let status = |name| field(&head.headers, name).or_else(|| field(&trailers, name));
    let answer = collected.to_bytes();
    let mut said = format!(
        "{} {:?} {:?} {:?}",
        head.status,
        head.headers.get("content-type"),
        status("grpc-status"),
        status("grpc-message")
    );
    if let Some((&[0, length @ ..], message)) = answer.split_first_chunk::<5>() {
        assert_eq!(usize::try_from(u32::from_be_bytes(length)).unwrap(), message.len());
        let message = RateLimitResponse::decode(BytesMut::from(message)).unwrap();
        let names: Vec<_> = message.response_headers_to_add.iter().map(|it| it.key.as_str()).collect();
        let has_body = !message.raw_body.is_empty();
        write!(said, " {:?} {names:?} {has_body}", told(&message)).unwrap();
    } else {
        assert!(answer.is_empty());
    }
    said
}

/// Guards against a way that is quicker and answers otherwise.
#[tokio::test]
async fn whatever_comes_is_answered_alike_in_every_way_and_by_every_store() {
    let mut answers = Vec::new();
    for way in [Way::Whole, Way::InPieces, Way::ByLibrary] {
        let away = World::by(RULES).await;
        let text = format!("tidegate: 1\nenvoy: {{ listen: 127.0.0.1:0, timeout: 10s }}\n{RULES}");
        let here = Filed::by(Folder::new(&format!("envoy-{way:?}")), &text).await;
        for address in [away.envoy(), here.at.envoy.unwrap()] {
            let mut said = Vec::new();
            for body in bodies() {
                said.push(send(address, way, &body).await);
            }
            answers.push((way, said));
        }
    }
    let (_, first) = &answers[0];
    for (way, said) in &answers {
        for (place, (one, other)) in first.iter().zip(said).enumerate() {
            assert_eq!(one, other, "call {place}, {way:?}");
        }
    }
    let all = first.join("\n");
    for word in ["OverLimit", "(Ok, ", "Some(\"3\")", "Some(\"13\")"] {
        assert!(all.contains(word), "{word}: {all}");
    }
}
