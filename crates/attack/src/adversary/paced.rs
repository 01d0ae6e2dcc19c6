//! Paced at refill: asks as often as the limit allows in the long run, and is never refused.
//!
//! The rate of the long run costs nothing to take: no refusal, and so nothing that an alert on refusals would see. Whatever a
//! limit is meant to hold over a day has to be held by this rate, not by its burst.

use rand::RngExt as _;
use tidegate_algorithms::{Quota, Span, Timestamp};

use super::{Adversary, Aim, Guard, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Asks once in the time that a unit takes, beginning at any instant of it.
#[derive(Debug)]
pub(super) struct Paced;

impl Adversary for Paced {
    fn name(&self) -> &'static str {
        "paced"
    }

    fn what(&self) -> &'static str {
        "Asks once in the time that a unit takes in the long run, so that nothing is ever refused."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.guard().and_then(pace).is_some()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let Some(pace) = aim.guard().and_then(pace) else { return Vec::new() };
        let hand = Hand { pace, start: play.start, end: play.end(), made: None, phase: 0 };
        vec![Seat::adversary(hand).with_jitter(play.jitter)]
    }
}

/// So many requests a time, as a fraction; the n-th is due n·`micros`/`requests` after the first, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pace {
    requests: u64,
    micros: u64,
}

impl Pace {
    /// One every so often.
    fn every(micros: u64) -> Self {
        Self { requests: 1, micros }
    }

    fn due(self, nth: u64) -> Option<Span> {
        let micros = u128::from(nth).checked_mul(self.micros.into())?.div_ceil(self.requests.max(1).into());
        u64::try_from(micros).ok().map(Span::from_micros)
    }
}

/// Returns the fastest pace that is never refused.
fn pace(guard: &Guard) -> Option<Pace> {
    let cost = guard.cost.max(1);
    let in_window = |units: u32, window: Span| {
        let requests = units.checked_div(cost).filter(|requests| *requests > 0)?;
        Some((u64::from(requests), window.as_micros()))
    };
    match guard.quota {
        Quota::FixedWindow(quota) => {
            let (requests, micros) = in_window(quota.limit(), quota.window())?;
            Some(Pace::every(micros.div_ceil(requests)))
        }
        Quota::SlidingLog(quota) => {
            let (requests, micros) = in_window(quota.limit(), quota.window())?;
            Some(Pace::every(micros.div_ceil(requests)))
        }
        Quota::SlidingCounter(quota) => {
            // A hit at the very boundary after a full window is one instant early: a little more than W/L never is.
            let (requests, micros) = in_window(quota.limit(), quota.window())?;
            Some(Pace::every(micros.checked_div(requests)?.saturating_add(1)))
        }
        Quota::TokenBucket(quota) => {
            let rate = (quota.refill().units(), quota.refill().micros());
            bucket(quota.capacity(), rate, cost)
        }
        Quota::LeakyBucket(quota) => {
            bucket(quota.queue().saturating_add(1), (quota.rate().units(), quota.rate().micros()), cost)
        }
        Quota::Lockout(quota) => {
            // With the attempt that locks it would be refused afterwards.
            let short = quota.attempts().saturating_sub(1).checked_div(cost).filter(|requests| *requests > 0);
            match short {
                Some(requests) => Some(Pace::every(quota.within().as_micros().div_ceil(requests.into()))),
                None if quota.attempts() == cost => Some(Pace::every(quota.lock().as_micros())),
                None => None,
            }
        }
    }
}

/// Returns the pace of a bucket's refill, exactly where there is room for the fraction of a unit that whole microseconds
/// leave; else rounded up.
fn bucket(room: u32, (units, micros): (u32, u64), cost: u32) -> Option<Pace> {
    let each = micros.checked_mul(cost.into())?;
    match room.cmp(&cost) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(Pace::every(each.div_ceil(units.into()))),
        std::cmp::Ordering::Greater => Some(Pace { requests: units.into(), micros: each }),
    }
}

struct Hand {
    pace: Pace,
    start: Timestamp,
    end: Timestamp,
    /// How many requests have been made.
    made: Option<u64>,
    /// How long after the start the first was made, in microseconds.
    phase: u64,
}

