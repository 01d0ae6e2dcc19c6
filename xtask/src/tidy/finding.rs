//! One thing out of order.

use std::fmt;

/// A fault with the place it was seen and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// A file relative to the workspace root, with `:line` where one line is meant.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) fault: String,
    /// What mends it.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(place: impl Into<String>, fault: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.into(), fault: fault.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.fault, self.remedy)
    }
}
