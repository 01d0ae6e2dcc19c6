//! A connection that is kept: made anew whenever it goes, by one task, with growing pauses.

mod dial;
mod pause;

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use tokio::sync::{mpsc, watch};

pub(crate) use dial::{Dialer, Target};
pub(crate) use pause::Pause;

use crate::error::{Failure, NoConnection};
use crate::measures::{Counters, Event};

/// A connection that lasted so long was a good one: the next pause is short again.
const GOOD: Duration = Duration::from_secs(1);

/// The keeper's side of a connection, seen by those who use it.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    state: watch::Receiver<State>,
    lost: mpsc::UnboundedSender<u64>,
}

/// A connection that is up, with its number.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) connection: MultiplexedConnection,
    number: u64,
}

#[derive(Clone)]
enum State {
    /// The first connection is being made.
    First,
    Up(Live),
    /// There is none, and why.
    Down(Arc<NoConnection>),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::First => f.write_str("First"),
            Self::Up(live) => write!(f, "Up({})", live.number),
            Self::Down(no) => write!(f, "Down({})", no.why),
        }
    }
}

impl Link {
    /// Begins to keep a connection; the task ends when the last clone of the link is gone.
    pub(crate) fn keep(dialer: Dialer, counters: Arc<Counters>) -> Self {
        let (sender, state) = watch::channel(State::First);
        let (lost, losses) = mpsc::unbounded_channel();
        let keeper = Keeper { dialer, counters, state: sender, losses };
        tokio::spawn(keeper.run());
        Self { state, lost }
    }

    /// Returns the connection, waiting for it only while the very first is being made.
    pub(crate) async fn live(&self) -> Result<Live, Failure> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !matches!(state, State::First)).await;
        match settled.as_deref() {
            Ok(State::Up(live)) => Ok(live.clone()),
            Ok(State::Down(why)) => Err(NoConnection::clone(why).into()),
            Ok(State::First) | Err(_) => Err(Failure::unreachable("the store has been dropped")),
        }
    }

    /// Says that a connection is of no use any more.
    pub(crate) fn lost(&self, live: &Live) {
        // A keeper that is gone keeps nothing.
        let _ = self.lost.send(live.number);
    }
}

struct Keeper {
    dialer: Dialer,
    counters: Arc<Counters>,
    state: watch::Sender<State>,
    losses: mpsc::UnboundedReceiver<u64>,
}

impl Keeper {
    async fn run(mut self) {
        let (mut number, mut pause) = (0, Pause::default());
        loop {
            let unused = self.state.clone();
            let dialled = tokio::select! {
                dialled = self.dialer.dial() => dialled,
                () = unused.closed() => return,
            };
            match dialled {
                Ok((connection, gone)) => {
                    number += 1;
                    self.counters.happened(Event::Connected, 1);
                    tracing::debug!(server = %self.dialer.target(), "connected");
                    let began = Instant::now();
                    self.state.send_replace(State::Up(Live { connection, number }));
                    if !self.until_lost(number, gone).await {
                        return;
                    }
                    self.state.send_replace(State::Down(Arc::new("the connection was lost".into())));
                    if began.elapsed() >= GOOD {
                        pause = Pause::default();
                    }
                }
                Err(no) => {
                    tracing::debug!(server = %self.dialer.target(), why = %no.why, "no connection");
                    self.state.send_replace(State::Down(Arc::new(no)));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause.next()) => {}
                () = unused.closed() => return,
            }
        }
    }

    /// Waits until a connection is lost; returns `false` when nobody uses it any more.
    async fn until_lost(&mut self, number: u64, mut gone: mpsc::UnboundedReceiver<redis::PushInfo>) -> bool {
        loop {
            tokio::select! {
                // The library tells of an end that nobody waits for an answer to notice.
                push = gone.recv() => if push.is_none_or(|push| push.kind == redis::PushKind::Disconnection) {
                    return true;
                },
                lost = self.losses.recv() => match lost {
                    Some(lost) if lost == number => return true,
                    Some(_) => {}
                    None => return false,
                },
                () = self.state.closed() => return false,
            }
        }
    }
}