impl Actor for Hand {
    fn next(&mut self, _last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        let nth = if let Some(made) = self.made {
            made
        } else {
            let period = self.pace.due(1)?.as_micros();
            self.phase = chance.random_range(0..period.max(1));
            0
        };
        self.made = Some(nth.saturating_add(1));
        let first = self.start.saturating_add(Span::from_micros(self.phase));
        let at = first.checked_add(self.pace.due(nth)?)?;
        (at < self.end).then(|| Act::one(at, at_victim()))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Rate};

    use super::super::testing::trial::{bucket, counter, fixed, log, play, seats};
    use super::*;

    /// The values known of it: exactly the rate of the long run, and no refusal at any phase.
    #[test]
    fn it_gets_the_long_run_rate_exactly_and_is_never_refused() {
        let hour = Span::from_secs(3600);
        let thirds = Quota::token_bucket(2, Rate::new(3, Span::from_secs(7)).unwrap()).unwrap();
        let leaky = Quota::leaky_bucket(Rate::new(1, Span::from_secs(10)).unwrap(), 3).unwrap();
        let limits = [(log(), 600), (counter(), 600), (fixed(Anchor::Clock), 600), (bucket(), 360)];
        let others = [(fixed(Anchor::FirstHit), 600), (leaky, 360), (thirds, 1543)];
        for (quota, known) in limits.into_iter().chain(others) {
            for seed in 0..5 {
                let play = play(Span::from_millis(seed * 4_997), hour);
                let trial = seats(Paced.seats(&Aim::at(quota), &play), quota, &play, seed);
                assert_eq!(trial.refused, 0, "{quota:?} with chance {seed}");
                let passed = trial.admitted.len();
                assert!((known - 1..=known).contains(&passed), "{quota:?}: {passed} of {known}");
            }
        }
    }

    /// A rate rounded to microseconds drifts: three in seven seconds are 3,000,000 in seven million seconds.
    #[test]
    fn the_pace_of_a_bucket_does_not_drift() {
        let pace = super::bucket(2, (3, 7_000_000), 1);
        assert_eq!(pace.and_then(|pace| pace.due(3_000_000)), Some(Span::from_secs(7_000_000)));
    }

    /// Numbers that do not divide each other, and costs: a pace rounded down is refused sooner or later.
    #[test]
    fn no_phase_and_no_remainder_is_refused() {
        let ms = Span::from_millis;
        let quotas = [
            Quota::sliding_counter(7, ms(10)).unwrap(),
            Quota::sliding_counter(1, ms(3)).unwrap(),
            Quota::sliding_log(7, ms(10)).unwrap(),
            Quota::fixed_window(7, ms(10), Anchor::Clock).unwrap(),
            Quota::token_bucket(1, Rate::new(7, ms(10)).unwrap()).unwrap(),
            Quota::leaky_bucket(Rate::new(7, ms(10)).unwrap(), 0).unwrap(),
            Quota::lockout(7, ms(10), ms(100)).unwrap(),
            Quota::lockout(1, ms(10), ms(7)).unwrap(),
        ];
        for quota in quotas {
            for seed in 0..12 {
                let play = play(Span::from_micros(seed * 831), Span::from_millis(500));
                let trial = seats(Paced.seats(&Aim::at(quota), &play), quota, &play, seed);
                assert_eq!(trial.refused, 0, "{quota:?} with chance {seed}");
                assert!(trial.admitted.len() > 60, "{quota:?}: {}", trial.admitted.len());
            }
        }
    }

    /// Guards against a counter that is asked exactly at a boundary, when the window before still weighs in full.
    #[test]
    fn a_counter_is_asked_at_no_boundary() {
        let quota = Quota::sliding_counter(250, Span::from_millis(1)).unwrap();
        for seed in 0..16 {
            let play = play(Span::from_micros(seed), Span::from_millis(4));
            let trial = seats(Paced.seats(&Aim::at(quota), &play), quota, &play, seed);
            assert_eq!(trial.refused, 0, "with chance {seed}");
            assert!(trial.admitted.len() > 790, "{}", trial.admitted.len());
        }
    }

    #[test]
    fn it_needs_a_limit_that_lets_one_request_pass() {
        let mut aim = Aim::at(log());
        aim.guards[0].cost = 6;
        assert!(!Paced.fits(&aim));
        aim.guards[0].cost = 5;
        assert!(Paced.fits(&aim));
    }
}
