//! What was measured, and what follows from it.

use tidegate_algorithms::Span;
use tidegate_review::{DAY, float, spoken_chance, spoken_count};

use super::Guessing;
use crate::world::Operations;

/// A bound of more than so many times what was seen need not be told to the last digit.
const FAR: u128 = 100;
/// Of fewer tries than these a share in percent says more than was seen.
const FEW_TRIES: u64 = 100;

/// How many requests passed in a span, and the most that may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct InSpan {
    /// The span, in microseconds.
    pub micros: u64,
    /// How many passed; those that were decided without the store are not among them.
    pub seen: u64,
    /// The most that the limits let pass by their closed forms; `None` when nothing limits.
    pub bound: Option<u128>,
}

impl InSpan {
    /// Writes how much passed, of how much can: `10 of 10`, `60,000 of 52 billion`, or `1,000, no limit`.
    pub fn of_bound(&self) -> String {
        let seen = spoken_count(self.seen.into());
        match self.bound {
            Some(bound) => format!("{seen} of {}", bound_in_words(bound, self.seen)),
            None => format!("{seen}, no limit"),
        }
    }

    /// Returns whether more passed than can have: a fault of ours, unless the store is one that is wrong on purpose.
    pub fn is_exceeded(&self) -> bool {
        self.bound.is_some_and(|bound| u128::from(self.seen) > bound)
    }
}

/// What people met beside the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PeopleSeen {
    /// Requests of people.
    pub tries: u64,
    /// How many of them were refused.
    pub denied: u64,
    /// How many people wanted something.
    pub people: u64,
    /// How many of them never got through.
    pub shut_out: u64,
}

impl PeopleSeen {
    /// Returns the share of tries that were refused; `None` without any.
    pub fn share_denied(&self) -> Option<f64> {
        (self.tries > 0).then(|| float(self.denied) / float(self.tries))
    }

    /// Writes how many tries were refused: of few in numbers, of more as a share; `None` without any.
    pub fn denied_in_words(&self) -> Option<String> {
        let share = self.share_denied()?;
        let in_numbers = || format!("{} of {}", self.denied, self.tries);
        Some(if self.tries < FEW_TRIES { in_numbers() } else { spoken_chance(share) })
    }

    /// Returns the share of people who never got through; `None` without any.
    pub fn share_shut_out(&self) -> Option<f64> {
        (self.people > 0).then(|| float(self.shut_out) / float(self.people))
    }
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Measured {
    /// The adversary's requests.
    pub requests: u64,
    /// How many passed.
    pub admitted: u64,
    /// How many guesses those carried.
    pub guesses: u64,
    /// How many passed that were decided without the store.
    pub without_store: u64,
    /// The fullest half-open spans.
    pub peaks: Vec<InSpan>,
    /// What passed within closed times from the first request, of the times that the attack went on for. Of the longest, what
    /// lies beyond the attack's end is missing.
    pub first: Vec<InSpan>,
    /// The least σ for which no span s held more than σ + ρ·s, ρ being the rate of the long run; rounded up. Those that were
    /// decided without the store are not counted.
    pub envelope: u64,
    /// The rate ρ of the envelope, in requests a second.
    pub rate_per_second: f64,
    /// The most that may have passed by their closed forms within closed times from the first request, as time in microseconds
    /// and count, for a drawing; empty when nothing limits.
    #[serde(skip)]
    pub bounds: Vec<(u64, u128)>,
    /// How many passed in the second half of the attack, and the length of that half in microseconds.
    ///
    /// Of an attack that ended early it is the time from about its middle on, or from the last instant before that is known.
    pub sustained: (u64, u64),
    /// How many guesses were made in that half.
    pub sustained_guesses: u64,
    /// How many requests passed in that half that were decided without the store, and how many guesses they carried.
    #[serde(skip)]
    pub sustained_without_store: (u64, u64),
    /// The most requests that the limits let pass a day in the long run, for the keys that were touched; `None` when nothing
    /// limits.
    pub most_per_day: Option<f64>,
    /// The same by those limits alone of which nothing more was touched in that half.
    #[serde(skip)]
    pub settled_per_day: Option<f64>,
    /// Whether it was over before the play was, by itself or since a scenario stops it: it has no rate at which it would go on.
    pub is_over: bool,
    /// Whether it went on for less than four of the longest windows of the limits, so that its half tells little of the long
    /// run.
    pub is_short: bool,
    /// How long after its start the adversary's first request came, in microseconds.
    pub begun: u64,
    /// How long after its start it ended, in microseconds, if it was to go on longer but too many requests were made.
    pub ended: Option<u64>,
    /// The times in microseconds after the first request at which the wanted guesses were made, as far as they were.
    pub times: Vec<Option<u64>>,
    /// How many subjects were reached by a guess, as far as they are told apart: up to 2^22.
    pub subjects: u64,
    /// What people met.
    pub people: PeopleSeen,
    /// The adversary's admitted requests as time in microseconds after the start and count so far, thinned out for a drawing:
    /// at most 2,000 points, the first and the last instant among them.
    pub curve: Vec<(u64, u64)>,
    /// How many keys and bytes stores held at the end.
    pub state: (u64, u64),
    /// What the stores were asked for.
    #[serde(skip)]
    pub operations: Operations,
    /// What was seen of a guess at the wanted code.
    #[serde(skip)]
    pub guessing: Option<Guessing>,
}

impl Measured {
    /// Returns whether more passed than can have, in any span: a fault of ours, unless the store is one that is wrong on
    /// purpose.
    pub fn is_exceeded(&self) -> bool {
        self.peaks.iter().chain(&self.first).any(InSpan::is_exceeded)
    }

