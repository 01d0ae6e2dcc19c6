//! Volleys: requests at the victim at instants that are known beforehand, and how many of them one count would let through.
//!
//! What adversaries have in common who meet the same key in several places, of processes and of regions.

use std::collections::VecDeque;

use tidegate_algorithms::{Quota, Span, Timestamp};
use tidegate_review::spoken_count;

use super::super::{Aim, Beside, Play, at_victim};
use super::books::{Books, reading};
use super::instants::{at_once, boundary_after};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat};

/// The most requests of an attack by volleys: more would show nothing else.
const MOST_REQUESTS: u64 = 100_000;

/// Requests that arrive together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Volley {
    pub(crate) at: Timestamp,
    pub(crate) requests: u32,
}

/// Returns the seat of somebody who sends volleys, in the order of their instants.
pub(crate) fn seat(volleys: Vec<Volley>, play: &Play) -> Seat {
    Seat::adversary(Sender(volleys.into())).with_jitter(play.jitter)
}

struct Sender(VecDeque<Volley>);

impl Actor for Sender {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let Volley { at, requests } = self.0.pop_front()?;
        Some(Act::one(at, at_victim()).times(requests))
    }
}

/// Returns volleys of so many times what the limit in focus admits at once, each as soon as it admits as much again.
pub(crate) fn as_often_as_it_fills(aim: &Aim, play: &Play, copies: u32) -> Vec<Volley> {
    filling(aim, play, copies).0
}

/// Returns how many requests of them a play ends with, where there are more of them than show anything; with no number
/// otherwise.
pub(crate) fn enough(aim: &Aim, play: &Play, copies: u32) -> u64 {
    let (volleys, is_cut) = filling(aim, play, copies);
    if is_cut { volleys.iter().map(|volley| u64::from(volley.requests)).sum() } else { u64::MAX }
}

/// Returns the volleys, and whether there would be more.
fn filling(aim: &Aim, play: &Play, copies: u32) -> (Vec<Volley>, bool) {
    let (mut volleys, mut at) = (Vec::new(), play.start);
    let Some(guard) = aim.guard() else { return (volleys, false) };
    let requests = at_once(aim.burst().saturating_mul(copies));
    let (mut left, again) = (MOST_REQUESTS.max(requests.into()), refill(&guard.quota));
    // Who misses his instants fires a little later, so as not to fire too early.
    let late = Span::from_micros(play.jitter.as_micros().saturating_mul(4).saturating_add(1));
    while at < play.end() && requests > 0 {
        let Some(after) = left.checked_sub(requests.into()) else { return (volleys, true) };
        left = after;
        volleys.push(Volley { at, requests });
        let next = by_the_clock(&guard.quota, at).unwrap_or_else(|| at.saturating_add(again));
        at = next.saturating_add(late);
    }
    (volleys, false)
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
pub(crate) fn counted_once(aim: &Aim, volleys: &[Volley], most: u64) -> u64 {
    let (mut books, who) = (Books::of(&aim.guards, reading(aim)), at_victim());
    let (mut left, mut admitted) = (most, 0_u64);
    for volley in volleys {
        let requests = u64::from(volley.requests).min(left);
        left = left.saturating_sub(requests);
        for _ in 0..requests {
            if books.ready(&who, volley.at) != Some(volley.at) {
                break;
            }
            books.charge(&who, volley.at, Outcome::Failure);
            admitted = admitted.saturating_add(1);
        }
    }
    admitted
}

/// Returns, in words, how many requests passed in which time where counts are kept apart and how many one count lets through,
/// when the former are a whole burst more.
pub(crate) fn counted_apart(aim: &Aim, beside: &Beside<'_>) -> Option<String> {
    let volleys = as_often_as_it_fills(aim, beside.play, aim.setting.stores());
    let once = counted_once(aim, &volleys, beside.attack.requests);
    let passed = beside.attack.admitted_with_store();
    (passed >= once.saturating_add(u64::from(aim.burst().max(1)))).then(|| {
        format!(
            "of the same requests {} {} passed in {} where one count lets {} through",
            aim.at_one(),
            spoken_count(passed.into()),
            beside.went_on(),
            spoken_count(once.into())
        )
    })
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Anchor;

    use std::sync::Arc;

    use super::super::super::named;
    use super::super::super::testing::trial::{bucket, fixed, log, play};
    use super::*;
    use crate::stage::Stage;
    use crate::target::Bare;
    use crate::world::Setting;

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

    /// Guards against volleys that are no more after a while, as if nothing passed from then on.
    #[test]
    fn a_play_that_has_no_more_volleys_ends_with_the_last() {
        let minute = Quota::fixed_window(1_000, Span::from_secs(60), Anchor::Clock).unwrap();
        let setting = Setting { instances: 4, shared: false, ..Setting::default() };
        let aim = Aim { setting, ..Aim::at(minute) };
        let day = play(Span::from_secs(9), Span::from_secs(86_400));
        assert_eq!(enough(&aim, &day, 4), 100_000);
        let stage = Stage::new(Arc::new(Bare::of(minute)), 1, None);
        let all = stage.play(named("instances").unwrap(), &aim, &day).unwrap();
        let then = all.requests_per_day(day.length);
        assert!(all.ended.is_some() && (then / 5_760_000.0 - 1.0).abs() < 0.1, "{then}");
        let seconds = play(Span::from_secs(9), Span::from_secs(600));
        assert_eq!(enough(&aim, &seconds, 4), u64::MAX);
    }
}
