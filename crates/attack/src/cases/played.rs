//! What cases are played and computed with: limits and codes, attacks on them, and what passed.

use std::error::Error;
use std::sync::Arc;

use rand_distr::{Distribution, Uniform};
use tidegate::Limit;
use tidegate_algorithms::{Anchor, Quota, QuotaError, Rate, Span, Timestamp};
use tidegate_policy::Class;
use tidegate_review::{Allowance, DAY, Guess, GuessError, GuessTimes, YEAR};

use super::figure::Unit;
use crate::act::{Act, Actor, Answer, Chance, Role, Seat, Who};
use crate::adversary::{Aim, Keyed, Means, Play, VICTIM, address, named};
use crate::simulate::{Course, Event, simulate};
use crate::target::{Bare, KeyedLimits, Target};
use crate::world::{Incident, World};

pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// The first instant of a day and a week: 30 November 2026.
const MIDNIGHT: u64 = 1_795_996_800_000_000;
/// Where chance begins.
const SEED: u64 = 1;

pub(super) const SECOND: Span = Span::from_secs(1);

/// Keys by address alone, and by session alone.
pub(super) const BY_ADDRESS: Keyed =
    Keyed { subject: false, address: Some((32, 64)), session: false, range: false, country: false };
pub(super) const BY_SESSION: Keyed =
    Keyed { subject: false, address: None, session: true, range: false, country: false };

pub(super) fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

/// So many in each window of the clock.
pub(super) fn clock(limit: u64, window: u64) -> Result<Quota, QuotaError> {
    Quota::fixed_window(limit, secs(window), Anchor::Clock)
}

/// So many in each window that a first hit opens.
pub(super) fn first_hit(limit: u64, window: u64) -> Result<Quota, QuotaError> {
    Quota::fixed_window(limit, secs(window), Anchor::FirstHit)
}

/// So many in any window.
pub(super) fn log(limit: u64, window: u64) -> Result<Quota, QuotaError> {
    Quota::sliding_log(limit, secs(window))
}

/// So many in a window as a sliding counter estimates it.
pub(super) fn counter(limit: u64, window: u64) -> Result<Quota, QuotaError> {
    Quota::sliding_counter(limit, secs(window))
}

/// So many at once, then so many a time.
pub(super) fn bucket(capacity: u64, units: u64, period: u64) -> Result<Quota, QuotaError> {
    Quota::token_bucket(capacity, Rate::new(units, secs(period))?)
}

/// A code of so many digits, of which so many are right at once.
pub(super) fn digits(digits: u32, valid: u32) -> Result<Guess, GuessError> {
    Guess::new(10, digits, valid)
}

/// When a blind guess succeeds under limits together.
pub(super) fn times(guess: &Guess, quotas: &[Quota]) -> GuessTimes {
    GuessTimes::of(guess, Allowance::of(quotas))
}

/// Returns a time in seconds, endless for never, in a unit of time.
pub(super) fn in_unit(seconds: Option<f64>, unit: Unit) -> f64 {
    let seconds = seconds.unwrap_or(f64::INFINITY);
    let length = match unit {
        Unit::Minutes => 60.0,
        Unit::Hours => 3_600.0,
        Unit::Days => float(DAY.as_micros()) / 1e6,
        Unit::Months => float(YEAR.as_micros()) / 12e6,
        Unit::Years => float(YEAR.as_micros()) / 1e6,
        _ => 1.0,
    };
    seconds / length
}

/// Returns how many rounds it takes to a chance, each with a chance of its own: ln(1 − chance) / ln(1 − each).
pub(super) fn rounds(chance: f64, each: f64) -> f64 {
    (-chance).ln_1p() / (-each).ln_1p()
}

#[expect(clippy::cast_precision_loss, reason = "counts here are below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// Returns a count as a figure has it.
#[expect(clippy::cast_precision_loss, reason = "bounds here are below 2^53")]
pub(super) fn wide(count: u128) -> f64 {
    count as f64
}

/// Begins so long into a day, and goes on for so long.
pub(super) fn play(phase: Span, length: Span) -> Play {
    let start = Timestamp::saturating_from_micros(MIDNIGHT.saturating_add(phase.as_micros()));
    Play { start, length, jitter: Span::ZERO, means: Means::default() }
}

/// What passed of an attack, and what other people met.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The instants in microseconds, one for each guess that passed, ascending.
    at: Vec<u64>,
    /// How many requests the attacker made.
    pub(super) requests: u64,
    /// How often people tried, and how often they were refused.
    pub(super) people: (u64, u64),
}

impl Passed {
    fn take(&mut self, event: &Event) {
        match event.role {
            Role::Person => {
                self.people.0 = self.people.0.saturating_add(1);
                self.people.1 = self.people.1.saturating_add(u64::from(!event.admitted));
            }
            Role::Adversary => {
                self.requests = self.requests.saturating_add(1);
                let guesses = if event.admitted { event.guesses } else { 0 };
                self.at.extend((0..guesses).map(|_| event.at.as_micros()));
            }
        }
    }

    /// Returns how many guesses passed.
    pub(super) fn count(&self) -> f64 {
        wide(self.at.len() as u128)
    }

