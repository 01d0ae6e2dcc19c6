//! What became of a request.

use std::fmt;

/// What a limiter said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// It may pass.
    Admitted,
    /// It may pass, and the answer tells that no limit was asked.
    Unlimited,
    /// It may not.
    Refused,
}

/// Why a request brought no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No connection could be made.
    Connect,
    /// No answer came in time, the wait for a connection among it.
    Timeout,
    /// The connection broke before the answer was whole.
    Reset,
    /// The answer was none that a limiter gives for a decision.
    Status(Odd),
}

/// An answer that is no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Odd {
    /// Of this status.
    Http(u16),
    /// An error of gRPC, by its number.
    Grpc(u16),
    /// What it holds cannot be read.
    Unread,
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(status) => write!(f, "HTTP {status}"),
            Self::Grpc(status) => write!(f, "grpc-status {status}"),
            Self::Unread => f.write_str("an answer that cannot be read"),
        }
    }
}

/// How many kinds of faults there are.
pub(crate) const FAULTS: usize = 4;

impl Fault {
    /// Returns its place among all.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Connect => 0,
            Self::Timeout => 1,
            Self::Reset => 2,
            Self::Status(_) => 3,
        }
    }
}

/// What became of a request.
pub(crate) type Outcome = Result<Said, Fault>;
