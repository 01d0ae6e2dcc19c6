//! Who may ask: trusted proxies, with the token where one is demanded.
//!
//! Whoever asks says on whose behalf, about what request, and so uses up quota of anybody's. Where the policy counts hops
//! instead of naming networks, whoever reaches the listener is a hop: on loopback, or with the token.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use http::header::WWW_AUTHENTICATE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;
use tidegate::policy_file::Policy;
use tidegate_tower::PeerAddr;

use super::original::Unreadable;
use crate::api::TokenInForce;
use crate::net::PeerInfo;
use crate::problem::Problem;

/// The field of the token. `Authorization` is the client's own in these calls.
pub(super) static TOKEN: HeaderName = HeaderName::from_static("x-tidegate-token");

/// How long the log keeps quiet about who was turned away once it has told of one: anybody may ask, and often.
const QUIET: Duration = Duration::from_mins(1);

/// The door, and when the log has told who was turned away.
#[derive(Debug)]
pub(super) struct Door {
    token: TokenInForce,
    strangers: Told,
    unreadable: Told,
}

/// When something was last told.
#[derive(Debug, Default)]
struct Told(Mutex<Option<Instant>>);

impl Told {
    /// Returns whether it is to be told again, and takes it as told.
    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock();
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= QUIET);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

/// Why a call is not answered with what becomes of the request.
#[derive(Debug)]
pub(super) enum Turned {
    /// It does not bring the token.
    NoToken,
    /// Nobody knows who asks.
    NoPeer,
    /// Who asks is not trusted.
    Stranger(IpAddr),
    /// It does not say which request it is about.
    Unreadable(Unreadable),
    /// What decides has failed.
    Lost,
}

impl Door {
    pub(super) fn new(token: TokenInForce) -> Self {
        Self { token, strangers: Told::default(), unreadable: Told::default() }
    }

    /// Returns the proxy that asks, and takes the token out of its call.
    ///
    /// # Errors
    /// When whoever asks may not.
    pub(super) fn admit(&self, head: &mut Parts, policy: Option<&Policy>) -> Result<IpAddr, Turned> {
        let brought = self.brings_token(&head.headers);
        head.headers.remove(&TOKEN);
        if !brought {
            return Err(Turned::NoToken);
        }
        let info = head.extensions.get::<PeerInfo>().map(PeerInfo::ip);
        let peer = info.or_else(|| head.extensions.get::<PeerAddr>().map(|peer| peer.0));
        let peer = peer.ok_or(Turned::NoPeer)?;
        if policy.is_some_and(|policy| policy.trusted.trusts(peer)) {
            return Ok(peer);
        }
        if self.strangers.is_due(Instant::now()) {
            tracing::warn!(
                %peer,
                "somebody who is not in trusted_proxies asks about requests and is refused; \
                 if it is your proxy, list it"
            );
        }
        Err(Turned::Stranger(peer))
    }

    /// Returns whether a call has exactly one token, the right one, where one is demanded.
    fn brings_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = self.token.get() else { return true };
        let mut given = headers.get_all(&TOKEN).iter();
        match (given.next(), given.next()) {
            (Some(given), None) => token.is(given.as_bytes()),
            _ => false,
        }
    }

    /// Turns a call away that does not say which request it is about.
    pub(super) fn unreadable(&self, error: Unreadable) -> Turned {
        if self.unreadable.is_due(Instant::now()) {
            tracing::warn!(why = %error, "a proxy asks about a request that cannot be told");
        }
        Turned::Unreadable(error)
    }
}

impl IntoResponse for Turned {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Self::NoToken => {
                let detail = format!(
                    "this API demands a token; let the proxy set `{TOKEN}` to the one in the API's token file"
                );
                (StatusCode::UNAUTHORIZED, detail)
            }
            Self::NoPeer => {
                let detail =
                    "the address that asks is not known; put a PeerAddr into the request's extensions";
                (StatusCode::FORBIDDEN, detail.to_owned())
            }
            Self::Stranger(peer) => {
                let detail = format!(
                    "{peer} is no trusted proxy, and nobody else may ask; if it is your proxy, list it: \
                     `trusted_proxies: [{peer}]`"
                );
                (StatusCode::FORBIDDEN, detail)
            }
            Self::Unreadable(error) => (StatusCode::BAD_REQUEST, error.to_string()),
            Self::Lost => {
                let detail = "the request could not be decided; the log says why";
                (StatusCode::INTERNAL_SERVER_ERROR, detail.to_owned())
            }
        };
        let mut response = Problem::new(status, detail).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Tidegate realm=\"tidegate\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a stranger who keeps the log from telling of the proxy that comes after, and against one that fills it.
    #[test]
    fn who_is_turned_away_is_told_of_once_a_minute() {
        let (told, start) = (Told::default(), Instant::now());
        let after = |secs| told.is_due(start + Duration::from_secs(secs));
        assert_eq!([0, 0, 59, 60, 61, 119, 120].map(after), [true, false, false, true, false, false, true]);
    }
}
