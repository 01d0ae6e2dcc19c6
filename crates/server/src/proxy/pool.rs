//! Connections to the upstream over HTTP/1.1, kept for the next request.
//!
//! There is one upstream, and every request goes this way, so nothing is looked up by a key and no task waits for an answer
//! to end: its connection goes back with its body, which is nearly always the last that was under way on it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tower_service::Service;

use super::body::UpstreamBody;
use super::error::ForwardError;

/// The shortest time between two looks for connections that were unused for too long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// A connection to send requests over.
struct Sender {
    requests: SendRequest<UpstreamBody>,
    /// The task that reads and writes.
    task: AbortHandle,
}

/// The connections to one upstream.
pub(crate) struct Pool {
    connector: HttpConnector,
    upstream: Uri,
    /// Those that are free; the last is the one used most recently.
    unused: Mutex<Vec<Unused>>,
    idle_timeout: Duration,
    max_idle: usize,
    /// How long a request may go on after its answer has ended.
    after_the_answer: Duration,
    /// Tells a request that waits for a new connection that an old one has come back.
    returned: Notify,
    /// A place for each connection that is opened for nobody any more, as many as are kept unused: to an upstream that is slow
    /// to take connections every request would leave one behind.
    left_behind: Arc<Semaphore>,
    is_swept: AtomicBool,
}

struct Unused {
    sender: Sender,
    since: Instant,
}

impl Unused {
    fn is_worn(&self, now: Instant, timeout: Duration) -> bool {
        !self.sender.requests.is_ready() || now.saturating_duration_since(self.since) > timeout
    }
}

/// A connection whose answer is under way; it goes back once that is dropped.
pub(crate) struct Lease {
    sender: Option<Sender>,
    pool: Arc<Pool>,
    /// The request's place among those under way, free again with the connection: of an answer that comes early the request
    /// goes on.
    place: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// Holds a request's place until the connection is free.
    pub(crate) fn holding(mut self, place: OwnedSemaphorePermit) -> Self {
        self.place = Some(place);
        self
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.pool.put_back(sender, self.place.take());
        }
    }
}

impl Pool {
    pub(crate) fn new(
        connector: HttpConnector,
        upstream: Uri,
        (idle_timeout, max_idle): (Duration, usize),
        after_the_answer: Duration,
    ) -> Self {
        Self {
            connector,
            upstream,
            unused: Mutex::default(),
            idle_timeout,
            max_idle,
            after_the_answer,
            returned: Notify::new(),
            left_behind: Arc::new(Semaphore::new(max_idle.min(Semaphore::MAX_PERMITS))),
            is_swept: AtomicBool::new(false),
        }
    }

    /// Sends a request and returns its answer, whose body is to be dropped before the lease.
    ///
    /// Only a request of which nothing was sent is tried again, when the upstream closed a connection just as it was taken up:
    /// anything else could be carried out twice.
    pub(crate) async fn send(
        self: &Arc<Self>,
        mut request: Request<UpstreamBody>,
    ) -> Result<(Response<Incoming>, Lease), ForwardError> {
        loop {
            let (mut sender, is_used) = match self.take() {
                Some(sender) => (sender, true),
                None => self.open_or_take().await?,
            };
            let mut error = match sender.requests.try_send_request(request).await {
                Ok(response) => {
                    let lease = Lease { sender: Some(sender), pool: Arc::clone(self), place: None };
                    return Ok((response, lease));
                }
                Err(error) => error,
            };
            match error.take_message() {
                Some(unsent) if is_used => request = unsent,
                _ => return Err(ForwardError::from(error.into_error())),
            }
        }
    }

    /// Takes the connection that was used most recently, of those that still stand.
    fn take(&self) -> Option<Sender> {
        let now = Instant::now();
        let mut unused = self.unused.lock();
        while let Some(last) = unused.pop() {
            if !last.is_worn(now, self.idle_timeout) {
                return Some(last.sender);
            }
        }
        None
    }

    /// Puts a connection back as soon as it is free. Where the upstream has answered before it had the whole request, that may
    /// go on a while: such a connection must not take the room of one that can be used, and keeps its request's place.
    fn put_back(self: &Arc<Self>, mut sender: Sender, place: Option<OwnedSemaphorePermit>) {
        if sender.requests.is_ready() {
            return self.keep(sender);
        }
        if sender.requests.is_closed() {
            return;
        }
        let (pool, Ok(runtime)) = (Arc::downgrade(self), Handle::try_current()) else { return };
        let most = self.after_the_answer;
        runtime.spawn(async move {
            let _place = place;
            match tokio::time::timeout(most, sender.requests.ready()).await {
                Ok(Ok(())) => {
                    if let Some(pool) = pool.upgrade() {
                        pool.keep(sender);
                    }
                }
                Ok(Err(_)) => {}
                // With the connection goes what the client is still sending, and so its stream.
                Err(_) => sender.task.abort(),
            }
        });
    }

    /// Keeps a connection that is free, if there is room.
    fn keep(&self, sender: Sender) {
        let mut unused = self.unused.lock();
        if unused.len() < self.max_idle {
            unused.push(Unused { sender, since: Instant::now() });
            drop(unused);
            self.returned.notify_one();
        }
    }

    /// Opens a connection, or takes one that comes back meanwhile; tells which by whether it has been used.
    async fn open_or_take(self: &Arc<Self>) -> Result<(Sender, bool), ForwardError> {
        let pool = Arc::clone(self);
        let mut opening = Box::pin(async move { pool.open().await });
        loop {
            tokio::select! {
                biased;
                opened = &mut opening => return opened.map(|sender| (sender, false)),
                () = self.returned.notified() => {}
            }
            if let Some(sender) = self.take() {
                if let Ok(place) = Arc::clone(&self.left_behind).try_acquire_owned() {
                    let pool = Arc::clone(self);
                    // What has begun to open is there for the next request.
                    tokio::spawn(async move {
                        let _place = place;
                        if let Ok(sender) = opening.await {
                            pool.put_back(sender, None);
                        }
                    });
                }
                return Ok((sender, true));
            }
        }
    }

    async fn open(self: &Arc<Self>) -> Result<Sender, ForwardError> {
        let opened = self.connector.clone().call(self.upstream.clone()).await;
        let stream = opened.map_err(|error| ForwardError::connecting(error.into()))?;
        let (requests, connection) =
            handshake(stream).await.map_err(|error| ForwardError::connecting(error.into()))?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a connection to the upstream ended with an error");
            }
        });
        self.sweep_from_now_on();
        Ok(Sender { requests, task: task.abort_handle() })
    }

    /// Closes connections that stay unused, as long as there is a pool.
    fn sweep_from_now_on(self: &Arc<Self>) {
        if self.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let (pool, mut pause) = (Arc::downgrade(self), self.idle_timeout);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause.max(SHORTEST_PAUSE)).await;
                let Some(pool) = pool.upgrade() else { return };
                pause = pool.sweep(Instant::now());
            }
        });
    }

    /// Closes connections that were unused for too long, and returns how long the next one has.
    fn sweep(&self, now: Instant) -> Duration {
        let mut unused = self.unused.lock();
        unused.retain(|unused| !unused.is_worn(now, self.idle_timeout));
        // They stand in the order in which they came back.
        let oldest =
            unused.first().map_or(Duration::ZERO, |first| now.saturating_duration_since(first.since));
        self.idle_timeout.saturating_sub(oldest)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
