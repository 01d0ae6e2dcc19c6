//! Calls of Envoy's rate-limit service over gRPC, several streams on each connection.
//!
//! What a call says is encoded before anything is measured, and of an answer the code is read, and whether it names a limit: the
//! messages here have the numbers of `envoy.service.ratelimit.v3`, and of their members no more than that.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::sync::Mutex;

use super::open;
use super::prebuilt::Prebuilt;
use crate::outcome::{Fault, Odd, Outcome, Said};
use crate::people::Who;
use crate::target::Calls;
use crate::template::Template;

const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// How many streams share a connection. Envoy has one connection a worker, of hundreds of streams; fewer here keep the order of
/// frames from becoming the queue that is measured.
const STREAMS: usize = 16;
/// What stands before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;
const OK: i32 = 1;
const OVER_LIMIT: i32 = 2;

type Sender = SendRequest<Full<Bytes>>;

/// A place that answers gRPC.
#[derive(Debug)]
pub(crate) struct Door {
    to: SocketAddr,
    target: Uri,
    headers: HeaderMap,
    domain: String,
    descriptors: Vec<Vec<(String, Template)>>,
    prebuilt: Prebuilt<Bytes>,
    /// The connections, each shared by [`STREAMS`] places.
    connections: RefCell<Vec<Shared>>,
}

/// A connection, if there is one, or who makes it while the others wait: lest each make one of its own.
type Shared = Rc<Mutex<Option<Sender>>>;

/// A stream's way to its connection.
#[derive(Debug)]
pub(crate) struct Connection(Sender);

impl Connection {
    pub(super) fn is_good(&self) -> bool {
        !self.0.is_closed()
    }
}

