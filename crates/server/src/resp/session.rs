//! What a connection has said of itself, and the answers to commands about it.

use bytes::Bytes;

use super::command::OfConnection;
use super::frame::Command;
use super::reply::{Reply, Version};
use crate::api::TokenInForce;

/// The user that a password stands for when none is named.
const DEFAULT_USER: &[u8] = b"default";

/// A connection's state.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) version: Version,
    password: TokenInForce,
    /// Whether the password was given.
    known: bool,
}

impl Session {
    pub(super) fn new(password: TokenInForce) -> Self {
        Self { version: Version::Two, password, known: false }
    }

    /// Returns whether the connection may ask.
    pub(super) fn may_ask(&self) -> bool {
        self.known || self.password.get().is_none()
    }

    /// Returns the reply to whoever may not ask yet.
    pub(super) fn not_known() -> Reply {
        Reply::Error("NOAUTH Authentication required.".into())
    }

    /// Answers a command about the connection.
    pub(super) fn answer(&mut self, of: OfConnection, command: &Command) -> Reply {
        let words = &command.words[1..];
        match of {
            OfConnection::Auth => self.auth(words),
            OfConnection::Hello => self.hello(words),
            OfConnection::Reset => {
                (self.version, self.known) = (Version::Two, false);
                Reply::Simple("RESET")
            }
            _ if !self.may_ask() => Self::not_known(),
            OfConnection::Ping => match words {
                [] => Reply::Simple("PONG"),
                [word] => Reply::Bulk(word.clone()),
                _ => wrong_number("ping"),
            },
            OfConnection::Echo => match words {
                [word] => Reply::Bulk(word.clone()),
                _ => wrong_number("echo"),
            },
            OfConnection::Select => match words {
                [number] if number == "0" => Reply::OK,
                [_] => Reply::Error("ERR there is one database here, 0".into()),
                _ => wrong_number("select"),
            },
            OfConnection::Client => client(words),
            OfConnection::Command => Reply::Array(Vec::new()),
            OfConnection::Info => Reply::Bulk(Bytes::from(format!(
                "# Server\r\ntidegate_version:{}\r\n",
                env!("CARGO_PKG_VERSION")
            ))),
        }
    }

    /// `AUTH [user] password`.
    fn auth(&mut self, words: &[Bytes]) -> Reply {
        let (user, password) = match words {
            [password] => (DEFAULT_USER, password),
            [user, password] => (&user[..], password),
            _ => return wrong_number("auth"),
        };
        let Some(wanted) = self.password.get() else {
            let why = "ERR AUTH: no password is demanded here; leave it out, or set `token_file` in the policy's `resp`";
            return Reply::Error(why.into());
        };
        if user == DEFAULT_USER && wanted.is(password) {
            self.known = true;
            return Reply::OK;
        }
        Reply::Error("WRONGPASS invalid username-password pair or user is disabled.".into())
    }

    /// `HELLO [2|3 [AUTH user password] [SETNAME name]]`.
    fn hello(&mut self, words: &[Bytes]) -> Reply {
        let mut version = self.version;
        let mut rest = words;
        if let Some((number, others)) = words.split_first() {
            version = match &number[..] {
                b"2" => Version::Two,
                b"3" => Version::Three,
                _ => return Reply::Error("NOPROTO unsupported protocol version".into()),
            };
            rest = others;
        }
        loop {
            rest = match rest {
                [] => break,
                [option, user, password, others @ ..] if option.eq_ignore_ascii_case(b"AUTH") => {
                    match self.auth(&[user.clone(), password.clone()]) {
                        Reply::Simple(_) => others,
                        refused => return refused,
                    }
                }
                [option, _, others @ ..] if option.eq_ignore_ascii_case(b"SETNAME") => others,
                _ => return Reply::Error("ERR syntax error in HELLO".into()),
            };
        }
        if !self.may_ask() {
            let why =
                "NOAUTH HELLO must be called with the client already authenticated, or with the AUTH option";
            return Reply::Error(why.into());
        }
        self.version = version;
        let number = if version == Version::Two { 2 } else { 3 };
        Reply::Map(vec![
            ("server", Reply::text("tidegate")),
            ("version", Reply::text(env!("CARGO_PKG_VERSION"))),
            ("proto", Reply::Integer(number)),
            ("id", Reply::Integer(0)),
            ("mode", Reply::text("standalone")),
            ("role", Reply::text("master")),
            ("modules", Reply::Array(Vec::new())),
        ])
    }
}

/// What libraries say of themselves when they connect.
fn client(words: &[Bytes]) -> Reply {
    match words {
        [what, ..] if what.eq_ignore_ascii_case(b"SETINFO") || what.eq_ignore_ascii_case(b"SETNAME") => {
            Reply::OK
        }
        [what] if what.eq_ignore_ascii_case(b"GETNAME") => Reply::Null,
        [what] if what.eq_ignore_ascii_case(b"ID") => Reply::Integer(0),
        _ => Reply::Error("ERR CLIENT knows SETINFO, SETNAME, GETNAME and ID here".into()),
    }
}

fn wrong_number(name: &str) -> Reply {
    Reply::Error(format!("ERR wrong number of arguments for '{name}' command").into())
}
