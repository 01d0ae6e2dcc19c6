//! Whom a load test asks: a gateway, a decision API, a rate-limit service as Envoy asks it, or a store.

use std::fmt;
use std::sync::Arc;

use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tidegate_algorithms::Quota;
use tidegate_store::MemoryStore;
use tidegate_trials::{Place, PlaceError};

use crate::template::Template;

/// A limiter, and how it is asked.
#[derive(Debug, Clone)]
pub enum Target {
    /// An HTTP service behind a limiter: 429 is a refusal.
    Gateway(Requests),
    /// A decision API, which answers with a verdict in JSON.
    Api(Requests),
    /// Envoy's rate-limit service, version 3, over gRPC.
    Envoy(Calls),
    /// A memory store in this very process.
    Memory(Arc<MemoryStore>, Quota),
    /// A store in a Redis.
    Redis(RedisPlace, Quota),
}

/// Requests over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Where they go.
    pub place: Place,
    /// Their method.
    pub method: Method,
    /// Their path with its query.
    pub path: Template,
    /// Fields that all have.
    pub headers: HeaderMap,
    /// A field that says who asks.
    pub key_header: Option<(HeaderName, Template)>,
    /// Their body.
    pub body: Option<Template>,
    /// Whether each user sends from an address of his own.
    pub by_address: bool,
}

/// Calls over gRPC.
#[derive(Debug, Clone)]
pub struct Calls {
    /// Where they go.
    pub place: Place,
    /// The domain they are about.
    pub domain: String,
    /// Their descriptors, each the entries in order.
    pub descriptors: Vec<Vec<(String, Template)>>,
    /// The token that each carries.
    pub token: Option<HeaderValue>,
}

/// A Redis.
#[derive(Debug, Clone)]
pub struct RedisPlace {
    /// Where it is.
    pub place: Place,
    /// Its host as the store connects to it.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// A target as it is written, before it is known how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `http://host:port/path`.
    Gateway(Place, String),
    /// `api+http://host:port`.
    Api(Place),
    /// `grpc://host:port`.
    Envoy(Place),
    /// `memory:`.
    Memory,
    /// `redis://host:port`.
    Redis(Place),
}

/// What a target is written like.
const FORMS: &str = "write http://127.0.0.1:8080/path for a gateway, api+http://127.0.0.1:8081 for a decision API, \
                     grpc://127.0.0.1:8082 for Envoy's rate-limit service, memory: or redis://127.0.0.1:6379 for a store";

/// What is said of a Redis that wants to know who asks.
pub(crate) const NO_PASSWORDS: &str = "a Redis with a password is not supported by the load test yet; test the gateway before it \
                                       (http://…), whose policy holds the password, or a redis-server without one";

impl Address {
    /// Reads a target; `owned` is the host that whoever tests says is his.
    ///
    /// # Errors
    /// When it is none of the forms, cannot be found, or is on another machine that is not `owned`.
    pub fn read(text: &str, owned: Option<&str>) -> Result<Self, PlaceError> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        let wrong = |why: &str| PlaceError::Url(format!("{text}: {why}; {FORMS}"));
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("it is no target"))?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if scheme == "redis" && authority.contains('@') {
            // The text holds a password, which is not for a log.
            return Err(PlaceError::Url(format!("redis://…@: {NO_PASSWORDS}")));
        }
        let authority: Authority = authority.parse().map_err(|_| wrong("its host is none"))?;
        let place = |port| {
            Place::at(&authority, port, owned).map_err(|error| match error {
                PlaceError::Url(why) => wrong(&why),
                other => other,
            })
        };
        let bare = || if matches!(path, "" | "/") { Ok(()) } else { Err(wrong("it has no path")) };
        match scheme {
            "http" => {
                let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
                Ok(Self::Gateway(place(80)?, path))
            }
            "api+http" => bare().and(Ok(Self::Api(place(8081)?))),
            "grpc" => bare().and(Ok(Self::Envoy(place(8082)?))),
            "redis" => bare().and(Ok(Self::Redis(place(6379)?))),
            "https" | "rediss" | "grpcs" | "api+https" => Err(wrong(
                "TLS is not spoken, since what it costs would be measured too; name the port without it",
            )),
            _ => Err(wrong("it is no target")),
        }
    }
}

impl Target {
    /// Returns the kind of it: `gateway`, `api`, `rls`, `memory` or `redis`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gateway(_) => "gateway",
            Self::Api(_) => "api",
            Self::Envoy(_) => "rls",
            Self::Memory(..) => "memory",
            Self::Redis(..) => "redis",
        }
    }

    /// Returns whether each user sends from an address of his own.
    pub(crate) fn by_address(&self) -> bool {
        matches!(self, Self::Gateway(requests) if requests.by_address)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(requests) => write!(f, "http://{}{}", requests.place.host(), requests.path),
            Self::Api(requests) => write!(f, "api+http://{}", requests.place.host()),
            Self::Envoy(calls) => write!(f, "grpc://{}", calls.place.host()),
            Self::Memory(..) => f.write_str("memory:"),
            Self::Redis(redis, _) => write!(f, "redis://{}", redis.place.host()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read() {
        let read = |text| Address::read(text, None).unwrap();
        assert!(matches!(read("http://127.0.0.1:8080/a?b=1"), Address::Gateway(_, path) if path == "/a?b=1"));
        assert!(
            matches!(read("http://127.0.0.1"), Address::Gateway(place, path) if path == "/" && place.address().port() == 80)
        );
        assert!(matches!(read("http://127.0.0.1?b"), Address::Gateway(_, path) if path == "/?b"));
        assert!(matches!(read("api+http://[::1]:1/"), Address::Api(place) if place.address().port() == 1));
        assert!(matches!(read("grpc://127.0.0.1"), Address::Envoy(place) if place.address().port() == 8082));
        assert!(matches!(read("redis://127.0.0.1"), Address::Redis(place) if place.address().port() == 6379));
        assert_eq!(read("memory:"), Address::Memory);
    }

    #[test]
    fn what_is_no_target_is_refused_with_what_to_write() {
        for text in [
            "",
            "memory",
            "127.0.0.1:8080",
            "https://127.0.0.1",
            "http://",
            "redis://127.0.0.1/3",
            "api+http://a@127.0.0.1",
            "grpc://127.0.0.1:0",
        ] {
            let error = Address::read(text, None).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:8080/path"), "{text}: {error}");
        }
    }

    /// Guards against a flood on a machine that is somebody else's.
    #[test]
    fn every_form_with_a_host_wants_it_to_be_loopback_or_owned() {
        for scheme in ["http", "api+http", "grpc", "redis"] {
            let text = format!("{scheme}://192.0.2.1:9");
            let error = Address::read(&text, None).unwrap_err().to_string();
            assert!(error.contains("--i-own-this 192.0.2.1"), "{error}");
            assert!(Address::read(&text, Some("192.0.2.1")).is_ok(), "{text}");
        }
    }
}
