//! Envoy's rate-limit service, version 3, and the JSON door beside it.
//!
//! | what | answers |
//! |---|---|
//! | `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit` | `OK` or `OVER_LIMIT`, with what Envoy needs to answer |
//! | `grpc.health.v1.Health` | `NOT_SERVING` once a stop was asked for |
//! | `grpc.reflection.v1` and `v1alpha` | what can be called |
//! | `POST /json` | the same question and answer as JSON, by status: 200, 429, 400, 401, 500 |
//! | `GET /healthcheck` | 200 `OK`, 500 once a stop was asked for |
//!
//! Envoy lets a request pass when it is answered with an error (`failure_mode_deny: false`, which is its default). So a
//! question that can be read is answered, and an error says one of these: that the question makes no sense, that the caller has
//! no token, or, where the policy chose `on_deny: unavailable`, that the store is gone. A key that cannot be read in one way
//! only is answered 400 elsewhere; here it is `OVER_LIMIT`, with a body that says why.

mod answer;
mod decide;
mod guard;
mod health;
pub(crate) mod hits;
mod json;
mod late;
mod message;
mod metadata;
mod question;
mod reflection;
mod status;
mod unary;
mod unit;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::{get, post};
use axum::{BoxError, Router};
use bytes::Bytes;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use http::StatusCode;
use tidegate::policy_file::OnDeny;
use tidegate::{Limiter, Ruling};
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxFuture;
use tonic::server::NamedService;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_server::HealthServer;
use tonic_prost::ProstCodec;
use tower_service::Service;

use crate::api::TokenInForce;
use crate::front;
use crate::problem::with_methods;
use answer::Answer;
use decide::{Terms, decide};
use hits::Hits;
use late::InTime;
use message::Asked;
pub(crate) use question::{MAX_DESCRIPTORS, MAX_ENTRIES, MAX_HITS};
use question::{Nonsense, Question};
use unary::Calls;

/// The service's full name.
const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";
/// The path of its one call.
const CALL: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The most bytes of a question. A longer one is an error, after which Envoy lets pass, and a client may fill a header that
/// stands in every descriptor: 128 of them, each with the 60 KiB of headers that Envoy takes unless it is told otherwise.
const MAX_BYTES: usize = 8 << 20;

/// What answers.
#[derive(Debug, Clone)]
struct Face {
    limiter: Limiter,
    hits: Hits,
    draining: CancellationToken,
    /// Whether the log was told of a question that makes no sense.
    told_of_nonsense: Arc<AtomicBool>,
}

/// Builds the service over a limiter; with a token every call but those about health demands it.
pub fn router(limiter: Limiter, token: TokenInForce, draining: CancellationToken) -> Router {
    service_with(limiter, token, draining, Hits::default()).into_router()
}

/// Builds the service over a limiter, with counters that somebody else shows.
pub(crate) fn service_with(
    limiter: Limiter,
    token: TokenInForce,
    draining: CancellationToken,
    hits: Hits,
) -> front::Face<Calls> {
    let health = HealthServer::new(health::Serving { draining: draining.clone() });
    let standard = reflection::add(with(Router::new(), health));
    let face = Face { limiter, hits, draining, told_of_nonsense: Arc::default() };
    let own = Router::new()
        .route(CALL, post(should_rate_limit))
        .route("/json", post(json::json))
        .route("/healthcheck", get(healthcheck))
        .with_state(face.clone());
    let all = standard.merge(own).fallback(guard::nothing_here);
    let calls = Calls { face: face.into(), token: token.clone() };
    front::Face::new(
        calls,
        with_methods(all.layer(axum::middleware::from_fn_with_state(token, guard::demand))),
    )
}

/// Adds a service of gRPC under its name.
fn with<S>(router: Router, service: S) -> Router
where
    S: Service<HttpRequest, Error = Infallible> + NamedService + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    router.route_service(&format!("/{}/{{*call}}", S::NAME), service)
}

/// Answers the call by gRPC.
async fn should_rate_limit(State(face): State<Face>, request: HttpRequest) -> HttpResponse {
    by_library(face, request).await
}

/// Answers the call by gRPC, in whatever way it was sent.
async fn by_library<B>(face: Face, request: http::Request<B>) -> HttpResponse
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let codec = ProstCodec::<RateLimitResponse, Asked>::default();
    let mut grpc = Grpc::new(codec).apply_max_message_size_config(Some(MAX_BYTES), None);
    grpc.unary(face, request.map(|body| tonic::body::Body::new(InTime::new(body)))).await.map(Body::new)
}

impl UnaryService<Asked> for Face {
    type Response = RateLimitResponse;
    type Future = BoxFuture<Response<RateLimitResponse>, Status>;

    fn call(&mut self, request: Request<Asked>) -> Self::Future {
        let face = self.clone();
        Box::pin(async move {
            face.answer(request.into_inner()).await.map(|answer| Response::new(answer.into_message()))
        })
    }
}

impl Face {
    /// Answers a question under the policy in force at this moment.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a question that makes no sense; `UNAVAILABLE` when the store is gone, a rule denies then, and
    /// the policy wants Envoy to choose.
    async fn answer(&self, asked: Asked) -> Result<Answer, Status> {
        let snapshot = self.limiter.snapshot();
        let policy = snapshot.policy();
        let question = Question::of(asked).map_err(|nonsense| self.turned_away(&nonsense))?;
        let question = Arc::new(question.under(policy));
        let Some(policy) = policy else { return Ok(answer::unlimited(question.descriptors.len())) };
        let decided = decide(&snapshot, &question, Terms::of(policy)).await;
        self.hits.count(&snapshot, &question, &decided);
        let passes_on = policy.envoy.as_ref().is_some_and(|face| face.on_deny == OnDeny::Unavailable);
        if passes_on && *decided.verdict.ruling() == Ruling::StoreDown {
            return Err(Status::unavailable("the limiter's store is unreachable, and a rule denies then"));
        }
        Ok(answer::reply(policy, &decided))
    }

    /// Tells what is wrong with a question; loudly once, since every request of an Envoy that is set up so asks another one.
    fn turned_away(&self, nonsense: &Nonsense) -> Status {
        if self.told_of_nonsense.swap(true, Ordering::Relaxed) {
            tracing::debug!(%nonsense, "Envoy asks what makes no sense");
        } else {
            tracing::warn!(
                %nonsense,
                "Envoy asks what makes no sense, and may let the request pass; more of them are told at debug"
            );
        }
        Status::invalid_argument(nonsense.to_string())
    }
}

async fn healthcheck(State(face): State<Face>) -> (StatusCode, &'static str) {
    if face.draining.is_cancelled() {
        (StatusCode::INTERNAL_SERVER_ERROR, "draining")
    } else {
        (StatusCode::OK, "OK")
    }
}
