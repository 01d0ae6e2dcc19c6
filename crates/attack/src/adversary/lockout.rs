//! Targeted lockout: keeps somebody's key full, so that he himself is refused.
//!
//! Whoever can name an account can use up what it may be tried. The floor of the price is the limit's own rate in the long
//! run (or its attempts a lock), and it is met by asking at the very instant at which a unit is free. A client that is told
//! when to come back keeps that step by itself; one that only reckons loses it with the first request that comes early, and
//! has to ask a few times as often. So four hands are played: in step and heeding refusals, in step and blind, evenly twice
//! and evenly ten times as often as the limit lets pass.
//!
//! The victim comes at random, so that the share of his tries that are refused is the share of the time for which he is kept
//! out. What the limit holds of him he takes himself, where he gets through, as a victim does.

use tidegate_algorithms::Span;
use tidegate_review::spoken_count;

use super::exposed::{counted, each_hour, often, share};
use super::schedule::evenly::{Callers, Evenly};
use super::schedule::holding::{ENOUGH, InStep, lasts};
use super::{Adversary, Aim, Beside, Exposed, Guard, Need, Play, VICTIM, home};
use crate::act::Seat;
use crate::people::People;

/// In step, and heeding refusals.
pub(super) struct Lockout;

/// In step by reckoning alone.
pub(super) struct Blind;

/// Twice as often as the limit lets pass.
pub(super) struct Paced;

/// Ten times as often.
pub(super) struct Greedy;

impl Adversary for Lockout {
    fn name(&self) -> &'static str {
        "lockout"
    }

    fn what(&self) -> &'static str {
        "A stranger asks about somebody whenever a try is free, and comes back when a refusal says."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::RetryAfter]
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        ENOUGH
    }

    fn fits(&self, aim: &Aim) -> bool {
        fits(aim)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        beside_the_victim(Seat::adversary(InStep::heeding(at_victim(aim, play), aim, play)), aim, play)
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        exposes(aim, beside)
    }
}

impl Adversary for Blind {
    fn name(&self) -> &'static str {
        "lockout-blind"
    }

    fn what(&self) -> &'static str {
        "A stranger asks about somebody whenever a try should be free by the policy, and heeds no answer."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        ENOUGH
    }

    fn fits(&self, aim: &Aim) -> bool {
        fits(aim)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        beside_the_victim(Seat::adversary(InStep::blind(at_victim(aim, play), aim, play)), aim, play)
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        exposes(aim, beside)
    }
}

impl Adversary for Paced {
    fn name(&self) -> &'static str {
        "lockout-paced"
    }

    fn what(&self) -> &'static str {
        "A stranger asks about somebody evenly, twice as often as the limit lets pass in the long run."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        ENOUGH
    }

    fn fits(&self, aim: &Aim) -> bool {
        fits(aim)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        evenly(2, aim, play)
    }
}

impl Adversary for Greedy {
    fn name(&self) -> &'static str {
        "lockout-greedy"
    }

    fn what(&self) -> &'static str {
        "A stranger asks about somebody evenly, ten times as often as the limit lets pass in the long run."
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        ENOUGH
    }

    fn fits(&self, aim: &Aim) -> bool {
        fits(aim)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        evenly(10, aim, play)
    }
}

/// Returns whether somebody has a key of his own that strangers can fill: no address or session of theirs is in it.
fn fits(aim: &Aim) -> bool {
    of_victim(aim).next().is_some()
}

/// Returns the limits that count all that is tried at the victim on one key.
fn of_victim(aim: &Aim) -> impl Iterator<Item = &Guard> {
    aim.guards.iter().filter(|guard| guard.keyed.is_of_account())
}

fn at_victim(aim: &Aim, play: &Play) -> Callers {
    Callers::about((VICTIM, 1), aim, play)
}

fn evenly(times: u64, aim: &Aim, play: &Play) -> Vec<Seat> {
    let each = Guard::slowest(of_victim(aim)).as_micros();
    let every = Span::from_micros(each.checked_div(times).unwrap_or(each));
    let hand = Evenly::new(at_victim(aim, play), play.start, every, play);
    beside_the_victim(Seat::adversary(hand), aim, play)
}

fn beside_the_victim(seat: Seat, aim: &Aim, play: &Play) -> Vec<Seat> {
    let mut seats = vec![seat.with_jitter(play.jitter)];
    seats.extend(victim(aim, play).seats_at(home, aim.tells_sessions_apart()));
    seats
}

/// Returns the victim: he comes so rarely that his limits alone would hardly ever refuse him, as far as the play is long
/// enough for that.
fn victim(aim: &Aim, play: &Play) -> People {
    let of = |micros: u64| Span::from_micros(micros);
    let length = lasts(of_victim(aim), 10, play).as_micros();
    let rarely = of(Guard::slowest(of_victim(aim)).as_micros().saturating_mul(12)).max(of(length / 2_000));
    People {
        count: 1,
        first: VICTIM,
        every: rarely.min(of(length / 10)).max(of(1)),
        typo: 0.0,
        tries: 1,
        think: Span::from_secs(5),
        share: 1,
        start: play.start,
        end: play.end(),
    }
}

/// So many requests an hour at most are cheap, for each count that has to be kept full: one a minute.
const CHEAP: f64 = 60.0;
/// So small a part of what he would get alone is what the victim may get at most: a twentieth.
const KEPT_OUT: u64 = 20;

fn exposes(aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
    let (attack, people) = (beside.attack, beside.attack.people);
    let length = attack.went_on(beside.play.length);
    let cheapest = of_victim(aim).min_by_key(|guard| guard.quota.requests_to_deny(length))?;
    // Of what his limits let pass alone he would get half at the least, as often as he comes.
    let horizon = cheapest.requests(cheapest.quota.most_from_idle(length))?;
    let alone = u64::try_from(horizon.div_ceil(2)).unwrap_or(u64::MAX).min(people.tries);
    let through = people.tries.saturating_sub(people.denied);
    let is_kept_out = alone > 0 && through.saturating_mul(KEPT_OUT) <= alone;
    let hourly = each_hour(attack.requests, length) / f64::from(aim.setting.stores());
    if !aim.class.is_guarded() || !is_kept_out || hourly > CHEAP {
        return None;
    }
    let says = format!(
        "with {} {} is kept full and the victim out {} of the time: he was refused at {} of {}",
        often(attack.requests, length, "request"),
        cheapest.name,
        share(people.denied, people.tries),
        spoken_count(people.denied.into()),
        counted(people.tries, "try"),
    );
    Some(Exposed { finding: Some("lockout-weapon"), says })
}

#[cfg(test)]
mod tests;
