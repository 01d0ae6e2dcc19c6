//! One attack, played once: a fresh world, the adversary's seats, and what was measured.

use std::sync::Arc;

use tidegate::BuildError;
use tidegate_algorithms::{LongRun, Quota, Span};
use tidegate_review::{DAY, Guess};

use crate::adversary::{Adversary, Aim, Play};
use crate::measure::{Measure, Measured, Wanted};
use crate::simulate::{Course, simulate};
use crate::target::Target;
use crate::world::World;

/// The spans that every attack is told by: a second, a minute, an hour, a day.
pub const SPANS: [Span; 4] = [Span::from_secs(1), Span::from_secs(60), Span::from_secs(3600), DAY];

/// What is attacked, how, and with which chance.
#[derive(Clone)]
pub struct Stage {
    /// What requests are made of.
    pub target: Arc<dyn Target>,
    /// Where chance begins.
    pub seed: u64,
    /// The most requests of one attack.
    pub most_requests: u64,
    /// The numbers of guesses whose instants are wanted, ascending.
    pub guesses: Vec<u64>,
    /// The code that is guessed at, if times to a hit are wanted.
    pub guess: Option<Guess>,
    /// Spans whose fullest is looked for, beside the usual ones and the limits' windows.
    pub spans: Vec<Span>,
}

impl Stage {
    /// Takes what is attacked; attacks have no end but their length, and the instants of guesses are not wanted one by one.
    pub fn new(target: Arc<dyn Target>, seed: u64, guess: Option<Guess>) -> Self {
        Self { target, seed, most_requests: u64::MAX, guesses: Vec::new(), guess, spans: Vec::new() }
    }

    /// Looks for the fullest of these spans as well.
    #[must_use]
    pub fn watching(self, spans: impl IntoIterator<Item = Span>) -> Self {
        Self { spans: spans.into_iter().collect(), ..self }
    }

    /// Plays an attack.
    ///
    /// # Errors
    /// When the limits cannot be built.
    pub fn play(&self, adversary: &dyn Adversary, aim: &Aim, play: &Play) -> Result<Measured, BuildError> {
        let mut world = World::new(Arc::clone(&self.target), aim.setting)?;
        let mut measure = Measure::new(self.wanted(aim, play));
        let course = Course {
            until: play.end(),
            most_requests: self.most_requests.min(adversary.most_requests(aim, play)),
            seed: self.seed,
        };
        let (seats, incidents) = (adversary.seats(aim, play), adversary.incidents(aim, play));
        let played = simulate(&mut world, seats, incidents, course, &mut |event| measure.event(event));
        measure.ended(played.ended);
        let measured = measure.finish(&world, world.exposure());
        Ok(Measured { is_over: adversary.is_over_early(), ..measured })
    }

    pub(crate) fn wanted(&self, aim: &Aim, play: &Play) -> Wanted {
        let windows = aim.guards.iter().map(|guard| guard.quota.window());
        let mut spans: Vec<Span> = windows.chain(SPANS).chain(self.spans.iter().copied()).collect();
        spans.sort_unstable();
        spans.dedup();
        let rates = aim.guards.iter().map(|guard| guard.quota.long_run());
        let slowest = rates.min_by(|a, b| {
            let cross = |a: &LongRun, b: &LongRun| u128::from(a.units).saturating_mul(b.micros.into());
            cross(a, b).cmp(&cross(b, a))
        });
        Wanted {
            start: play.start,
            length: play.length,
            spans,
            first: SPANS.into_iter().filter(|span| *span <= play.length).collect(),
            rate: slowest.unwrap_or(LongRun { units: 0, micros: 1 }),
            window: aim.guards.iter().map(|guard| longest(&guard.quota)).max().unwrap_or(Span::ZERO),
            is_first: true,
            guesses: self.guesses.clone(),
            guess: self.guess,
        }
    }
}

/// Returns the longest time after which a limit may let through what it has not before.
fn longest(quota: &Quota) -> Span {
    match quota {
        Quota::Lockout(lockout) => lockout.within().max(lockout.lock()),
        _ => quota.window(),
    }
}
