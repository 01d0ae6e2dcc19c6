//! A tonic server whose calls are limited by client. It serves the standard health service.
//!
//! ```sh
//! cargo run -p tidegate-tower --features tonic --example tonic
//! ```
//!
//! A refused call is answered as gRPC: `RESOURCE_EXHAUSTED`, with `grpc-retry-pushback-ms` for clients that retry by
//! themselves.

use std::error::Error;

use tidegate::{Limit, Limiter, Quota, Rate, Span};
use tidegate_tower::{Key, LimitLayer};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Serves it; tonic tells each call who is connected.
pub(crate) async fn run(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let per_client = Quota::token_bucket(3, Rate::new(1, Span::from_secs(10))?)?;
    let limit = Limit::new("per-client", per_client)
        .with_words("You can call three times at once, then once every ten seconds, per client.");
    let limits = LimitLayer::keyed(Limiter::in_memory([limit])?, "per-client", Key::client())?;

    let (_reporter, health) = tonic_health::server::health_reporter();
    let incoming = TcpIncoming::from(listener);
    Ok(Server::builder().layer(limits).add_service(health).serve_with_incoming(incoming).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    run(TcpListener::bind("127.0.0.1:50051").await?).await
}
