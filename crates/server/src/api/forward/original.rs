//! The request that a call is about, as the proxy's header fields tell it.
//!
//! Each fact has one value. Where two fields tell it (the proxy sets one and passes on what the client wrote into the other)
//! they have to agree; and where none does, the call's own line stands in for nothing: nginx asks by GET and `HAProxy` by HEAD
//! whatever the client's method is, and rules for POST would never apply.

use std::fmt;
use std::net::IpAddr;

use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use sha2::{Digest, Sha256};
use tidegate::policy_file::{self, Policy};

use super::repeats::RequestId;

// Names that are known need not be read each time a field is looked for.
static METHOD: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-method"), HeaderName::from_static("x-original-method")];
static URI: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-uri"), HeaderName::from_static("x-original-uri")];
static HOST_NAME: [HeaderName; 1] = [HeaderName::from_static("x-forwarded-host")];
/// Where an absolute URI and a field each name a host.
static URI_AND_HOST: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-uri"), HeaderName::from_static("x-forwarded-host")];

/// The longest URI in bytes, as on the listeners.
const MAX_URI: usize = 8 * 1024;
const MAX_METHOD: usize = 64;
const MAX_HOST: usize = 262;
/// The longest name that a proxy gives to a request.
const MAX_ID: usize = 256;

/// Why a call does not say which request it is about.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// Neither field is there.
    Missing(&'static [HeaderName]),
    /// The values differ.
    Conflict(&'static [HeaderName]),
    /// The value is none.
    Unusable(&'static HeaderName, &'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(names) => {
                write!(f, "the call does not say which request it is about: let the proxy set `{}`", names[0])
            }
            Self::Conflict(names) => write!(
                f,
                "`{}` say different things of one request: let the proxy set one, and drop the client's own",
                names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join("` and `")
            ),
            Self::Unusable(name, why) => write!(f, "`{name}` {why}"),
        }
    }
}

/// A request that a proxy asks about.
#[derive(Debug)]
pub(super) struct Original {
    method: Method,
    uri: Uri,
    host: Option<String>,
    headers: HeaderMap,
    peer: IpAddr,
}

impl Original {
    /// Reads the request from a call of `peer`.
    ///
    /// # Errors
    /// When method, URI or host cannot be told.
    pub(super) fn read(head: Parts, peer: IpAddr) -> Result<Self, Unreadable> {
        let headers = head.headers;
        let method = told(&headers, &METHOD)?.ok_or(Unreadable::Missing(&METHOD))?;
        let method = Method::from_bytes(method.as_bytes()).ok().filter(|it| it.as_str().len() <= MAX_METHOD);
        let method = method.ok_or(Unreadable::Unusable(&METHOD[0], "is not a method such as GET"))?;
        let uri = uri(told(&headers, &URI)?.ok_or(Unreadable::Missing(&URI))?)?;
        let named = told(&headers, &HOST_NAME)?.map(host).transpose()?;
        if let (Some(authority), Some(named)) = (uri.authority(), &named)
            && !authority.as_str().eq_ignore_ascii_case(named)
        {
            return Err(Unreadable::Conflict(&URI_AND_HOST));
        }
        let own = || head.uri.authority().map(|authority| authority.as_str().to_owned());
        let field = || headers.get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        let absolute = uri.authority().map(|authority| authority.as_str().to_owned());
        let host = absolute.or(named).or_else(own).or_else(field);
        Ok(Self { method, uri, host, headers, peer })
    }

    /// Returns the request for the policy. It has no body: proxies do not send it along.
    pub(super) fn request(&self) -> policy_file::Request<'_> {
        policy_file::Request {
            method: self.method.as_str(),
            host: self.host.as_deref(),
            path: self.uri.path(),
            query: self.uri.query(),
            headers: &self.headers,
            peer: Some(self.peer),
            body: None,
        }
    }

    /// Returns by what the request is known when it is asked about again, if the policy names a field that says so and the
    /// proxy sets it.
    pub(super) fn id(&self, policy: &Policy) -> Option<RequestId> {
        let name = policy.api.as_ref()?.forward_auth.request_id.as_ref()?;
        let mut given = self.headers.get_all(name).iter();
        let (given, None) = (given.next()?, given.next()) else { return None };
        if given.is_empty() || given.len() > MAX_ID {
            return None;
        }
        let client = policy.trusted.client(self.peer, &self.headers).address;
        let (peer, client, uri) = (self.peer.to_string(), client.to_string(), self.uri.to_string());
        let host = self.host.as_deref().unwrap_or_default();
        let mut digest = Sha256::new();
        let method = self.method.as_str();
        for part in [&*peer, &*client, method, host, &*uri] {
            add(&mut digest, part.as_bytes());
        }
        add(&mut digest, given.as_bytes());
        Some(RequestId(digest.finalize().into()))
    }
}

/// Adds a part with its length, so that no two requests have one text.
fn add(digest: &mut Sha256, part: &[u8]) {
    digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
    digest.update(part);
}

/// Returns the one value that all lines of some fields have, if there is one.
fn told<'a>(
    headers: &'a HeaderMap,
    names: &'static [HeaderName],
) -> Result<Option<&'a HeaderValue>, Unreadable> {
    let mut values = names.iter().flat_map(|name| headers.get_all(name));
    let Some(first) = values.next() else { return Ok(None) };
    if values.any(|other| other != first) {
        return Err(Unreadable::Conflict(names));
    }
    Ok(Some(first))
}

/// Reads path and query, or an absolute form, as our own listeners read a request's target.
fn uri(value: &HeaderValue) -> Result<Uri, Unreadable> {
    let unusable = |why| Unreadable::Unusable(&URI[0], why);
    if value.len() > MAX_URI {
        return Err(unusable("is longer than 8192 bytes"));
    }
    // One reader ends the path there and the next does not.
    if value.as_bytes().contains(&b'#') {
        return Err(unusable("has a fragment, which no request has"));
    }
    let uri = value.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
    let is_target =
        |uri: &Uri| uri.path_and_query().is_some() && (uri.scheme().is_some() || uri.authority().is_none());
    uri.filter(is_target)
        .ok_or(unusable("is not a path with its query as it was sent, such as /search?q=tide"))
}

fn host(value: &HeaderValue) -> Result<String, Unreadable> {
    let text = value.to_str().unwrap_or_default();
    let is_host = !text.is_empty()
        && text.len() <= MAX_HOST
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    if is_host { Ok(text.to_owned()) } else { Err(Unreadable::Unusable(&HOST_NAME[0], "is not one host")) }
}

#[cfg(test)]
mod tests;
