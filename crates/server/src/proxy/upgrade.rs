//! Tunnels: once both sides have switched protocols, bytes are carried across and nothing is looked at.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;

use crate::net::{BoxError, TunnelScope};

/// Joins the two sides of an upgraded exchange. The client's side becomes available once the answer is written, so
/// this only starts the work; the listener's scope, where there is one, ends it on shutdown.
pub(crate) fn open(
    client: OnUpgrade,
    upstream: OnUpgrade,
    scope: Option<TunnelScope>,
    place: OwnedSemaphorePermit,
) {
    let tunnel = async move {
        let _place = place;
        if let Err(error) = carry(client, upstream).await {
            tracing::debug!(%error, "a tunnel ended with an error");
        }
    };
    match scope {
        Some(scope) => scope.spawn(tunnel),
        None => drop(tokio::spawn(tunnel)),
    }
}

async fn carry(client: OnUpgrade, upstream: OnUpgrade) -> Result<(), BoxError> {
    let (client, upstream) = tokio::try_join!(client, upstream)?;
    tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(upstream)).await?;
    Ok(())
}
