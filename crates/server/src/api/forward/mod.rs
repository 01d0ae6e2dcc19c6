//! Forward-auth: proxies ask about a request before they forward it.
//!
//! | route | for | answers |
//! |---|---|---|
//! | `/auth` | Traefik, Caddy, `HAProxy` | 200, or what the gateway would answer the client: 429, 400, 503, a rule's own status |
//! | `/auth/nginx` | nginx, which passes on no other refusal | 200, or 403 with the status to give in `X-RateLimit-Status` |
//!
//! Any method asks, since proxies differ in theirs: what is decided is the request that header fields tell of, with
//! whatever else the client sent but its body. These fields are believed of trusted proxies alone, and nobody else is
//! answered.
//!
//! A proxy cannot hold a request, so one that would have to wait is refused, and it does not tell how a request went: what
//! counts failures stays charged.

mod answer;
mod door;
mod original;
mod repeats;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use http::request::Parts;
use http_body_util::{Either, Full};
use tidegate::{CheckOptions, Limiter, Snapshot, Span};
use tokio::sync::watch;

use self::answer::Answer;
use self::door::{Door, Turned};
use self::original::Original;
use self::repeats::{Repeats, Telling};
use super::TokenInForce;

/// What both routes share.
#[derive(Debug, Clone)]
pub(super) struct Forward {
    limiter: Limiter,
    door: Arc<Door>,
    repeats: Arc<Repeats>,
}

/// Builds the routes.
pub(super) fn routes(forward: Forward) -> Router {
    Router::new().route("/auth", any(auth)).route("/auth/nginx", any(nginx)).with_state(forward)
}

async fn auth(State(forward): State<Forward>, request: Request) -> Response {
    forward.answer(request.into_parts().0).await.map(Body::new)
}

async fn nginx(State(forward): State<Forward>, request: Request) -> Response {
    answer::for_nginx(auth(State(forward), request).await)
}

impl Forward {
    /// With a token, a call has to bring it in a field of its own ([`door::TOKEN`]).
    pub(super) fn new(limiter: Limiter, token: TokenInForce) -> Self {
        Self { limiter, door: Arc::new(Door::new(token)), repeats: Arc::default() }
    }

    /// Answers a call as the gateway would answer the request it is about.
    pub(super) async fn answer(&self, head: Parts) -> http::Response<Either<Full<Bytes>, Body>> {
        match self.decide(head).await {
            Ok(answer) => answer.response().map(Either::Left),
            Err(turned) => turned.into_response().map(Either::Right),
        }
    }

    /// Decides the request that a call is about.
    ///
    /// # Errors
    /// When the call is itself at fault.
    async fn decide(&self, mut head: Parts) -> Result<Answer, Turned> {
        let in_force = self.limiter.snapshot();
        let peer = self.door.admit(&mut head, in_force.policy())?;
        let original = Original::read(head, peer).map_err(|error| self.door.unreadable(error))?;
        let id = in_force.policy().and_then(|policy| original.id(policy));
        let Some(id) = id else { return Ok(check(&in_force, &original).await) };
        let mut telling = self.repeats.first_or_begin(id, Instant::now(), || begin(in_force, original));
        let told = telling.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        told.map(Arc::unwrap_or_clone).ok_or(Turned::Lost)
    }
}

/// Begins to decide, in a task of its own: a proxy that gives up and asks again finds what was charged meanwhile.
fn begin(in_force: Snapshot, original: Original) -> Telling {
    let (teller, telling) = watch::channel(None);
    tokio::spawn(async move {
        let answer = check(&in_force, &original).await;
        // Nobody may be waiting any more.
        let _ = teller.send(Some(Arc::new(answer)));
    });
    telling
}

async fn check(in_force: &Snapshot, original: &Original) -> Answer {
    let options = CheckOptions { max_delay: Span::ZERO, ..CheckOptions::default() };
    let verdict = in_force.check_with(&original.request(), None, options).await;
    Answer::of(&verdict, in_force.policy())
}