    /// Returns the most that passed within a closed span [t, t + s].
    pub(super) fn fullest_closed(&self, span: Span) -> f64 {
        let mut from = 0_usize;
        let ends = self.at.iter().enumerate().map(|(index, at)| {
            while self.at.get(from).is_some_and(|first| first.saturating_add(span.as_micros()) < *at) {
                from = from.saturating_add(1);
            }
            index.saturating_sub(from).saturating_add(1)
        });
        wide(ends.max().unwrap_or(0) as u128)
    }

    /// Returns the most that passed within a half-open span [t, t + s).
    pub(super) fn fullest(&self, span: Span) -> f64 {
        self.fullest_closed(Span::from_micros(span.as_micros().saturating_sub(1)))
    }

    /// Returns how many passed within a closed span from the first.
    pub(super) fn first(&self, span: Span) -> f64 {
        let begun = self.at.first().copied().unwrap_or(0);
        let end = begun.saturating_add(span.as_micros());
        wide(self.at.partition_point(|at| *at <= end) as u128)
    }

    /// Returns how many seconds after the first guess the n-th passed.
    pub(super) fn seconds_to(&self, number: u128) -> Option<f64> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let at = self.at.get(index)?.saturating_sub(*self.at.first()?);
        Some(float(at) / 1e6)
    }

    /// Returns the share of people's tries that were refused, of a hundred.
    pub(super) fn percent_denied(&self) -> f64 {
        let (tries, denied) = self.people;
        100.0 * float(denied) / float(tries.max(1))
    }
}

/// Plays seats at limits, with chance that begins at `seed`.
pub(super) fn seated(
    target: Arc<dyn Target>,
    aim: &Aim,
    play: &Play,
    seats: Vec<Seat>,
    seed: u64,
) -> Result<Passed, Fault> {
    happening(target, aim, play, (seats, Vec::new()), seed)
}

/// Plays seats at limits while things happen to stores and processes.
fn happening(
    target: Arc<dyn Target>,
    aim: &Aim,
    play: &Play,
    (seats, incidents): (Vec<Seat>, Vec<Incident>),
    seed: u64,
) -> Result<Passed, Fault> {
    let mut world = World::new(target, aim.setting)?;
    let course = Course { until: play.end(), most_requests: u64::MAX, seed };
    let mut passed = Passed::default();
    simulate(&mut world, seats, incidents, course, &mut |event| passed.take(event));
    Ok(passed)
}

/// Plays seats at one quota on one key.
pub(super) fn seated_at(quota: Quota, play: &Play, seats: Vec<Seat>) -> Result<Passed, Fault> {
    seated(Arc::new(Bare::of(quota)), &Aim::at(quota), play, seats, SEED)
}

/// Plays the adversary of a name at limits.
pub(super) fn against(
    target: Arc<dyn Target>,
    adversary: &str,
    aim: &Aim,
    play: &Play,
) -> Result<Passed, Fault> {
    let adversary = named(adversary).ok_or_else(|| format!("there is no adversary {adversary}"))?;
    if !adversary.fits(aim) {
        return Err(format!("{} does not fit the limits", adversary.name()).into());
    }
    let played = (adversary.seats(aim, play), adversary.incidents(aim, play));
    happening(target, aim, play, played, SEED)
}

/// Plays the adversary of a name at the quota that is aimed at.
pub(super) fn at_quota(adversary: &str, aim: &Aim, play: &Play) -> Result<Passed, Fault> {
    let guard = aim.guard().ok_or("nothing is aimed at")?;
    against(Arc::new(Bare::of(guard.quota)), adversary, aim, play)
}

/// Builds limits with one on keys of a kind, and what is known of it.
pub(super) fn keyed(quota: Quota, keyed: Keyed) -> (Arc<dyn Target>, Aim) {
    let limits = KeyedLimits::new([(Limit::new("limit", quota), keyed)]);
    let aim = limits.aim(Class::Verify);
    (Arc::new(limits), aim)
}

/// Asks about the victim every so often, each time late by up to so much, in a new session after so many.
pub(super) struct Evenly {
    pub(super) at: Timestamp,
    pub(super) every: Span,
    pub(super) late: Span,
    pub(super) per_session: u32,
    pub(super) made: u32,
}

impl Evenly {
    pub(super) fn from(play: &Play, every: Span) -> Self {
        Self { at: play.start, every, late: Span::ZERO, per_session: u32::MAX, made: 0 }
    }
}

impl Actor for Evenly {
    fn next(&mut self, _last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        let late = Uniform::new_inclusive(0, self.late.as_micros()).ok()?.sample(chance);
        let at = self.at.saturating_add(Span::from_micros(late));
        let session = self.made.checked_div(self.per_session).unwrap_or(0);
        self.at = self.at.saturating_add(self.every);
        self.made = self.made.saturating_add(1);
        Some(Act::one(at, Who { session, ..Who::new(VICTIM, address(0)) }))
    }
}

/// Makes one request at an instant.
pub(super) struct Once(pub(super) Option<Timestamp>);

impl Actor for Once {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let at = self.0.take()?;
        Some(Act::one(at, Who::new(VICTIM, address(0))))
    }
}
