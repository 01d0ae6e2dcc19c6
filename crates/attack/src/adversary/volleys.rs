//! Volleys: requests at the victim at instants that are known beforehand, and how many of them one count would let through.

use std::collections::VecDeque;

use tidegate_algorithms::{Ask, Quota, Span, State, Timestamp, decide};

use super::mirror::{at_once, boundary_after};
use super::{Aim, Guard, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// The most requests of an attack by volleys: more would show nothing else.
const MOST_REQUESTS: u64 = 100_000;

/// Requests that arrive together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Volley {
    pub(super) at: Timestamp,
    pub(super) requests: u32,
}

/// Returns the seat of somebody who fires volleys, in the order of their instants.
pub(super) fn seat(volleys: Vec<Volley>, play: &Play) -> Seat {
    Seat::adversary(Gunner(volleys.into())).with_jitter(play.jitter)
}

struct Gunner(VecDeque<Volley>);

impl Actor for Gunner {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let Volley { at, requests } = self.0.pop_front()?;
        Some(Act::one(at, at_victim()).times(requests))
    }
}

/// Returns volleys of so many times what the limit in focus admits at once, each as soon as it admits as much again.
pub(super) fn as_often_as_it_fills(aim: &Aim, play: &Play, copies: u32) -> Vec<Volley> {
    let (Some(guard), mut volleys, mut at) = (aim.guard(), Vec::new(), play.start) else { return Vec::new() };
    let requests = at_once(aim.burst().saturating_mul(copies));
    let (mut left, again) = (MOST_REQUESTS.max(requests.into()), refill(&guard.quota));
    // Who misses his instants fires a little later, so as not to fire too early.
    let late = Span::from_micros(play.jitter.as_micros().saturating_mul(4).saturating_add(1));
    while at < play.end() && requests > 0 {
        let Some(after) = left.checked_sub(requests.into()) else { break };
        left = after;
        volleys.push(Volley { at, requests });
        let next = by_the_clock(&guard.quota, at).unwrap_or_else(|| at.saturating_add(again));
        at = next.saturating_add(late);
    }
    volleys
}

/// Returns the end of a fixed window that begins by the clock.
fn by_the_clock(quota: &Quota, at: Timestamp) -> Option<Timestamp> {
    if matches!(quota, Quota::FixedWindow(_)) { boundary_after(quota, at) } else { None }
}

/// Returns the time in which a quota admits once more what it admits at once.
fn refill(quota: &Quota) -> Span {
    let rate = quota.long_run();
    let all = u128::from(rate.micros).saturating_mul(quota.nominal().into());
    let micros = all.div_ceil(u128::from(rate.units.max(1)));
    Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).max(1))
}

/// Returns how many of the first so many requests would pass if each limit counted them in one place.
pub(super) fn counted_once(aim: &Aim, volleys: &[Volley], most: u64) -> u64 {
    let mut states: Vec<(&Guard, Option<State>)> = aim.guards.iter().map(|guard| (guard, None)).collect();
    let (mut left, mut admitted) = (most, 0_u64);
    for volley in volleys {
        let requests = u64::from(volley.requests).min(left);
        left = left.saturating_sub(requests);
        for _ in 0..requests {
            if !passes(&mut states, volley.at) {
                break;
            }
            admitted = admitted.saturating_add(1);
        }
    }
    admitted
}

/// Asks all limits, and charges them if all of them admit.
fn passes(states: &mut [(&Guard, Option<State>)], at: Timestamp) -> bool {
    let answers = states
        .iter()
        .map(|(guard, state)| decide(&guard.quota, state.as_ref(), Ask::units(guard.cost), at))
        .collect::<Vec<_>>();
    let admitted = answers.iter().all(|answer| answer.decision.is_admitted());
    if admitted {
        for ((_, state), answer) in states.iter_mut().zip(answers) {
            answer.change.apply(state);
        }
    }
    admitted
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Anchor;

    use super::super::trial::{bucket, fixed, log, play};
    use super::*;

    /// Guards against a comparison with something that one count does not do.
    #[test]
    fn one_count_lets_through_what_its_limit_does() {
        let hour = play(Span::from_secs(9), Span::from_secs(3600));
        for (quota, most) in [(fixed(Anchor::Clock), 605), (log(), 600), (bucket(), 364)] {
            let volleys = as_often_as_it_fills(&Aim::at(quota), &hour, 3);
            let once = counted_once(&Aim::at(quota), &volleys, u64::MAX);
            assert!((most - 5..=most).contains(&once), "{once} of {quota:?}");
        }
        let volleys = as_often_as_it_fills(&Aim::at(log()), &hour, 3);
        assert_eq!(counted_once(&Aim::at(log()), &volleys, 16), 6, "the first of the second volley");
    }
}
