//! Informed attacker: probes on accounts of his own, then plays the best of the others at the victim.
//!
//! He knows no policy. What passes on throw-away accounts, and when, tells him the algorithm, its limit and its window or
//! rate, and where its windows begin ([`probe`]); asking at many instants within what he knows of them tells it to the
//! microsecond ([`narrow`]). So a limit cannot be kept secret, and the worst that is known of it is what to reckon with.
//! His own requests guess nothing, and the victim's key is fresh when he comes to it.

mod asking;
mod narrow;
mod probe;
#[cfg(test)]
mod tests;

use tidegate_algorithms::{Anchor, Quota, Rate, Span, Timestamp};

use self::asking::{Accounts, Said};
use self::narrow::{Boundaries, Known, Relative, Windows, Within};
use self::probe::{Kind, Probe};
use super::anchored::Anchored;
use super::boundary::Boundary;
use super::refill::Refill;
use super::schedule::evenly::{Callers, Evenly};
use super::schedule::instants::before;
use super::weighted::Weighted;
use super::{Adversary, Aim, Need, Play};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Learns the limit on accounts of his own and attacks with what he has learnt.
#[derive(Debug)]
pub(super) struct Informed;

impl Adversary for Informed {
    fn name(&self) -> &'static str {
        "informed"
    }

    fn what(&self) -> &'static str {
        "Learns algorithm, numbers and phase on accounts of his own, then plays the worst schedule at the victim."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::OwnAccount, Need::Addresses]
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 0 && aim.guards.iter().all(|guard| guard.keyed.subject)
    }

    fn seats(&self, _aim: &Aim, play: &Play) -> Vec<Seat> {
        let mut accounts = Accounts::new(play.means);
        let mind = Mind::Probes(Probe::new(play.start, &mut accounts));
        let hand = Hand { mind, accounts, play: *play, now: play.start };
        vec![Seat::adversary(hand).with_jitter(play.jitter)]
    }
}

/// What he is about.
enum Mind {
    /// Finds out what it is.
    Probes(Probe),
    /// Measures a time.
    Times((Kind, u32), Relative),
    /// Measures windows of the clock.
    Bounds((Kind, u32), Boundaries),
    /// Measures how long a lockout counts, its lock being known.
    Counts(Known, u32, Within),
    /// Attacks by a clock that is so far behind.
    Attacks(Attack, Span),
}

struct Hand {
    mind: Mind,
    accounts: Accounts,
    play: Play,
    now: Timestamp,
}

impl Actor for Hand {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.now = answer.at;
        }
        let mut last = last.copied();
        loop {
            if let Mind::Attacks(attack, behind) = &mut self.mind {
                let heard = last.map(|answer| Answer { at: before(answer.at, *behind), ..answer });
                let act = attack.next(heard.as_ref(), chance)?;
                return Some(Act { at: act.at.saturating_add(*behind), ..act });
            }
            match self.think(last.as_ref()) {
                Said::Does(act) if act.at < self.latest() => return Some(act),
                Said::Knows(mind) => self.mind = mind,
                // What he does not know by now is of no use any more.
                Said::Does(_) | Said::GivesUp => self.mind = self.blind(),
            }
            last = None;
        }
    }

    fn is_learning(&self) -> bool {
        !matches!(self.mind, Mind::Attacks(..))
    }
}

impl Hand {
    /// Returns the instant by which he attacks, whatever he knows: three quarters of his time.
    fn latest(&self) -> Timestamp {
        before(self.play.end(), Span::from_micros(self.play.length.as_micros() >> 2))
    }

    /// Goes on with what he is about.
    fn think(&mut self, last: Option<&Answer>) -> Said<Mind> {
        let (play, now, latest) = (self.play, self.now, self.latest());
        let attack = |learnt: Option<Learnt>| match learnt {
            Some(learnt) => Said::Knows(learnt.attacks(&play, now)),
            None => Said::GivesUp,
        };
        match &mut self.mind {
            Mind::Probes(probe) => probe.next(last, &mut self.accounts).then(|found| {
                let what = (found.kind, found.limit);
                Said::Knows(match found.kind {
                    Kind::Clock | Kind::Counter => {
                        Mind::Bounds(what, Boundaries::new(&found, play.jitter, latest))
                    }
                    _ => Mind::Times(what, Relative::new(&found)),
                })
            }),
            Mind::Times((kind, limit), times) => {
                let (kind, limit) = (*kind, *limit);
                times.next(last, now).then(|time| match kind {
                    Kind::Lockout => {
                        let quarter = latest.saturating_since(now).as_micros() >> 2;
                        let most = time.most.saturating_mul(LONGER).min(quarter);
                        Said::Knows(Mind::Counts(time, limit, Within::new(most, limit, now)))
                    }
                    _ => attack(Learnt::of_time(kind, limit, time)),
                })
            }
            Mind::Counts(lock, limit, within) => {
                let (lock, limit) = (*lock, *limit);
                within
                    .next(last, &mut self.accounts)
                    .then(|within| attack(Learnt::of_lock(limit, within, lock)))
            }
            Mind::Bounds((kind, limit), bounds) => {
                let (kind, limit) = (*kind, *limit);
                let said = bounds.next(last, &mut self.accounts);
                said.then(|windows| attack(Learnt::of_windows(kind, limit, &windows)))
            }
            Mind::Attacks(..) => Said::GivesUp,
        }
    }

