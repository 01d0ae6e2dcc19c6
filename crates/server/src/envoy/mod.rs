//! Envoy's rate-limit service, version 3, and the JSON door beside it.

use axum::Router;
use tidegate::Limiter;

use crate::api::TokenInForce;

/// Builds the service over a limiter; with a token every call demands it.
pub fn router(limiter: Limiter, token: TokenInForce) -> Router {
    let _ = (limiter, token);
    Router::new()
}
