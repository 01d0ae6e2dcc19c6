//! Exceptions that an operator makes at run time: other terms for a while, for everybody or for one key.
//!
//! They are laid over a policy that was read from a file and make another policy, so that nothing that decides, reviews or
//! shows knows two kinds. Whether a key is one that terms were made for is told by its name outside the process: no
//! value stands in what is laid over.

mod apply;
mod keyed;
mod scale;
mod standing;

use tidegate_algorithms::Timestamp;

use crate::date::day_before;

pub use apply::{Became, Unfit, overlaid};
pub use keyed::{Overlays, is_identity};
pub use scale::numbers;
pub use standing::Standing;

pub(crate) use keyed::Found;

/// An exception for a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// The limit, `rule/limit`.
    pub limit: String,
    /// The name of the one key it is for, as [`Identities::identity`](crate::Identities::identity) gives it; everybody
    /// without one.
    pub key: Option<String>,
    /// What is different.
    pub set: Set,
    /// Why.
    pub because: String,
    /// When it ends.
    pub until: Timestamp,
}

/// What an exception changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    /// The limit's own number: a window's limit, a lockout's attempts, a bucket's capacity or a queue's places, these two
    /// with the rate in proportion.
    Number(u64),
    /// The whole algorithm, as a policy file writes it.
    Terms(String),
    /// What becomes of refusals.
    Mode(SetMode),
}

/// What becomes of refusals for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetMode {
    /// The limit counts and refuses nothing.
    Shadow,
    /// The limit does not look.
    Off,
    /// The limit lets nothing through.
    Refuse,
}

impl SetMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Shadow, Self::Off, Self::Refuse];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Off => "off",
            Self::Refuse => "refuse",
        }
    }
}

/// Writes an instant in UTC, down to the second: `2027-01-31T12:00:00Z`.
pub fn instant(at: Timestamp) -> String {
    const DAY: u64 = 86_400;
    let seconds = at.as_micros() / 1_000_000;
    let next = Timestamp::saturating_from_micros(seconds.saturating_add(DAY).saturating_mul(1_000_000));
    let (second, minute, hour) = (seconds % 60, seconds / 60 % 60, seconds % DAY / 3_600);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", day_before(next))
}

impl std::fmt::Display for Set {
    /// Writes `limit 20`, `terms token_bucket: { … }`, `mode shadow`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "limit {number}"),
            Self::Terms(terms) => write!(f, "terms {terms}"),
            Self::Mode(mode) => write!(f, "mode {}", mode.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::parse_instant;

    /// What is written is read as the same instant.
    #[test]
    fn an_instant_is_written_as_it_is_read() {
        for text in ["1970-01-01T00:00:00Z", "2028-02-29T23:59:59Z", "2026-12-31T00:00:01Z"] {
            assert_eq!(instant(parse_instant(text).unwrap()), text);
        }
    }
}