#[derive(Clone, PartialEq, Message)]
struct Asked {
    #[prost(string, tag = "1")]
    domain: String,
    #[prost(message, repeated, tag = "2")]
    descriptors: Vec<Descriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct Descriptor {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Answered {
    #[prost(int32, tag = "1")]
    overall_code: i32,
    #[prost(message, repeated, tag = "2")]
    statuses: Vec<Status>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Status {
    #[prost(message, optional, tag = "2")]
    current_limit: Option<Limit>,
}

/// A limit, of which it matters only that it is there.
#[derive(Clone, Copy, PartialEq, Message)]
struct Limit {}

impl Door {
    pub(super) fn new(calls: &Calls, users: u32) -> Result<Self, String> {
        let target = format!("http://{}{METHOD}", calls.place.host());
        let target = target.parse().map_err(|error| format!("{target}: {error}"))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        if let Some(token) = &calls.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        let (domain, descriptors) = (calls.domain.clone(), calls.descriptors.clone());
        let prebuilt = Prebuilt::new(users, |who| Ok(encoded(&domain, &descriptors, who)))?;
        let (to, connections) = (calls.place.address(), RefCell::default());
        Ok(Self { to, target, headers, domain, descriptors, prebuilt, connections })
    }

    /// Returns a way to the connection that a place shares, which is made if there is none.
    pub(super) async fn connect(&self, place: usize) -> Result<Connection, Fault> {
        let shared = self.shared(place / STREAMS);
        let mut kept = shared.lock().await;
        if let Some(sender) = kept.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(Connection(sender.clone()));
        }
        let stream = open(self.to, None).await.map_err(|_| Fault::Connect)?;
        let made = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(|_| Fault::Connect)?;
        tokio::spawn(connection);
        *kept = Some(sender.clone());
        Ok(Connection(sender))
    }

    fn shared(&self, number: usize) -> Shared {
        let mut connections = self.connections.borrow_mut();
        if connections.len() <= number {
            connections.resize_with(number + 1, Shared::default);
        }
        connections.get(number).cloned().unwrap_or_default()
    }

    pub(super) async fn ask(&self, connection: &mut Connection, who: Who) -> Outcome {
        let message = self.prebuilt.of(who).unwrap_or_else(|| encoded(&self.domain, &self.descriptors, who));
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        connection.0.ready().await.map_err(|_| Fault::Reset)?;
        let response = connection.0.send_request(request).await.map_err(|_| Fault::Reset)?;
        if response.status() != StatusCode::OK {
            return Err(Fault::Status(Odd::Http(response.status().as_u16())));
        }
        // An error stands in the header where there is no message, and in the trailer where there is one.
        if let Some(odd) = error(response.headers()) {
            return Err(Fault::Status(odd));
        }
        let body = response.into_body().collect().await.map_err(|_| Fault::Reset)?;
        if let Some(odd) = body.trailers().and_then(error) {
            return Err(Fault::Status(odd));
        }
        let body = body.to_bytes();
        said(body.get(PREFIX..).unwrap_or_default())
    }
}

/// Reads what an answer says. One that names no limit was decided by none, or by one that is not disclosed.
fn said(answer: &[u8]) -> Outcome {
    let answered = Answered::decode(answer).map_err(|_| Fault::Status(Odd::Unread))?;
    match answered.overall_code {
        OK if answered.statuses.iter().all(|status| status.current_limit.is_none()) => Ok(Said::Unlimited),
        OK => Ok(Said::Admitted),
        OVER_LIMIT => Ok(Said::Refused),
        _ => Err(Fault::Status(Odd::Unread)),
    }
}

fn error(fields: &HeaderMap) -> Option<Odd> {
    let status = fields.get("grpc-status").filter(|status| status.as_bytes() != b"0")?;
    Some(status.to_str().ok().and_then(|status| status.parse().ok()).map_or(Odd::Unread, Odd::Grpc))
}

fn encoded(domain: &str, descriptors: &[Vec<(String, Template)>], who: Who) -> Bytes {
    let entry = |(key, value): &(String, Template)| Entry { key: key.clone(), value: value.of(who) };
    let descriptor =
        |entries: &Vec<(String, Template)>| Descriptor { entries: entries.iter().map(entry).collect() };
    let asked =
        Asked { domain: domain.to_owned(), descriptors: descriptors.iter().map(descriptor).collect() };
    let length = asked.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // The buffer grows: there is room for it.
    let _ = asked.encode(&mut bytes);
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinSet, LocalSet};

    use super::*;

    /// Guards against a test of a domain that no rule is about: of several descriptors one with a limit is enough.
    #[test]
    fn an_answer_that_names_no_limit_is_told_from_one_that_does() {
        let answer = |overall_code, limits: &[bool]| {
            let status = |is_limited: &bool| Status { current_limit: is_limited.then_some(Limit {}) };
            let statuses = limits.iter().map(status).collect();
            said(&Answered { overall_code, statuses }.encode_to_vec())
        };
        assert_eq!(answer(OK, &[false, false]), Ok(Said::Unlimited));
        assert_eq!(answer(OK, &[false, true]), Ok(Said::Admitted));
        assert_eq!(answer(OVER_LIMIT, &[false]), Ok(Said::Refused), "undisclosed");
        assert_eq!(answer(0, &[]), Err(Fault::Status(Odd::Unread)));
    }

    /// Guards against a shape of load that nobody asked for: after a server has closed a connection, all streams that shared it want
    /// another at once.
    #[test]
    fn streams_that_connect_at_once_share_one_connection() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        let place = tidegate_trials::Place::of(&url, None).unwrap();
        let calls = Calls { place, domain: "a".to_owned(), descriptors: Vec::new(), token: None };
        let door = Rc::new(Door::new(&calls, 1).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let mut streams = JoinSet::new();
            for place in 0..=STREAMS {
                let door = Rc::clone(&door);
                streams.spawn_local(async move { door.connect(place).await.is_ok() });
            }
            assert!(streams.join_all().await.into_iter().all(|connected| connected));
        });
        let accepted = server.incoming().take_while(Result::is_ok).count();
        assert_eq!(accepted, 2, "one for the first {STREAMS}, and one for the next");
    }
}