    /// Returns how many passed that the store has decided.
    pub fn admitted_with_store(&self) -> u64 {
        self.admitted.saturating_sub(self.without_store)
    }

    /// Returns how many of the adversary's requests were refused.
    pub fn refused(&self) -> u64 {
        self.requests.saturating_sub(self.admitted)
    }

    /// Returns the sustained rate as requests a day; zero where no half was measured.
    pub fn per_day(&self) -> f64 {
        a_day(self.sustained.0, self.sustained.1)
    }

    /// Returns the fullest half-open span of a length, if it was looked for.
    pub fn peak(&self, span: Span) -> Option<&InSpan> {
        self.peaks.iter().find(|peak| peak.micros == span.as_micros())
    }

    /// Returns how many times a number of units, a limit's by its name, the fullest span of a length held; `None` when it was
    /// not looked for, or for no units.
    pub fn peak_ratio(&self, span: Span, nominal: u32) -> Option<f64> {
        let peak = self.peak(span).filter(|_| nominal > 0)?;
        Some(float(peak.seen) / f64::from(nominal))
    }

    /// Returns what was seen of the closed time from the first request, if the attack went on for so long.
    pub fn first(&self, span: Span) -> Option<&InSpan> {
        self.first.iter().find(|first| first.micros == span.as_micros())
    }

    /// Returns how long it went on of the length it was to.
    pub fn went_on(&self, length: Span) -> Span {
        self.ended.map_or(length, |ended| length.min(Span::from_micros(ended)))
    }
}

/// Writes a bound that nobody comes near: in full as long as it can be read, else in two digits.
fn bound_in_words(bound: u128, seen: u64) -> String {
    const UNITS: [(u128, &str); 3] =
        [(1_000_000_000_000, "trillion"), (1_000_000_000, "billion"), (1_000_000, "million")];
    let is_far = u128::from(seen).saturating_mul(FAR) < bound;
    match UNITS.into_iter().find(|(unit, _)| is_far && bound >= *unit) {
        None => spoken_count(bound),
        Some((unit, name)) => {
            let many = float(bound) / float(unit);
            let digits = usize::from(many < 10.0);
            format!("{many:.digits$} {name}")
        }
    }
}

/// Returns a count in so many microseconds as one a day.
pub(super) fn a_day(count: u64, micros: u64) -> f64 {
    if micros == 0 { 0.0 } else { float(count) * float(DAY.as_micros()) / float(micros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards readers against twelve digits of a bound that nobody comes near, and against one rounded where it is met.
    #[test]
    fn a_bound_is_told_in_full_unless_it_is_large_and_far_off() {
        let told = |seen, bound| InSpan { micros: 1, seen, bound: Some(bound) }.of_bound();
        assert_eq!(told(60_000, 51_876_000_000), "60,000 of 52 billion");
        assert_eq!(told(2_000, 5_764_000), "2,000 of 5.8 million");
        assert_eq!(told(100_000, 5_764_000), "100,000 of 5,764,000");
        assert_eq!(told(1, 999_999), "1 of 999,999");
        assert_eq!(InSpan { micros: 1, seen: 1_000, bound: None }.of_bound(), "1,000, no limit");
    }

    /// Guards against a share to four digits that nine tries do not show.
    #[test]
    fn of_few_tries_it_is_told_how_many_were_refused() {
        let told = |denied, tries| PeopleSeen { tries, denied, ..PeopleSeen::default() }.denied_in_words();
        assert_eq!(told(9, 9).as_deref(), Some("9 of 9"));
        assert_eq!(told(50, 200).as_deref(), Some("25 %"));
        assert_eq!(told(0, 0), None);
    }
}
