//! Tidegate as a tower layer.
//!
//! [`LimitLayer`] checks every request by a limiter's policy before the service it wraps sees it. A request that may
//! pass gets its fields and, on a leaky bucket, its slot; one that may not is answered here. The gateway mounts the
//! same layer before a forwarding service.
//!
//! A limit that counts failures only is charged before the service sees the request, and given back once its answer is
//! a success, before the client sees it. Where the service fails, or the client leaves before the answer, the charge
//! stays. Where the service knows that nobody looked at the request, it marks its answer [`NeverForwarded`], and the charge
//! is given back. The fields of an answer that gave back show what remains after it.
//!
//! Limits on the client's address need to know who is connected: whoever accepts connections puts a [`PeerAddr`] into
//! each request's extensions. Without one such a limit sees no key, and the limiter warns of it once. In an axum
//! application:
//!
//! ```no_run
//! use std::net::SocketAddr;
//!
//! use axum::extract::{ConnectInfo, Request};
//! use axum::{Router, middleware, routing};
//! use tidegate::{Limiter, policy_file};
//! use tidegate_tower::{LimitLayer, PeerAddr};
//!
//! async fn tell_peer(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request) -> Request {
//!     request.extensions_mut().insert(PeerAddr(peer.ip()));
//!     request
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = policy_file::parse("policy.yaml", &std::fs::read_to_string("policy.yaml")?)?;
//! let app = Router::new()
//!     .route("/", routing::get(|| async { "hello" }))
//!     .layer(LimitLayer::new(Limiter::from_policy(policy)?))
//!     .layer(middleware::map_request(tell_peer));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! # Ok(())
//! # }
//! ```

mod answer;
mod body;
mod fields;
mod grpc;
mod hold;
mod key;
mod keyed;
mod layer;
mod pace;
mod peer;
mod settle;

pub use answer::{problem_response, refusal};
pub use body::{AnswerBody, ReplayedBody};
pub use fields::answer_fields;
pub use grpc::is_grpc;
pub use key::{Key, OnMissing};
pub use keyed::{KeyedLayer, KeyedService};
pub use layer::{LimitLayer, LimitService, ResolvedClient};
pub use pace::{PaceError, PaceLayer, PaceService};
pub use peer::PeerAddr;
pub use settle::NeverForwarded;
pub use tidegate::policy_file::{HeaderStyle, ResetUnit, TrustedProxies};
