//! Which requests a limit counts: all, or those that fail.
//!
//! A limit on failures is charged before the request is forwarded and given back once the answer is a success, so
//! that guesses made at once cannot pass unseen.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Which requests a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Count {
    /// Every request.
    Every,
    /// Those whose answer is no success.
    Failures {
        /// What a success looks like.
        success: Success,
        /// What a success does.
        on_success: OnSuccess,
    },
}

/// What a success does to the count of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnSuccess {
    /// It gives back what its own request was charged with.
    Refund,
    /// It forgets all failures of its key.
    Reset,
}

/// What a success looks like: all that is said has to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    /// Statuses, any of them, as closed ranges: `200..=200`, `200..=299`; any status when empty.
    pub statuses: Vec<std::ops::RangeInclusive<u16>>,
    /// A header field of the answer, and the value it has to have, if one is said.
    pub header: Option<(HeaderName, Option<String>)>,
}

impl Success {
    /// Returns whether an answer is a success.
    pub fn covers(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        let status = status.as_u16();
        let status = self.statuses.is_empty() || self.statuses.iter().any(|range| range.contains(&status));
        status
            && self.header.as_ref().is_none_or(|(name, value)| {
                let mut lines = headers.get_all(name).iter();
                // Of a field that says two things one is no success.
                let said = |line: &HeaderValue| {
                    value.as_ref().is_none_or(|value| line.as_bytes() == value.as_bytes())
                };
                headers.contains_key(name) && lines.all(said)
            })
    }
}

impl fmt::Display for Success {
    /// Writes what it looks like: `status 200, 300-399 and x-outcome: ok`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |range: &std::ops::RangeInclusive<u16>| match (range.start(), range.end()) {
            (start, end) if start == end => start.to_string(),
            (start, end) => format!("{start}-{end}"),
        };
        let statuses: Vec<String> = self.statuses.iter().map(range).collect();
        if !statuses.is_empty() {
            write!(f, "status {}", statuses.join(", "))?;
        }
        let Some((name, value)) = &self.header else { return Ok(()) };
        f.write_str(if statuses.is_empty() { "" } else { " and " })?;
        match value {
            Some(value) => write!(f, "{name}: {value}"),
            None => write!(f, "any {name}"),
        }
    }
}
