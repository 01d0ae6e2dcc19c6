//! Accepting connections: within the limit, and through errors that pass.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The first pause after running out of file descriptors or memory; doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A listening socket with a limit on the connections held at once.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    permits: Arc<Semaphore>,
    pause: Duration,
}

/// A connection just accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) permit: OwnedSemaphorePermit,
}

impl Listener {
    pub(crate) fn new(socket: TcpListener, max_connections: usize) -> Self {
        let permits = Arc::new(Semaphore::new(max_connections.clamp(1, Semaphore::MAX_PERMITS)));
        Self { socket, permits, pause: FIRST_PAUSE }
    }

    /// Waits for room, then for a connection. Errors are waited out: a listener that gave up on the first shortage of
    /// file descriptors would turn a busy minute into an outage. Dropping the future loses no connection.
    pub(crate) async fn accept(&mut self) -> Accepted {
        loop {
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                // The semaphore is never closed.
                std::future::pending::<()>().await;
                continue;
            };
            match self.socket.accept().await {
                Ok((stream, peer)) => {
                    self.pause = FIRST_PAUSE;
                    return Accepted { stream, peer, permit };
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, pause = ?self.pause, "cannot accept connections, waiting");
                    let pause = self.pause;
                    self.pause = (pause * 2).min(LONGEST_PAUSE);
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

impl Listener {
    /// Closes the socket and returns the connections still in the kernel's backlog, as far as there is room for them.
    pub(crate) fn close(self) -> Vec<Accepted> {
        let mut waiting = Vec::new();
        // Asked of the kernel itself: the runtime may not have been told of them yet.
        let Ok(socket) = self.socket.into_std() else {
            return waiting;
        };
        while let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            let Ok((stream, peer)) = socket.accept() else {
                break;
            };
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            waiting.extend(stream.map(|stream| Accepted { stream, peer, permit }));
        }
        waiting
    }
}

/// Tells whether an error concerns only the connection that was to be accepted, so that the next may be tried at once.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
