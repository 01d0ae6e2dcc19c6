//! One adversary at one rule: his plays, and the row they come to.

use std::sync::{Arc, OnceLock};

use tidegate::BuildError;
use tidegate_algorithms::Span;

use super::Options;
use super::plays::{Effort, long, most_requests, short};
use crate::adversary::{Adversary, Aim, Beside, Exposed, Means, Play, named};
use crate::measure::{InSpan, Measured};
use crate::report::{GuessSeen, Row};
use crate::stage::Stage;

/// An adversary at a rule, with all that is needed to play him.
pub(crate) struct Attack {
    adversary: &'static dyn Adversary,
    aim: Aim,
    stage: Stage,
    means: Means,
    effort: Effort,
    alone: Arc<OnceLock<Measured>>,
}

/// What an adversary came to.
pub(crate) struct Done {
    pub(crate) row: Row,
    pub(crate) exposed: Option<Exposed>,
    pub(crate) requests: u64,
}

impl Attack {
    /// Returns the attacks of every adversary that fits an aim: one, or one for each limit.
    pub(crate) fn all(
        adversaries: &[&'static dyn Adversary],
        aim: &Aim,
        stage: &Stage,
        options: &Options,
    ) -> impl Iterator<Item = Self> {
        let alone = Arc::default();
        let attack = |adversary: &&'static dyn Adversary| {
            let focuses = if adversary.is_for_one_limit() { aim.guards.len() } else { 1 };
            let aims = (0..focuses).map(|focus| Aim { focus, ..aim.clone() });
            let fitting = aims.filter(|aim| adversary.fits(aim));
            let attacks = fitting.map(|aim| Self {
                adversary: *adversary,
                aim,
                stage: stage.clone(),
                means: options.means,
                effort: options.effort,
                alone: Arc::clone(&alone),
            });
            attacks.collect::<Vec<_>>()
        };
        adversaries.iter().flat_map(attack).collect::<Vec<_>>().into_iter()
    }

    fn short(&self) -> Vec<Play> {
        short(self.adversary, &self.aim, self.means, &self.effort)
    }

    /// Returns how many plays it takes.
    pub(crate) fn plays(&self) -> usize {
        self.short().len().saturating_add(1)
    }

    /// Plays it short and often, then long from where most was let through; `played` is called after each play.
    ///
    /// # Errors
    /// When the limits cannot be built.
    pub(crate) fn run(&self, played: &dyn Fn()) -> Result<Done, BuildError> {
        let brief = Stage { most_requests: self.effort.short_requests, ..self.stage.clone() };
        let (mut requests, mut tried) = (0_u64, Vec::new());
        for play in self.short() {
            let measured = brief.play(self.adversary, &self.aim, &play)?;
            requests = requests.saturating_add(measured.requests);
            tried.push((play, measured));
            played();
        }
        // Of equals the last; the first ones begin where many clocks do.
        let most = tried.iter().max_by_key(|(_, measured)| gravity(measured));
        let Some(play) = most.map(|(play, _)| long(play, &self.effort)) else {
            return Ok(Done {
                row: self.row(&tried, Measured::default(), Span::ZERO),
                exposed: None,
                requests,
            });
        };
        let at_length = Stage { most_requests: most_requests(&self.effort), ..self.stage.clone() };
        let measured = at_length.play(self.adversary, &self.aim, &play)?;
        played();
        requests = requests.saturating_add(measured.requests);
        let exposed = self.exposed(&at_length, &measured, &play)?;
        Ok(Done { row: self.row(&tried, measured, play.length), exposed, requests })
    }

    /// Returns the mistake that the long play shows beside what a single client reaches in the same time.
    fn exposed(&self, stage: &Stage, attack: &Measured, play: &Play) -> Result<Option<Exposed>, BuildError> {
        let alone = match (self.alone.get(), named("greedy")) {
            (Some(alone), _) => alone.clone(),
            (None, Some(greedy)) => {
                let measured = stage.play(greedy, &self.aim, play)?;
                self.alone.get_or_init(|| measured).clone()
            }
            (None, None) => Measured::default(),
        };
        Ok(self.adversary.exposes(&self.aim, &Beside { alone: &alone, attack, play }))
    }

    fn row(&self, tried: &[(Play, Measured)], at_length: Measured, length: Span) -> Row {
        let guesses = tried.iter().map(|(_, measured)| measured.guesses);
        let between = (guesses.clone().min().unwrap_or(0), guesses.max().unwrap_or(0));
        let close_up = tried.iter().max_by_key(|(_, measured)| gravity(measured));
        let mut worst = at_length;
        for (_, measured) in tried {
            take_worse(&mut worst.peaks, &measured.peaks);
            take_worse(&mut worst.first, &measured.first);
        }
        let limit = self.adversary.is_for_one_limit().then(|| self.aim.guard()).flatten();
        Row {
            adversary: self.adversary.name(),
            what: self.adversary.what(),
            needs: self.adversary.needs().iter().map(|need| need.words()).collect(),
            with: self.adversary.with(&self.means),
            limit: limit.map(|guard| guard.name.clone()),
            plays: u32::try_from(tried.len()).unwrap_or(u32::MAX).saturating_add(1),
            start_micros: close_up.map_or(0, |(play, _)| play.start.as_micros()),
            length_micros: length.as_micros(),
            guess: self.stage.guess.as_ref().map(|guess| GuessSeen::of(guess, &worst, length)),
            money: self
                .aim
                .price
                .as_ref()
                .map(|price| (worst.admitted.saturating_mul(price.each.into()), price.unit.clone())),
            is_exceeded: worst.is_exceeded(),
            between,
            close_up: close_up.map_or_else(Vec::new, |(_, measured)| measured.curve.clone()),
            worst,
        }
    }
}

/// Orders plays by how much they let through, most of all at once, then in all; and by how much people were denied.
fn gravity(measured: &Measured) -> (u64, u64, u64) {
    let at_once = measured.peaks.first().map_or(0, |peak| peak.seen);
    (measured.guesses, measured.people.denied, at_once)
}

/// Puts the fuller of two spans of one length in the first one's place.
fn take_worse(all: &mut [InSpan], others: &[InSpan]) {
    for span in all {
        if let Some(other) = others.iter().find(|other| other.micros == span.micros)
            && (other.is_exceeded(), other.seen) > (span.is_exceeded(), span.seen)
        {
            *span = *other;
        }
    }
}
