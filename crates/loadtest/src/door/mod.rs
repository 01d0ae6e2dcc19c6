//! Asking a target: one connection, or what stands for one, asks one question at a time.

mod calls;
mod prebuilt;
mod requests;
mod shared;

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};

use crate::outcome::{Fault, Outcome};
use crate::people::Who;
use crate::target::Target;

pub(crate) use shared::LIMIT;

/// A target as one thread asks it.
#[derive(Debug)]
pub(crate) enum Door {
    Requests(requests::Door),
    Calls(calls::Door),
    Shared(shared::Door),
}

/// A connection, kept between questions as long as it is good.
#[derive(Debug)]
pub(crate) enum Connection {
    Requests(requests::Connection),
    Calls(calls::Connection),
    Shared,
}

impl Door {
    /// Prepares what is sent to a target by so many users, each of which waits so long for an answer; a store in this process is
    /// asked without any of it.
    ///
    /// # Errors
    /// In words, when no question can be made.
    pub(crate) fn new(target: &Target, users: u32, timeout: Duration) -> Result<Rc<Self>, String> {
        let door = match target {
            Target::Gateway(requests) => Self::Requests(requests::Door::new(requests, users, false)?),
            Target::Api(requests) => Self::Requests(requests::Door::new(requests, users, true)?),
            Target::Envoy(calls) => Self::Calls(calls::Door::new(calls, users)?),
            Target::Redis(redis, quota) => Self::Shared(shared::Door::new(redis, quota, timeout)?),
            Target::Memory(..) => {
                return Err("a memory store is asked in the thread that measures".to_owned());
            }
        };
        Ok(Rc::new(door))
    }

    /// Returns the connection in a place, for somebody: the one there, if it is good for him, or another. Places that share one
    /// of several streams find it by their number.
    ///
    /// # Errors
    /// When none can be made.
    pub(crate) async fn connection<'c>(
        &self,
        kept: &'c mut Option<Connection>,
        (place, who): (usize, Who),
    ) -> Result<&'c mut Connection, Fault> {
        let good = match (self, &*kept) {
            (Self::Requests(door), Some(Connection::Requests(connection))) => door.is_good(connection, who),
            (_, Some(Connection::Calls(connection))) => connection.is_good(),
            (_, Some(Connection::Shared)) => true,
            _ => false,
        };
        if !good {
            // Closed before the next is made, lest there be one too many.
            *kept = None;
            *kept = Some(match self {
                Self::Requests(door) => Connection::Requests(door.connect(who).await?),
                Self::Calls(door) => Connection::Calls(door.connect(place).await?),
                Self::Shared(door) => {
                    door.ready().await?;
                    Connection::Shared
                }
            });
        }
        kept.as_mut().ok_or(Fault::Connect)
    }

    /// Asks about somebody, and waits for the answer.
    pub(crate) async fn ask(&self, connection: &mut Connection, who: Who) -> Outcome {
        match (self, connection) {
            (Self::Requests(door), Connection::Requests(connection)) => door.ask(connection, who).await,
            (Self::Calls(door), Connection::Calls(connection)) => door.ask(connection, who).await,
            (Self::Shared(door), _) => door.ask(who).await,
            _ => Err(Fault::Connect),
        }
    }

    /// Returns how many calls over the network a store has made.
    pub(crate) fn calls(&self) -> Option<u64> {
        match self {
            Self::Shared(door) => Some(door.calls()),
            _ => None,
        }
    }
}

/// Opens a connection, from an address of this machine if one is given.
async fn open(to: SocketAddr, from: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(from) = from {
        socket.bind(SocketAddr::new(from, 0))?;
    }
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
