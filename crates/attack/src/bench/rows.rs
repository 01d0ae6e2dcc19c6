//! One adversary at one rule: his plays, and the row they come to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate::BuildError;
use tidegate_algorithms::Span;

use super::Options;
use super::plays::{Effort, MONDAY, long, most_requests, short};
use crate::adversary::{Adversary, Aim, Beside, Exposed, Means, Play, simplest};
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
    alone: Arc<Alone>,
}

/// What a single client reaches at a rule, by how long he goes on: what all attacks on it are held against.
///
/// He always begins at one instant, so that it does not matter whose attack is the first to ask.
#[derive(Default)]
struct Alone(Mutex<BTreeMap<Span, Measured>>);

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
    ) -> Vec<Self> {
        let alone = Arc::default();
        let attack = |adversary: &&'static dyn Adversary| {
            let focuses = if adversary.is_for_one_limit() { aim.guards.len() } else { 1 };
            let aims = (0..focuses).map(|focus| Aim { focus, ..aim.clone() });
            let fitting: Vec<Aim> = aims.filter(|aim| adversary.fits(aim)).collect();
            fitting.into_iter().map(|aim| Self {
                adversary: *adversary,
                aim,
                stage: stage.clone(),
                means: options.means,
                effort: options.effort,
                alone: Arc::clone(&alone),
            })
        };
        adversaries.iter().flat_map(attack).collect()
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
        let fullest = tried.iter().max_by_key(|(_, measured)| gravity(measured));
        let Some(play) = fullest.map(|(play, _)| long(play, &self.effort)) else {
            return Ok(Done {
                row: self.row(&tried, None, Measured::default(), Span::ZERO),
                exposed: None,
                requests,
            });
        };
        let at_length = Stage { most_requests: most_requests(&self.effort), ..self.stage.clone() };
        let measured = at_length.play(self.adversary, &self.aim, &play)?;
        played();
        requests = requests.saturating_add(measured.requests);
        let exposed = self.exposed(&at_length, &measured, &play)?;
        Ok(Done { row: self.row(&tried, fullest, measured, play.length), exposed, requests })
    }

    /// Returns the mistake that the long play shows, beside what a single client reaches in the time that it went on for.
    fn exposed(&self, stage: &Stage, attack: &Measured, play: &Play) -> Result<Option<Exposed>, BuildError> {
        let alone = if self.adversary.is_held_against_one() {
            let as_long = Play { length: attack.went_on(play.length), ..*play };
            self.alone.reached(stage, &self.aim, &as_long)?
        } else {
            Measured::default()
        };
        Ok(self.adversary.exposes(&self.aim, &Beside { alone: &alone, attack, play }))
    }

    fn row(
        &self,
        tried: &[(Play, Measured)],
        fullest: Option<&(Play, Measured)>,
        at_length: Measured,
        length: Span,
    ) -> Row {
        let guesses = tried.iter().map(|(_, measured)| measured.guesses);
        let between = (guesses.clone().min().unwrap_or(0), guesses.max().unwrap_or(0));
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
            start_micros: fullest.map_or(0, |(play, _)| play.start.as_micros()),
            length_micros: length.as_micros(),
            guess: self.stage.guess.as_ref().map(|guess| GuessSeen::of(guess, &worst, length)),
            money: self.aim.price_of(worst.admitted),
            is_exceeded: worst.is_exceeded(),
            between,
            close_up: fullest.map_or_else(Vec::new, |(_, measured)| measured.curve.clone()),
            worst,
        }
    }
}

impl Alone {
    fn reached(&self, stage: &Stage, aim: &Aim, attack: &Play) -> Result<Measured, BuildError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measured) = known().get(&attack.length) {
            return Ok(measured.clone());
        }
        let play = Play { start: MONDAY, jitter: Span::ZERO, ..*attack };
        let measured = stage.play(simplest(), aim, &play)?;
        known().insert(attack.length, measured.clone());
        Ok(measured)
    }
}

/// Orders plays by how many guesses they let through, then by how many of people's requests were refused, then by how many
/// passed at once.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tidegate::{Anchor, Quota};

    use super::*;
    use crate::target::Bare;

    /// Guards figures against the order in which cores come to attacks: each holds its own against the same lone client.
    #[test]
    fn what_a_single_client_reaches_does_not_depend_on_whose_attack_asks_first() {
        let quota = Quota::fixed_window(5, Span::from_secs(30), Anchor::FirstHit).unwrap();
        let (aim, stage) = (Aim::at(quota), Stage::new(Arc::new(Bare::of(quota)), 1, None));
        let play = |micros, length| Play {
            start: MONDAY.saturating_add(Span::from_micros(micros)),
            length: Span::from_secs(length),
            jitter: Span::from_micros(micros),
            means: Means::default(),
        };
        let plays = [play(7, 100), play(29_000_000, 100), play(0, 50)];
        let reached = |order: [usize; 3]| {
            let alone = Alone::default();
            let mut all = order.map(|index| (index, alone.reached(&stage, &aim, &plays[index]).unwrap()));
            all.sort_by_key(|(index, _)| *index);
            all.map(|(_, measured)| measured)
        };
        assert_eq!(reached([0, 1, 2]), reached([2, 1, 0]));
        assert_eq!(reached([0, 1, 2]).map(|measured| measured.admitted), [20, 20, 10]);
    }

    /// Guards against an excess that a fuller span hides, whose bound is that of more keys.
    #[test]
    fn of_two_spans_the_one_that_exceeds_its_bound_is_kept_and_else_the_fuller() {
        let span = |seen, bound| InSpan { micros: 30, seen, bound: Some(bound) };
        for (held, other, kept) in [
            (span(11, 10), span(500, 1_000), span(11, 10)),
            (span(500, 1_000), span(11, 10), span(11, 10)),
            (span(10, 10), span(500, 1_000), span(500, 1_000)),
            (span(500, 1_000), span(10, 10), span(500, 1_000)),
        ] {
            let mut all = [held];
            take_worse(&mut all, &[InSpan { micros: 60, ..other }, other]);
            assert_eq!(all, [kept]);
        }
    }
}
