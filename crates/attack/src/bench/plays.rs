//! When an attack is played: the instants at which it begins, how far it misses what it aims at, and how long it goes on.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::DAY;

use crate::adversary::{Adversary, Aim, Means, Play};

/// How much is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// At how many instants within a window a short play begins.
    pub phases: u32,
    /// Whether it is played with jitter as well at each of them.
    pub is_jittered: bool,
    /// The most requests of a short play.
    pub short_requests: u64,
    /// How long the long play goes on.
    pub length: Span,
    /// The most requests of the long play for every day that it goes on, up to ten of them, and of one that is shorter.
    pub long_requests: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            phases: 8,
            is_jittered: true,
            short_requests: 50_000,
            length: Span::from_secs(86_400),
            long_requests: 1_500_000,
        }
    }
}

impl Effort {
    /// Returns what is enough to see that nothing has become worse by far: two phases, no jitter, a tenth of the requests.
    pub fn quick() -> Self {
        Self {
            phases: 2,
            is_jittered: false,
            short_requests: 5_000,
            long_requests: 150_000,
            ..Self::default()
        }
    }
}

/// Monday, 2 January 2040, 00:00 UTC: windows of the clock and of the calendar up to a week begin then, and no policy's
/// dates are near.
pub(crate) const MONDAY: Timestamp = Timestamp::saturating_from_micros(2_209_075_200_000_000);
const MILLISECOND: u64 = 1_000;

/// How far off requests arrive in one half of the short plays.
const JITTER: Span = Span::from_millis(50);

/// Returns the short plays of an attack: at every phase, once as aimed and, unless the effort is less, once with jitter.
pub(super) fn short(adversary: &dyn Adversary, aim: &Aim, means: Means, effort: &Effort) -> Vec<Play> {
    let window = aim.guard().map_or(Span::from_secs(60), |guard| guard.quota.window());
    let length = Span::from_micros(window.as_micros().saturating_mul(4)).max(Span::from_secs(60));
    let phases = if adversary.depends_on_phase() { effort.phases.max(1) } else { 1 };
    let starts = (0..phases).map(|index| start(window, index, phases));
    let jitters = if effort.is_jittered { &[Span::ZERO, JITTER][..] } else { &[Span::ZERO] };
    let of = |start| jitters.iter().map(move |jitter| Play { start, length, jitter: *jitter, means });
    starts.flat_map(of).collect()
}

/// Returns the long play that begins where a short one did.
pub(super) fn long(short: &Play, effort: &Effort) -> Play {
    // One microsecond more, since a closed day ends at its last instant.
    let closed = Span::from_micros(effort.length.as_micros().saturating_add(1));
    Play { length: closed.max(short.length), ..*short }
}

/// The requests of so many days are played at most.
const MOST_DAYS: u64 = 10;

/// Returns the most requests of the long play.
pub(super) fn most_requests(effort: &Effort) -> u64 {
    let days = effort.length.as_micros().div_ceil(DAY.as_micros()).clamp(1, MOST_DAYS);
    effort.long_requests.saturating_mul(days)
}

/// Returns the instant at which a play begins: the first at a window's beginning, the others spread over the window, and a
/// millisecond off what divides it evenly.
fn start(window: Span, index: u32, phases: u32) -> Timestamp {
    let spread = window.min(DAY).as_micros().checked_div(phases.into()).unwrap_or(0);
    let off = if index == 0 { 0 } else { MILLISECOND };
    let into = spread.saturating_mul(index.into()).saturating_add(off);
    MONDAY.saturating_add(Span::from_micros(into))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against plays that all begin at one phase of a window, and against a Monday that is none.
    #[test]
    fn plays_begin_all_over_a_window_and_the_first_at_its_beginning() {
        assert_eq!(
            MONDAY.as_micros() % (7 * DAY.as_micros()),
            4 * DAY.as_micros(),
            "1970 began on a Thursday"
        );
        let window = Span::from_secs(30);
        let phase = |index| start(window, index, 8).as_micros() % window.as_micros();
        let phases: std::collections::BTreeSet<u64> = (0..8).map(phase).collect();
        assert_eq!(phases.len(), 8);
        assert_eq!(phase(0), 0);
    }
}
