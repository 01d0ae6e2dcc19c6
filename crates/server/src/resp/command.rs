//! Which command is meant.

use super::frame::Command;
use super::reply::Reply;
use super::throttle::{Last, Throttle};

/// A command, understood.
#[derive(Debug)]
pub(super) enum Meant {
    /// `CL.THROTTLE`, or what is wrong with its arguments.
    Throttle(Result<Throttle, Reply>),
    /// One about the connection.
    Connection(OfConnection),
    /// One that ends the connection after its reply.
    Quit,
    /// The start of an HTTP request: somebody's page or tool speaks to the wrong port, perhaps on purpose.
    Http,
    /// None that is known.
    Unknown,
}

/// A command about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfConnection {
    Auth,
    Hello,
    Ping,
    Echo,
    Select,
    Client,
    /// What `redis-cli` asks at its start, for the help it shows.
    Command,
    Info,
    Reset,
}

/// The names, in capitals.
const NAMES: [(&str, OfConnection); 9] = [
    ("AUTH", OfConnection::Auth),
    ("HELLO", OfConnection::Hello),
    ("PING", OfConnection::Ping),
    ("ECHO", OfConnection::Echo),
    ("SELECT", OfConnection::Select),
    ("CLIENT", OfConnection::Client),
    ("COMMAND", OfConnection::Command),
    ("INFO", OfConnection::Info),
    ("RESET", OfConnection::Reset),
];

/// Returns what a command means.
pub(super) fn meant(command: &Command, last: &mut Last) -> Meant {
    let Some(name) = command.words.first() else { return Meant::Unknown };
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is("CL.THROTTLE") {
        return Meant::Throttle(Throttle::read(command, last));
    }
    if is("QUIT") {
        return Meant::Quit;
    }
    if let Some((_, of)) = NAMES.iter().find(|(known, _)| is(known)) {
        return Meant::Connection(*of);
    }
    // Whatever the method: `GET /path HTTP/1.1`. A header names the host in every request of a browser.
    let has_version = command.words.get(2).is_some_and(|word| word.starts_with(b"HTTP/"));
    if has_version || is("POST") || is("HOST:") { Meant::Http } else { Meant::Unknown }
}
