//! Requests over HTTP/1.1, each connection with one under way.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;

use super::open;
use super::prebuilt::Prebuilt;
use crate::outcome::{Fault, Odd, Outcome, Said};
use crate::people::Who;
use crate::target::Requests;
use crate::template::Template;

/// How a verdict of the decision API begins; whatever begins otherwise is read as JSON.
const ALLOWED: &[u8] = br#"{"allowed":true,"#;
const REFUSED: &[u8] = br#"{"allowed":false,"#;
/// How one begins that passes by limits and not for want of a store, and what it says then of the limit that settled the matter,
/// so far from the beginning at most: before it stands nothing of a policy's or a client's.
const BY_LIMITS: &[u8] = br#"{"allowed":true,"ruling":"allow","#;
const BY: &[u8] = br#","limit":"#;
const NONE: &[u8] = b"null,";
const NEAR: usize = 320;

/// A place that answers HTTP.
#[derive(Debug)]
pub(crate) struct Door {
    to: SocketAddr,
    by_address: bool,
    reads_verdicts: bool,
    maker: Maker,
    prebuilt: Prebuilt<Wire>,
}

/// A connection, and the address it comes from.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    from: Option<IpAddr>,
}

/// A request.
#[derive(Debug, Clone)]
struct Wire {
    target: Uri,
    headers: HeaderMap,
    body: Bytes,
}

#[derive(Deserialize)]
struct Verdict {
    allowed: bool,
}

impl Door {
    pub(super) fn new(requests: &Requests, users: u32, reads_verdicts: bool) -> Result<Self, String> {
        let maker = Maker::new(requests)?;
        let prebuilt = Prebuilt::new(users, |who| maker.make(who))?;
        let (to, by_address) = (requests.place.address(), requests.by_address);
        Ok(Self { to, by_address, reads_verdicts, maker, prebuilt })
    }

    fn from(&self, who: Who) -> Option<IpAddr> {
        self.by_address.then(|| who.source())
    }

    pub(super) fn is_good(&self, connection: &Connection, who: Who) -> bool {
        !connection.sender.is_closed() && connection.from == self.from(who)
    }

    pub(super) async fn connect(&self, who: Who) -> Result<Connection, Fault> {
        let from = self.from(who);
        let stream = open(self.to, from).await.map_err(|_| Fault::Connect)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Connect)?;
        // It ends with the target's or the sender's end of it; there is nobody to tell.
        tokio::spawn(connection);
        Ok(Connection { sender, from })
    }

    pub(super) async fn ask(&self, connection: &mut Connection, who: Who) -> Outcome {
        let wire = match self.prebuilt.of(who) {
            Some(wire) => wire,
            None => self.maker.make(who).map_err(|_| Fault::Status(Odd::Unread))?,
        };
        let mut request = Request::new(Full::new(wire.body));
        *request.method_mut() = self.maker.method.clone();
        *request.uri_mut() = wire.target;
        *request.headers_mut() = wire.headers;
        connection.sender.ready().await.map_err(|_| Fault::Reset)?;
        let response = connection.sender.send_request(request).await.map_err(|_| Fault::Reset)?;
        let status = response.status();
        if self.reads_verdicts && status == StatusCode::OK {
            let body = response.into_body().collect().await.map_err(|_| Fault::Reset)?;
            return verdict(&body.to_bytes());
        }
        drain(response.into_body()).await?;
        match status {
            StatusCode::TOO_MANY_REQUESTS if !self.reads_verdicts => Ok(Said::Refused),
            _ if self.reads_verdicts => Err(Fault::Status(Odd::Http(status.as_u16()))),
            _ if status.is_success() || status.is_redirection() => Ok(Said::Admitted),
            _ => Err(Fault::Status(Odd::Http(status.as_u16()))),
        }
    }
}

fn verdict(body: &[u8]) -> Outcome {
    if body.starts_with(BY_LIMITS) && is_by_none(body) {
        Ok(Said::Unlimited)
    } else if body.starts_with(ALLOWED) {
        Ok(Said::Admitted)
    } else if body.starts_with(REFUSED) {
        Ok(Said::Refused)
    } else {
        verdict_of_json(body)
    }
}

