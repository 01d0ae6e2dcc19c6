//! `CL.THROTTLE` for clients that speak a Redis server's protocol, RESP2 or RESP3.
//!
//! Whoever throttles by a module of Redis points the same client here: the command, its arguments and its reply are the
//! same, and the numbers come with each call. What is counted is kept where the policy's limits are, under names of its own.
//!
//! A connection is read in order (`frame`), each command is understood (`command`) and answered (`reply`); throttles that
//! were sent together are asked together (`throttle`), so that a pipeline costs one way to a shared store.

mod command;
mod connection;
mod frame;
mod reply;
mod session;
mod throttle;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate::Limiter;
use tokio::net::TcpListener;

use crate::api::TokenInForce;
use crate::net::{DrainReport, Listener, Signals, serve_each};

/// The most connections at once.
const MAX_CONNECTIONS: usize = 10_000;
/// How long commands under way may take once a stop is asked for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// What all connections share.
#[derive(Debug)]
struct Server {
    limiter: Limiter,
    password: TokenInForce,
    signals: Signals,
    /// Whether an HTTP request has been told of.
    told_of_http: AtomicBool,
}

impl Server {
    fn new(limiter: Limiter, password: TokenInForce) -> Self {
        Self { limiter, password, signals: Signals::default(), told_of_http: AtomicBool::new(false) }
    }

    /// Tells of an HTTP request, the first of them loudly: anybody who reaches the listener can send any number.
    fn tell_of_http(&self, peer: SocketAddr) {
        if self.told_of_http.swap(true, Ordering::Relaxed) {
            tracing::debug!(%peer, "an HTTP request came to the listener for CL.THROTTLE");
        } else {
            tracing::warn!(
                %peer,
                "an HTTP request came to the listener for CL.THROTTLE, and its connection is closed: a health check or a \
                 browser has the wrong port; more of them are logged at debug"
            );
        }
    }
}

/// Serves connections until `shutdown` completes and the commands that were sent have been answered; with a password every
/// connection has to give it first.
pub async fn serve(
    socket: TcpListener,
    limiter: Limiter,
    password: TokenInForce,
    shutdown: impl Future<Output = ()>,
) -> DrainReport {
    let listener = Listener::new(socket, MAX_CONNECTIONS);
    let server = Arc::new(Server::new(limiter, password));
    let run = |accepted| connection::run(accepted, Arc::clone(&server));
    serve_each(listener, run, &server.signals, DRAIN_TIMEOUT, shutdown).await
}
