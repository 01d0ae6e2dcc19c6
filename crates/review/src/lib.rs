//! The review of a policy: what its limits admit, how long a blind guess takes, and what is unwise.
//!
//! Everything here is computed from a [`Policy`](tidegate_policy::Policy) alone; nothing opens a file or asks a clock.
//! Counts and bounds are exact integers of the algorithms; chances and times to a guess are floating-point numbers, which
//! are only shown.

mod explain;
mod figures;
mod finding;
mod guess;
mod lint;
mod threat;

pub use explain::{Admits, Explained, ExplainedRule, Gone, Refusal, Share, explain, spoken_rate};
pub use figures::{float, spoken_chance, spoken_count, spoken_time, whole, written};
pub use finding::{Finding, Severity};
pub use guess::{Allowance, DAY, Guess, GuessError, GuessTimes, YEAR, lowered, stretched};
pub use lint::reach::{Kind as KeyKind, is_phone, kind as key_kind};
pub use lint::{Lint, USUAL_BUDGET, lints, review};
pub use threat::{CompareError, Difference, Row, RuleRows, ThreatModel, compare, escape as escape_html};

#[cfg(test)]
mod test_policy;
