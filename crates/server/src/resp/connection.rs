//! One connection: commands in, replies out, in their order.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use futures_util::future::poll_immediate;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::command::{Meant, meant};
use super::frame::{self, Command, MAX_COMMAND, MAX_COMMAND_OF_STRANGER};
use super::reply::Reply;
use super::session::Session;
use super::throttle::{self, Last, Throttle};
use crate::net::{Accepted, Outcome};

/// The most throttles that are asked at once.
const MAX_TOGETHER: usize = 64;
/// How long the rest of a command may take to arrive, or a password on a connection that needs one. Whoever may ask and
/// asks nothing may stay: clients keep connections for later.
const REST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to receive what is written at once.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);
/// Replies are written once there is so much of them, or nothing more to answer.
const ENOUGH: usize = 16 * 1024;
/// The most bytes that are read at once.
const MOST_READ: usize = 16 * 1024;
/// What a connection sets aside to read into.
const ROOM: usize = 4 * 1024;

/// Serves a connection until it ends.
pub(super) async fn run(accepted: Accepted, server: Arc<Server>) -> Outcome {
    let Accepted { stream, permit: _permit, peer } = accepted;
    let _ = stream.set_nodelay(true);
    let mut connection = Connection::new(stream, peer, &server);
    // Of its own, or all would queue for one lock at every wake-up.
    let cut = server.signals.cut.child_token();
    tokio::select! {
        biased;
        ended = connection.serve() => {
            if let Err(error) = ended {
                tracing::debug!(%error, %peer, "a connection broke off");
            }
            Outcome::Ended
        }
        () = cut.cancelled() => Outcome::Cut { requests: 1 },
    }
}

struct Connection<'s, S> {
    stream: S,
    peer: SocketAddr,
    server: &'s Server,
    session: Session,
    arrived: BytesMut,
    /// Whether more has arrived than a connection has room for by itself.
    has_grown: bool,
    replies: BytesMut,
    /// Until when the command that has begun has to be whole, or the password be given.
    patience: Option<Instant>,
    /// Throttles that were read and not yet asked: on different keys, in their order.
    together: Vec<Throttle>,
    last: Last,
    draining: CancellationToken,
}

impl<'s, S: AsyncRead + AsyncWrite + Unpin> Connection<'s, S> {
    fn new(stream: S, peer: SocketAddr, server: &'s Server) -> Self {
        Self {
            stream,
            peer,
            server,
            session: Session::new(server.password.clone()),
            arrived: BytesMut::new(),
            has_grown: false,
            replies: BytesMut::new(),
            patience: None,
            together: Vec::new(),
            last: Last::default(),
            draining: server.signals.draining.child_token(),
        }
    }

    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let goes_on = self.answer_all().await?;
            self.ask().await;
            self.send().await?;
            if !goes_on || !self.read().await? {
                return self.stream.shutdown().await;
            }
        }
    }

    /// Answers every command that has arrived, and returns whether the connection goes on.
    async fn answer_all(&mut self) -> io::Result<bool> {
        loop {
            let most = if self.session.may_ask() { MAX_COMMAND } else { MAX_COMMAND_OF_STRANGER };
            match frame::next(&mut self.arrived, most) {
                Ok(Some(command)) => {
                    if !self.answer(&command).await {
                        return Ok(false);
                    }
                    if self.session.may_ask() {
                        // The next one has its own time, also where its beginning came along with this one.
                        self.patience = None;
                    }
                }
                Ok(None) => return Ok(true),
                Err(bad) => {
                    self.reply(&Reply::Error(format!("ERR {}", bad.0).into())).await;
                    return Ok(false);
                }
            }
            if self.replies.len() >= ENOUGH {
                self.send().await?;
            }
        }
    }

    /// Answers a command, or puts it to those that are asked together; returns whether the connection goes on.
    async fn answer(&mut self, command: &Command) -> bool {
        match meant(command, &mut self.last) {
            Meant::Throttle(_) | Meant::Unknown if !self.session.may_ask() => {
                self.reply(&Session::not_known()).await;
            }
            Meant::Throttle(Ok(throttle)) => {
                // On one key they follow each other.
                let full = self.together.len() >= MAX_TOGETHER;
                if full || self.together.iter().any(|other| other.key == throttle.key) {
                    self.ask().await;
                }
                self.together.push(throttle);
            }
            Meant::Throttle(Err(wrong)) => self.reply(&wrong).await,
            Meant::Connection(of) => {
                self.ask().await;
                let reply = self.session.answer(of, command);
                self.reply(&reply).await;
            }
            Meant::Quit => {
                self.reply(&Reply::OK).await;
                return false;
            }
            Meant::Http => {
                self.server.tell_of_http(self.peer);
                return false;
            }
            Meant::Unknown => {
                let name =
                    command.words.first().map(|name| name.get(..64).unwrap_or(name)).unwrap_or_default();
                let name = name.escape_ascii();
                self.reply(&Reply::Error(
                    format!("ERR unknown command '{name}'; this is a rate limiter, and it knows CL.THROTTLE")
                        .into(),
                ))
                .await;
            }
        }
        true
    }

    /// Appends a reply behind those of the throttles before it.
    async fn reply(&mut self, reply: &Reply) {
        self.ask().await;
        reply.write(self.session.version, &mut self.replies);
    }

    /// Asks the throttles that were put together.
    async fn ask(&mut self) {
        if self.together.is_empty() {
            return;
        }
        let limits = self.server.limiter.snapshot();
        for reply in throttle::answers(&self.together, &limits).await {
            reply.write(self.session.version, &mut self.replies);
        }
        self.together.clear();
    }

    async fn send(&mut self) -> io::Result<()> {
        let mut sending = pin!(self.stream.write_all(&self.replies));
        // Nearly always it is taken at once, and no timer is needed.
        let sent = match poll_immediate(&mut sending).await {
            Some(sent) => Ok(sent),
            None => timeout(SEND_TIMEOUT, sending).await,
        };
        self.replies.clear();
        if self.replies.capacity() > 2 * ENOUGH {
            // One long reply does not keep its room for as long as the connection stands.
            self.replies = BytesMut::new();
        }
        sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Waits for more, and returns whether there is any: not at the end of what the client sends, nor when the listener is
    /// to stop and no command has begun.
    async fn read(&mut self) -> io::Result<bool> {
        if self.arrived.is_empty() && std::mem::take(&mut self.has_grown) {
            // Nor does one long command.
            self.arrived = BytesMut::new();
        }
        self.arrived.reserve(ROOM);
        let begun = !self.arrived.is_empty();
        let waits = begun || !self.session.may_ask();
        // Not anew with every byte that comes.
        self.patience = waits.then(|| self.patience.unwrap_or_else(|| Instant::now() + REST_TIMEOUT));
        let patience = self.patience;
        let run_out = async move {
            match patience {
                Some(until) => sleep_until(until).await,
                None => pending().await,
            }
        };
        let mut room = (&mut self.arrived).limit(MOST_READ);
        tokio::select! {
            read = self.stream.read_buf(&mut room) => {
                let read = read?;
                self.has_grown |= read >= ROOM || begun;
                Ok(read > 0)
            }
            () = self.draining.cancelled(), if !begun => Ok(false),
            () = run_out => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests;
