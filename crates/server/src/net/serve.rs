//! The life of a listener: accept, serve, drain.
//!
//! Shutdown loses nothing that was let in. First the kernel's backlog is taken over (those clients have sent their
//! requests in good faith), then the socket is closed; idle connections end, busy ones get `Connection: close` or
//! GOAWAY and finish. What is not done by the deadline is cut and counted. Tunnels have no end of their own, so they
//! are closed last.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::BoxError;
use super::connection::{Connector, Outcome, Signals};
use super::listener::{Accepted, Listener};
use super::options::ServeOptions;
use super::tunnels::Tunnels;

/// What became of a listener's connections when it was shut down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Connections accepted over the listener's life.
    pub accepted: u64,
    /// Connections still busy at the deadline and cut.
    pub connections_cut: usize,
    /// Requests under way on those.
    pub requests_cut: usize,
    /// Tunnels that were open after the requests were done, and closed.
    pub tunnels_closed: usize,
}

/// Serves connections until `shutdown` completes and all of them have ended, or [`ServeOptions::drain_timeout`] is over.
///
/// The service is cloned for every request, waited for until ready, and handed the request with a
/// [`PeerInfo`](super::PeerInfo) in its extensions, and a [`TunnelScope`](super::TunnelScope) where it asks for an upgrade.
/// Dropping the future cuts everything at once.
pub async fn serve<S, B>(
    socket: TcpListener,
    service: S,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> DrainReport
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let drain_timeout = options.drain_timeout;
    let listener = Listener::new(socket, options.max_connections);
    let signals = Arc::new(Signals::default());
    let tunnels = Tunnels::new(&signals.cut);
    let connector = Arc::new(Connector::new(options, Arc::clone(&signals), tunnels.clone()));
    let run = move |accepted| Arc::clone(&connector).run(accepted, service.clone());
    let mut report = serve_each(listener, run, &signals, drain_timeout, shutdown).await;
    report.tunnels_closed = tunnels.close().await;
    tracing::debug!(?report, "the listener has drained");
    report
}

/// Runs every connection until `shutdown` completes and all of them have ended, or the time for draining is over. Dropping the
/// future cuts everything at once.
pub(crate) async fn serve_each<F>(
    mut listener: Listener,
    run: impl Fn(Accepted) -> F,
    signals: &Signals,
    drain_timeout: Duration,
    shutdown: impl Future<Output = ()>,
) -> DrainReport
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let _cut_when_dropped = signals.cut.clone().drop_guard();
    let mut connections = JoinSet::new();
    let mut report = DrainReport::default();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection's task failed");
                }
            }
            accepted = listener.accept() => {
                report.accepted += 1;
                connections.spawn(run(accepted));
            }
        }
    }
    for accepted in listener.close() {
        report.accepted += 1;
        connections.spawn(run(accepted));
    }
    signals.draining.cancel();
    let deadline = tokio::time::sleep(drain_timeout);
    finish(connections, deadline, &signals.cut, &mut report).await;
    report
}

/// Waits for all connections; past the deadline they are told to break off, and what they broke off is counted.
async fn finish(
    mut connections: JoinSet<Outcome>,
    deadline: impl Future<Output = ()>,
    cut: &CancellationToken,
    report: &mut DrainReport,
) {
    let mut deadline = pin!(deadline);
    loop {
        tokio::select! {
            ended = connections.join_next() => match ended {
                None => return,
                Some(Ok(Outcome::Cut { requests })) => {
                    report.connections_cut += 1;
                    report.requests_cut += requests;
                }
                Some(Ok(Outcome::Ended)) => {}
                Some(Err(error)) => tracing::error!(%error, "a connection's task failed"),
            },
            () = &mut deadline, if !cut.is_cancelled() => cut.cancel(),
        }
    }
}