fn is_by_none(body: &[u8]) -> bool {
    let near = body.get(..NEAR).unwrap_or(body);
    let at = near.windows(BY.len()).position(|part| part == BY);
    at.and_then(|at| near.get(at + BY.len()..)).is_some_and(|rest| rest.starts_with(NONE))
}

fn verdict_of_json(body: &[u8]) -> Outcome {
    let verdict: Verdict = serde_json::from_slice(body).map_err(|_| Fault::Status(Odd::Unread))?;
    Ok(if verdict.allowed { Said::Admitted } else { Said::Refused })
}

/// Reads a body to its end and keeps nothing of it.
async fn drain(mut body: Incoming) -> Result<(), Fault> {
    while let Some(frame) = body.frame().await {
        frame.map_err(|_| Fault::Reset)?;
    }
    Ok(())
}

/// Makes requests.
#[derive(Debug)]
struct Maker {
    method: Method,
    path: Template,
    headers: HeaderMap,
    key_header: Option<(HeaderName, Template)>,
    body: Option<Template>,
}

impl Maker {
    fn new(requests: &Requests) -> Result<Self, String> {
        let mut headers = requests.headers.clone();
        if !headers.contains_key(HOST) {
            let host = requests.place.host();
            headers.insert(HOST, HeaderValue::from_str(host).map_err(|error| format!("{host}: {error}"))?);
        }
        if requests.body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(Self {
            method: requests.method.clone(),
            path: requests.path.clone(),
            headers,
            key_header: requests.key_header.clone(),
            body: requests.body.clone(),
        })
    }

    fn make(&self, who: Who) -> Result<Wire, String> {
        let path = String::from_utf8_lossy(&self.path.of(who)).into_owned();
        let target = path.parse().map_err(|error| format!("{path} is no path of a URL: {error}"))?;
        let mut headers = self.headers.clone();
        if let Some((name, value)) = &self.key_header {
            let value = HeaderValue::from_bytes(&value.of(who));
            headers.insert(name, value.map_err(|error| format!("the value of {name}: {error}"))?);
        }
        let body = self.body.as_ref().map(|body| Bytes::from(body.of(who))).unwrap_or_default();
        Ok(Wire { target, headers, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a test that measures nothing: of what an API lets pass, it tells whether a limit was asked.
    #[test]
    fn what_passes_by_no_limit_is_told_from_what_passes_by_one() {
        let of = |ruling: &str, limit: &str| {
            verdict(
                format!(r#"{{"allowed":true,"ruling":"{ruling}","denial":null,"limit":{limit},"x":1}}"#)
                    .as_bytes(),
            )
        };
        assert_eq!(of("allow", "null"), Ok(Said::Unlimited));
        assert_eq!(of("allow", r#""web/each""#), Ok(Said::Admitted));
        assert_eq!(of("uncounted", "null"), Ok(Said::Admitted), "a limit that no store counted");
        assert_eq!(verdict(br#"{"allowed":true,"by":"another API"}"#), Ok(Said::Admitted));
    }

    #[test]
    fn a_verdict_is_the_same_by_its_beginning_and_as_json() {
        for body in [
            r#"{"allowed":true,"status":200}"#,
            r#"{"allowed":false,"status":429}"#,
            r#"{"allowed": false}"#,
            r#"{"status":200,"allowed":true}"#,
            r#"{"allowed":"true"}"#,
            "ok",
        ] {
            assert_eq!(verdict(body.as_bytes()), verdict_of_json(body.as_bytes()), "{body}");
        }
        assert_eq!(verdict(br#"{"allowed":false,"x":1}"#), Ok(Said::Refused));
        assert_eq!(verdict(br#"{"x":1,"allowed":true}"#), Ok(Said::Admitted));
        assert_eq!(verdict(b"ok"), Err(Fault::Status(Odd::Unread)));
    }
}
