//! What became of a request.

/// What a limiter said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// It may pass.
    Admitted,
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
    Status,
}

/// How many kinds of faults there are.
pub(crate) const FAULTS: usize = 4;

impl Fault {
    /// Returns its place among all.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// What became of a request.
pub(crate) type Outcome = Result<Said, Fault>;
