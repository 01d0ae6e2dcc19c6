//! Rate-limit algorithms in exact integer arithmetic.
//!
//! [`decide`] is a pure, total function of a [`Quota`], the [`State`] a key has (or none), an [`Ask`] and an instant.
//! It returns the [`Decision`] and the [`Change`] to write; who holds the state, and what a clock says, is not its
//! business. A store runs it under a lock, a Redis script is its second writing, the attack bench runs it in virtual
//! time.
//!
//! Laws that hold for every quota and every history, each a property test in `tests/it/laws`:
//! - a refused request takes nothing, and [`Retry::After`] is exact to the microsecond;
//! - an admitted cost of n leaves the state that n requests of one unit at the same instant leave;
//! - a state dated after `now` is re-dated to `now`, its counts and credit kept, even when the request is refused;
//! - from [`keep_until`] on, no decision differs from a fresh state's;
//! - [`refund`] never leaves more than if the request had not been made;
//! - [`carry`] to another quota keeps what is in use in use, and refills nothing;
//! - nothing admits more than [`Quota::most_in_closed`] says.
//!
//! ```
//! use tidegate_algorithms::{Ask, Change, Quota, Rate, Span, Timestamp, decide};
//!
//! let quota = Quota::token_bucket(4, Rate::new(1, Span::from_secs(10))?)?;
//! let now = Timestamp::from_micros(1_700_000_000_000_000).ok_or("past the domain")?;
//! let mut state = None;
//! for admitted in [true, true, true, true, false] {
//!     let outcome = decide(&quota, state.as_ref(), Ask::ONE, now);
//!     assert_eq!(outcome.decision.is_admitted(), admitted);
//!     outcome.change.apply(&mut state);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Every operation on numbers here says what happens when it does not fit.
#![warn(clippy::arithmetic_side_effects, clippy::as_conversions)]

mod algorithm;
mod bounds;
mod calendar;
mod carry;
mod compact;
mod decision;
mod first_hit;
mod fixed_window;
mod give_back;
mod leaky_bucket;
mod level;
mod lockout;
mod quota;
mod share;
mod sliding_counter;
mod sliding_log;
mod state;
mod time;
mod token_bucket;
mod wide;

pub use algorithm::{Outcome, decide, keep_until, peek, refund, settle};
pub use bounds::LongRun;
pub use carry::carry;
pub use compact::{Compact, Ruling};
pub use decision::{Answer, Ask, Decision, Place, Receipt, Retry};
pub use fixed_window::Window;
pub use give_back::give_back_receipts;
pub use level::{Level, Mark};
pub use lockout::Lock;
pub use quota::{
    Anchor, Calendar, FixedWindow, LeakyBucket, Lockout, MAX_LOG_UNITS, MAX_SPAN, MAX_UNITS, MIN_SPAN, Quota,
    QuotaError, Rate, SlidingCounter, SlidingLog, TokenBucket,
};
pub use sliding_counter::Counter;
pub use sliding_log::{Log, LogEdit, Stamp};
pub use state::{Change, State};
pub use time::{Span, Timestamp};
