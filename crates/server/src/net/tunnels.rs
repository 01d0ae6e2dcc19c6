//! Upgraded connections: they leave HTTP behind, but not the listener's count nor its shutdown.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// All tunnels of a listener.
#[derive(Clone, Debug)]
pub(crate) struct Tunnels {
    tasks: TaskTracker,
    closing: CancellationToken,
    cut: Arc<AtomicUsize>,
}

impl Tunnels {
    /// Tunnels that end with `listener` at the latest.
    pub(crate) fn new(listener: &CancellationToken) -> Self {
        Self { tasks: TaskTracker::new(), closing: listener.child_token(), cut: Arc::default() }
    }

    /// Returns the right to open tunnels on one connection, which keeps the connection's permit while any is open.
    pub(crate) fn scope(&self, permit: OwnedSemaphorePermit) -> TunnelScope {
        TunnelScope(Arc::new(Scope { tunnels: self.clone(), _permit: permit }))
    }

    /// Closes all tunnels and returns how many were still open.
    pub(crate) async fn close(&self) -> usize {
        self.tasks.close();
        self.closing.cancel();
        self.tasks.wait().await;
        self.cut.load(Ordering::Relaxed)
    }
}

/// The right to turn the connection a request came in on into a tunnel; the listener puts it into the request's
/// extensions. A tunnel keeps its place among the listener's connections, and is closed when the listener has drained.
#[derive(Clone, Debug)]
pub struct TunnelScope(Arc<Scope>);

#[derive(Debug)]
struct Scope {
    tunnels: Tunnels,
    _permit: OwnedSemaphorePermit,
}

impl TunnelScope {
    /// Runs a tunnel to its end, or until the listener has drained, when it is dropped.
    pub fn spawn(self, tunnel: impl Future<Output = ()> + Send + 'static) {
        let scope = self.0;
        let tasks = scope.tunnels.tasks.clone();
        let closing = scope.tunnels.closing.child_token();
        tasks.spawn(async move {
            tokio::select! {
                biased;
                () = tunnel => {}
                () = closing.cancelled() => {
                    scope.tunnels.cut.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
}
