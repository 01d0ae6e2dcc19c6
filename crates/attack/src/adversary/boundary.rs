//! Boundary straddler: a whole window's units just before a boundary, and the next window's just after it.
//!
//! Where windows begin by the clock, whoever knows when has twice the limit in two microseconds. To do it he empties both
//! windows, so he can at every second boundary, and in the long run gets the limit a window like anybody: what he gains is
//! the peak. With jitter he aims to either side, and each request that falls on the wrong one is lost.

use tidegate_algorithms::{Anchor, Quota, Span, Timestamp};

use super::exposed::doubled;
use super::schedule::instants::{at_once, before, boundary_after, margin};
use super::{Adversary, Aim, Beside, Exposed, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Takes two windows at once, around every second boundary.
#[derive(Debug)]
pub(super) struct Boundary;

impl Adversary for Boundary {
    fn name(&self) -> &'static str {
        "boundary-straddler"
    }

    fn what(&self) -> &'static str {
        "Spends one window just before it ends, and the next just after it has begun, at every second boundary."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 0
            && aim.guard().is_some_and(|guard| {
                matches!(guard.quota, Quota::FixedWindow(window) if window.anchor() != Anchor::FirstHit)
            })
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let margin = aim.guard().map_or(Span::ZERO, |guard| margin(&guard.quota, play));
        hands(aim, play, margin)
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        doubled(aim, beside, "aligned-window-on-sign-in", "its windows begin by the clock, all anew")
    }
}

/// So many hands on each side at most.
const MOST_HANDS: u32 = 32;

