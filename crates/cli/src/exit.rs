//! How the command ends: every exit code, in one place.

use std::fmt::Display;
use std::process::ExitCode;

use tidegate_server::app::StartError;

use crate::output;

/// How a command went; the order is that of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// `check` read the file and found problems.
    Problems,
    /// The command could not start, or did not end well: a port is taken, requests were cut off.
    Failed,
    /// The policy file cannot be read, or `serve` cannot run by it.
    Unusable,
    /// What was computed and what was seen contradict each other.
    Disproved,
    /// `loadtest` found nobody who answers where it was to ask.
    Unreachable,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Problems | Self::Failed => 1,
            Self::Unusable => 2,
            Self::Disproved | Self::Unreachable => 3,
        }
    }
}

/// A command that ends early: how, and what its user is told.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// Builds the failure of something that was tried.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { exit: Exit::Failed, message: message.to_string() }
    }

    /// Builds the failure of a policy file.
    pub(crate) fn unusable(message: impl Display) -> Self {
        Self { exit: Exit::Unusable, message: message.to_string() }
    }

    /// Builds the failure of a load test whose target does not answer.
    pub(crate) fn unreachable(message: impl Display) -> Self {
        Self { exit: Exit::Unreachable, message: message.to_string() }
    }

    /// Adds a line of advice.
    pub(crate) fn advise(mut self, advice: impl Display) -> Self {
        self.message = format!("{}\n{advice}", self.message);
        self
    }

    /// Returns what its user is told.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Tells the user, on standard error, and returns how the command ends.
    pub(crate) fn tell(&self) -> Exit {
        output::to_stderr(&format!("error: {}", self.message));
        self.exit
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::failed(error)
    }
}

/// Returns the code of a command's end, having told the user of a failure.
pub(crate) fn code(done: Result<Exit, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| failure.tell()).code().into()
}
