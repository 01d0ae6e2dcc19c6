//! Tidegate as a layer for axum, tonic and any tower service of HTTP requests. Five lines limit one:
//!
//! ```no_run
//! # use axum::{Router, routing};
//! # use std::net::SocketAddr;
//! use tidegate::{Limit, Limiter, Quota, Span};
//! use tidegate_tower::{Key, LimitLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! # let hello = || async { "hello" };
//! let ten_a_minute = Limit::new("per-client", Quota::sliding_counter(10, Span::from_secs(60))?);
//! let limiter = Limiter::in_memory([ten_a_minute])?;
//! let limits = LimitLayer::keyed(limiter, "per-client", Key::client())?;
//! let app = Router::new().route("/", routing::get(hello)).layer(limits);
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`LimitLayer::keyed`] makes a [`KeyedLayer`] for limits built in code: one or several at once, each on a [`Key`] from the
//!   request's head. No body is touched.
//! - [`LimitLayer::new`] makes a layer that decides by a policy file, which may read keys from bodies. The gateway mounts it.
//! - [`PaceLayer`] is for clients: it waits until a request may be sent.
//!
//! A request that may pass gets its fields and, on a leaky bucket, its slot; one that may not is answered here, a gRPC call as
//! gRPC. The repository's `docs/tower.md` begins from nothing and goes through all of it; the crate's examples are an axum
//! service, a tonic server and a reqwest client.
//!
//! A limit that counts failures only is charged before the service sees the request, and given back once its answer is
//! a success, before the client sees it. Where the service fails, or the client leaves before the answer, the charge
//! stays. Where the service knows that nobody looked at the request, it marks its answer [`NeverForwarded`], and the charge
//! is given back. The fields of an answer that gave back show what remains after it. A gRPC call is a success by its own
//! status, in the head or in the trailers; those give back as they pass.
//!
//! Limits on the client's address need to know who is connected: the features `axum` and `tonic` learn it from these servers,
//! `with_peer` from a closure, and otherwise whoever accepts connections puts a [`PeerAddr`] into each request's extensions.
//! Without any of them a policy's limit sees no key, of which the limiter warns once, and a [`Key::client`] answers 500.

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
pub use body::{AnswerBody, BodyRead, ReplayedBody};
pub use fields::answer_fields;
pub use grpc::is_grpc;
pub use key::{Key, OnMissing};
pub use keyed::{KeyedLayer, KeyedService};
pub use layer::{LimitLayer, LimitService, ResolvedClient};
pub use pace::{PaceError, PaceLayer, PaceService};
pub use peer::PeerAddr;
pub use settle::NeverForwarded;
pub use tidegate::policy_file::{BadNetwork, HeaderStyle, ResetUnit, TrustedProxies};

/// The code of the page, tried with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tower.md")]
struct Page;
