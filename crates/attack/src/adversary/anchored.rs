//! Anchored straddler: opens a window with one request, spends the rest of it just before it ends, and then the next one.
//!
//! A window that begins with a key's first hit resets at an instant that the caller chose. One early hit is the price: 2L − 1
//! pass in two microseconds, or within any window's length. A lockout counts in such a window too. There the last attempt
//! allowed would lock, so it keeps one short of it, and locks with the next: 2A − 2 in two microseconds.

use tidegate_algorithms::{Anchor, Lockout, Quota, Span, Timestamp};

use super::exposed::doubled;
use super::schedule::instants::{at_once, before, margin};
use super::schedule::taking::Taking;
use super::{Adversary, Aim, Beside, Exposed, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Opens a window, and takes the end of it together with the whole next one.
#[derive(Debug)]
pub(super) struct Anchored;

impl Adversary for Anchored {
    fn name(&self) -> &'static str {
        "anchored-straddler"
    }

    fn what(&self) -> &'static str {
        "Opens a window with one request, spends the rest just before it ends, and the next window just after."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 1
            && aim.guard().is_some_and(|guard| match guard.quota {
                Quota::FixedWindow(window) => window.anchor() == Anchor::FirstHit,
                Quota::Lockout(_) => true,
                _ => false,
            })
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let Some(guard) = aim.guard() else { return Vec::new() };
        // What comes after the opening is planned for the time after it.
        let reset = play.start.saturating_add(guard.quota.window());
        let Some(then) = Taking::new(aim, play, reset) else { return Vec::new() };
        let locks = |lockout: Lockout| lockout.attempts().is_multiple_of(guard.cost.max(1));
        let spare = u32::from(matches!(guard.quota, Quota::Lockout(lockout) if locks(lockout)));
        let hand = Hand {
            step: Step::Open,
            rest: at_once(aim.burst().saturating_sub(1).saturating_sub(spare)),
            start: play.start,
            margin: margin(&guard.quota, play),
            then: then.locking_first(),
        };
        vec![Seat::adversary(hand).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        // A lockout is no window that lets its attempts through twice by mistake: it has locked by then.
        let is_window = aim.guard().is_some_and(|guard| matches!(guard.quota, Quota::FixedWindow(_)));
        let doubled =
            doubled(aim, beside, "aligned-window-on-sign-in", "its window ends when the caller has chosen");
        doubled.filter(|_| is_window)
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Open,
    /// The opening request is under way.
    Spend,
    /// The window is spent but for its end.
    Reset(Timestamp),
    Go,
}

struct Hand {
    step: Step,
    /// What is left of the window after the opening request.
    rest: u32,
    start: Timestamp,
    margin: Span,
    then: Taking,
}

impl Actor for Hand {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        match self.step {
            Step::Open => {
                self.step = Step::Spend;
                Some(Act::one(self.start, at_victim()))
            }
            Step::Spend => {
                let opened = last?;
                self.then.free().heard(opened);
                let end = self.then.free().mirror().forgotten(opened.at);
                self.step = Step::Reset(end);
                let at = before(end, self.margin.max(Span::from_micros(1)));
                Some(Act::one(at, at_victim()).times(self.rest))
            }
            Step::Reset(end) => {
                self.then.free().heard(last?);
                self.then.free().not_before(end.saturating_add(self.margin));
                self.step = Step::Go;
                self.then.next(None, chance)
            }
            Step::Go => self.then.next(last, chance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::trial::{MIDNIGHT, fixed, play, trial};
    use super::*;

    /// The value known of it: 2L − 1, and no more; 2L is what the clock's windows give.
    #[test]
    fn it_takes_two_windows_less_one() {
        let play = play(Span::from_millis(1_234), Span::from_secs(3600));
        let trial = trial(&Anchored, fixed(Anchor::FirstHit), &play);
        assert_eq!(trial.peak(Span::from_micros(2)), 9);
        assert_eq!(trial.peak(Span::from_secs(30)), 9);
        assert_eq!(trial.first(Span::from_secs(3600)), 600);
        assert_eq!(trial.refused, 0);
        assert_eq!(trial.admitted[1], MIDNIGHT + 31_234_000 - 1);
    }

    /// A hundred a minute, begun at 00:59: the hundred of the next minute come at 01:59, and 199 in all.
    #[test]
    fn a_hundred_a_minute_by_first_hit_is_a_hundred_and_ninety_nine() {
        let quota = Quota::fixed_window(100, Span::from_secs(60), Anchor::FirstHit).unwrap();
        let trial = trial(&Anchored, quota, &play(Span::from_secs(59), Span::from_secs(300)));
        assert_eq!(trial.peak(Span::from_secs(60)), 199);
    }

    /// A lockout that is locked at the end of its first window would give five and nothing for ten minutes.
    #[test]
    fn at_a_lockout_it_stops_one_short_of_the_lock() {
        let quota = Quota::lockout(5, Span::from_secs(30), Span::from_secs(600)).unwrap();
        let trial = trial(&Anchored, quota, &play(Span::ZERO, Span::from_secs(300)));
        assert_eq!(trial.peak(Span::from_micros(2)), 8);
        assert_eq!(u128::from(8_u32), quota.most_in_half_open(Span::from_secs(30)));
    }

    /// With jitter, what should come before the end must not come after it.
    #[test]
    fn it_keeps_away_from_the_end_by_its_jitter() {
        let play = Play { jitter: Span::from_millis(300), ..play(Span::ZERO, Span::from_secs(120)) };
        assert_eq!(trial(&Anchored, fixed(Anchor::FirstHit), &play).peak(Span::from_secs(30)), 9);
    }

    #[test]
    fn it_fits_windows_that_a_hit_opens() {
        assert!(Anchored.fits(&Aim::at(fixed(Anchor::FirstHit))));
        assert!(!Anchored.fits(&Aim::at(fixed(Anchor::Clock))));
        // A window of one has nothing left after the request that opens it.
        let one = Quota::fixed_window(1, Span::from_secs(30), Anchor::FirstHit).unwrap();
        assert!(!Anchored.fits(&Aim::at(one)));
    }
}