/// Returns those who play it, `margin` off the boundary. Each request has its own jitter, so each has its own hand, as far
/// as that makes a difference.
fn hands(aim: &Aim, play: &Play, margin: Span) -> Vec<Seat> {
    let Some(guard) = aim.guard() else { return Vec::new() };
    let requests = at_once(aim.burst());
    let hand = |side, requests| {
        let reach = margin.as_micros().saturating_sub(1);
        let first = boundary_after(&guard.quota, play.start.saturating_add(Span::from_micros(reach)));
        let hand =
            Hand { quota: guard.quota, boundary: first, last: None, side, requests, margin, end: play.end() };
        Seat::adversary(hand).with_jitter(play.jitter)
    };
    let hands = if play.jitter == Span::ZERO { 1 } else { requests.min(MOST_HANDS) };
    let share = |index: u32| {
        let more = requests.checked_rem(hands).is_some_and(|rest| index < rest);
        requests.checked_div(hands).unwrap_or(0).saturating_add(more.into())
    };
    let of_side = |side| (0..hands).map(move |index| (side, share(index)));
    of_side(Side::Before).chain(of_side(Side::After)).map(|(side, requests)| hand(side, requests)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

struct Hand {
    quota: Quota,
    /// The boundary that comes next.
    boundary: Option<Timestamp>,
    /// The one that was straddled last.
    last: Option<Timestamp>,
    side: Side,
    requests: u32,
    margin: Span,
    end: Timestamp,
}

impl Hand {
    /// Returns the instant at which the window is spent that the last straddle has left over, if there is one.
    fn left_over(&mut self) -> Option<Timestamp> {
        let begun = boundary_after(&self.quota, self.last.take()?)?;
        let at = before(self.end, Span::from_micros(1));
        (self.side == Side::Before && begun <= at).then_some(at)
    }
}

impl Actor for Hand {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let straddled = self.boundary.map(|boundary| match self.side {
            Side::Before => before(boundary, self.margin.max(Span::from_micros(1))),
            Side::After => boundary.saturating_add(self.margin),
        });
        let at = if let Some(at) = straddled.filter(|at| *at < self.end) {
            self.last = self.boundary;
            let skipped = self.boundary.and_then(|boundary| boundary_after(&self.quota, boundary));
            self.boundary = skipped.and_then(|boundary| boundary_after(&self.quota, boundary));
            at
        } else {
            self.boundary = None;
            self.left_over()?
        };
        Some(Act::one(at, at_victim()).times(self.requests))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Calendar;

    use super::super::testing::trial::{MIDNIGHT, fixed, play, seats, trial};
    use super::*;

    const HOUR: Span = Span::from_secs(3600);

    /// The value known of it: 2L in two microseconds, then L a window. A boundary taken from the play's start, or L on the
    /// wrong side of it, would give five.
    #[test]
    fn it_takes_two_windows_in_two_microseconds_and_one_a_window_in_the_long_run() {
        let quota = fixed(Anchor::Clock);
        let play = play(Span::from_millis(7_001), Span::from_secs(3700));
        let trial = trial(&Boundary, quota, &play);
        assert_eq!(trial.peak(Span::from_micros(2)), 10);
        assert_eq!(trial.peak(Span::from_secs(30)), 10);
        assert_eq!(trial.first(Span::from_micros(HOUR.as_micros() + 1)), 605, "an hour, both ends");
        assert_eq!(trial.refused, 0);
        assert_eq!(trial.admitted[0], MIDNIGHT + 30_000_000 - 1);
    }

    /// Windows of months have no one length: one that was reckoned from 31 days misses the first of March.
    #[test]
    fn it_finds_the_boundaries_of_the_calendar() {
        let quota = Quota::calendar_window(3, Calendar::Month).unwrap();
        let play = play(Span::ZERO, Span::from_secs(150 * 86_400));
        let trial = trial(&Boundary, quota, &play);
        let day = |days: u64| MIDNIGHT + days * 86_400_000_000;
        // The first of December, of February and of April, and what April leaves.
        let at = [day(1) - 1, day(1), day(63) - 1, day(63), day(122) - 1, day(122)];
        let all: Vec<u64> = at.into_iter().flat_map(|at| [at; 3]).collect();
        assert_eq!(trial.admitted, all);
        assert_eq!(trial.peak(Span::from_micros(2)), 6);
    }

    /// The values known of it for five per thirty seconds, aimed a quarter of a second off: one jitter for all requests of a
    /// side would lose them all or none.
    #[test]
    fn jitter_costs_it_what_falls_on_the_wrong_side() {
        const TIMES: u32 = 2_000;
        for (millis, known) in [(50, 10.0), (100, 9.94), (150, 9.62), (200, 9.32), (300, 9.04)] {
            let (quota, jitter) = (fixed(Anchor::Clock), Span::from_millis(millis));
            let length = Span::from_secs(60 * u64::from(TIMES) - 20);
            let play = Play { jitter, ..play(Span::from_secs(15), length) };
            let hands = hands(&Aim::at(quota), &play, Span::from_millis(250));
            // Each minute from the first quarter on holds one boundary that is straddled, and nothing else.
            let passed = u32::try_from(seats(hands, quota, &play, 7).admitted.len()).unwrap();
            let mean = f64::from(passed) / f64::from(TIMES);
            // The deviation of one peak is below 0.8: three of the mean's are below 0.054.
            assert!((mean - known).abs() < 0.06, "{mean} for a deviation of {millis} ms, known is {known}");
        }
    }

    /// He picks his own distance from the boundary by his jitter.
    #[test]
    fn with_jitter_it_still_gets_nearly_two_windows() {
        let play = Play { jitter: Span::from_millis(300), ..play(Span::from_secs(20), Span::from_secs(90)) };
        assert_eq!(trial(&Boundary, fixed(Anchor::Clock), &play).peak(Span::from_secs(30)), 10);
    }

    #[test]
    fn it_fits_windows_of_the_clock_alone() {
        assert!(Boundary.fits(&Aim::at(fixed(Anchor::Clock))));
        for quota in [
            fixed(Anchor::FirstHit),
            super::super::testing::trial::log(),
            super::super::testing::trial::counter(),
        ] {
            assert!(!Boundary.fits(&Aim::at(quota)));
        }
        assert!(
            !Boundary.fits(&Aim::at(Quota::fixed_window(0, Span::from_secs(30), Anchor::Clock).unwrap()))
        );
    }
}
