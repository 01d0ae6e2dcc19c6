//! Why a store could not answer, asked by questions.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A store that did not answer.
///
/// What matters to a caller is whose fault it is and whether the batch may have been charged all the same: an
/// operation of unknown outcome is neither repeated nor refunded.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: Kind,
    may_have_counted: bool,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Timeout,
    Unavailable,
    Rejected,
}

impl StoreError {
    /// Builds the error of a store that did not answer in time; the batch may have been charged unless
    /// [`StoreError::not_counted`] says otherwise.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(Kind::Timeout, true, message)
    }

    /// Builds the error of a store that cannot be reached; nothing was charged unless
    /// [`StoreError::perhaps_counted`] says otherwise.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, false, message)
    }

    /// Builds the error of a store that answered, but not with a decision; nothing was charged unless
    /// [`StoreError::perhaps_counted`] says otherwise.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::new(Kind::Rejected, false, message)
    }

    fn new(kind: Kind, may_have_counted: bool, message: impl Into<String>) -> Self {
        Self { kind, may_have_counted, message: message.into(), source: None }
    }

    /// Returns the same, known to have charged nothing.
    pub fn not_counted(self) -> Self {
        Self { may_have_counted: false, ..self }
    }

    /// Returns the same, which may have charged.
    pub fn perhaps_counted(self) -> Self {
        Self { may_have_counted: true, ..self }
    }

    /// Returns the same with the error that led to it.
    pub fn because(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Returns whether the store did not answer in time.
    pub fn is_timeout(&self) -> bool {
        self.kind == Kind::Timeout
    }

    /// Returns whether the store could not be reached or is not ready.
    pub fn is_unavailable(&self) -> bool {
        self.kind == Kind::Unavailable
    }

    /// Returns whether the batch may have been charged although there is no answer.
    pub fn may_have_counted(&self) -> bool {
        self.may_have_counted
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Timeout => "the store did not answer in time",
            Kind::Unavailable => "the store cannot be reached",
            Kind::Rejected => "the store refused the operation",
        };
        let counted = if self.may_have_counted { " (it may have counted)" } else { "" };
        write!(f, "{what}: {}{counted}", self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