    /// Attacks without knowing when: asks so often that little is missed.
    fn blind(&self) -> Mind {
        let every = Span::from_micros(self.play.length.as_micros() / BLIND_REQUESTS);
        let greedy = Evenly::new(Callers::one(), self.now, every, &self.play);
        Mind::Attacks(Attack::of([Seat::adversary(greedy)]), Span::ZERO)
    }
}

/// So many requests he makes who has not learnt when to ask.
const BLIND_REQUESTS: u64 = 10_000;

/// A lockout that counts for so many times its lock and longer is not looked into.
const LONGER: u64 = 16;

/// What he has learnt.
#[derive(Clone, Copy)]
struct Learnt {
    quota: Quota,
    by: &'static dyn Adversary,
    /// How far the clock is behind by which its windows begin at multiples of their length.
    behind: Span,
    /// By how many microseconds his instants may be wrong.
    unsure: u64,
}

impl Learnt {
    fn of_time(kind: Kind, limit: u32, time: Known) -> Option<Self> {
        let (limit, span) = (u64::from(limit), Span::from_micros(time.most));
        let quota = match kind {
            Kind::FirstHit => Quota::fixed_window(limit, span, Anchor::FirstHit),
            Kind::Bucket => Quota::token_bucket(limit, Rate::from_parts(1, time.most).ok()?),
            _ => Quota::sliding_log(limit, span),
        };
        Some(Self::timeless(quota.ok()?, &Anchored, time.open()))
    }

    /// What is known of a lockout; how long it counts is not where that is too long to wait for.
    fn of_lock(attempts: u32, within: Option<Known>, lock: Known) -> Option<Self> {
        let span = |known: Known| Span::from_micros(known.most);
        let quota = Quota::lockout(attempts.into(), span(within.unwrap_or(lock)), span(lock)).ok()?;
        Some(match within {
            Some(within) => Self::timeless(quota, &Anchored, within.open().max(lock.open())),
            None => Self::timeless(quota, &Refill, lock.open()),
        })
    }

    fn timeless(quota: Quota, by: &'static dyn Adversary, unsure: u64) -> Self {
        let by: &'static dyn Adversary = if by.fits(&Aim::at(quota)) { by } else { &Refill };
        Self { quota, by, behind: Span::ZERO, unsure }
    }

    fn of_windows(kind: Kind, limit: u32, windows: &Windows) -> Option<Self> {
        let window = windows.window.roundest();
        let (quota, by): (_, &'static dyn Adversary) = match kind {
            Kind::Counter => (Quota::sliding_counter(limit.into(), Span::from_micros(window)), &Weighted),
            _ => (Quota::fixed_window(limit.into(), Span::from_micros(window), Anchor::Clock), &Boundary),
        };
        // A counter's weight has fallen a microsecond after the boundary; with a limit of one it looks like a window.
        let late = u64::from(kind == Kind::Counter);
        let seen = windows.boundary.by.saturating_since(windows.boundary.after).as_micros().saturating_sub(1);
        let unsure = seen
            .saturating_add(windows.window.open().saturating_mul(2))
            .saturating_add(u64::from(limit == 1));
        let behind = windows.boundary.by.as_micros().saturating_sub(late).checked_rem(window)?;
        // Where windows may begin with the epoch, they do.
        let behind = if behind <= unsure { 0 } else { behind };
        Some(Self { quota: quota.ok()?, by, behind: Span::from_micros(behind), unsure })
    }

    /// Attacks from now on.
    fn attacks(self, play: &Play, now: Timestamp) -> Mind {
        let jitter = Span::from_micros(self.unsure.div_ceil(3)).max(play.jitter);
        let length = play.end().saturating_since(now);
        let own = Play { start: before(now, self.behind), length, jitter, ..*play };
        Mind::Attacks(Attack::of(self.by.seats(&Aim::at(self.quota), &own)), self.behind)
    }
}

/// The hands of another adversary in one.
struct Attack {
    hands: Vec<(Box<dyn Actor>, Option<Act>)>,
    /// Whose turn it was, if any has begun.
    turn: Option<usize>,
}

impl Attack {
    fn of(seats: impl IntoIterator<Item = Seat>) -> Self {
        Self { hands: seats.into_iter().map(|seat| (seat.actor, None)).collect(), turn: None }
    }
}

impl Actor for Attack {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        match self.turn.and_then(|turn| self.hands.get_mut(turn)) {
            Some((hand, act)) => *act = hand.next(last, chance),
            None => self.hands.iter_mut().for_each(|(hand, act)| *act = hand.next(None, chance)),
        }
        let planned = self.hands.iter().enumerate().filter_map(|(index, (_, act))| Some((index, (*act)?)));
        let (turn, act) = planned.min_by_key(|(_, act)| act.at)?;
        self.turn = Some(turn);
        Some(act)
    }
}
