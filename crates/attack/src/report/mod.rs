//! What the bench tells: data that a table, JSON and a page are written from.

mod comparison;
mod drawn;
mod page;
#[cfg(test)]
mod sample;

use serde::Serialize;
use tidegate::{Anchor, Quota};
use tidegate_algorithms::Span;
use tidegate_policy::Class;
use tidegate_review::{Allowance, DAY, Guess, GuessTimes, float, spoken_count, written};

use crate::adversary::Exposed;
use crate::measure::{InSpan, Measured};

pub use comparison::comparison_page;
pub use page::page;
pub use tidegate_trials::plot::letter;

/// What attacks on a policy came to.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The policy's name as it was given.
    pub policy: String,
    /// Where chance began.
    pub seed: u64,
    /// How many requests were simulated over all.
    pub requests: u64,
    /// What was played at every rule.
    pub rules: Vec<RuleReport>,
}

/// What attacks on one rule came to.
#[derive(Debug, Clone, Serialize)]
pub struct RuleReport {
    /// The rule's name.
    pub rule: String,
    /// The kind of endpoint.
    pub class: &'static str,
    /// The limits that its requests have to pass.
    pub limits: Vec<LimitShown>,
    /// The code that is guessed at, in words.
    pub code: Option<String>,
    /// The chance that one guess at that code hits.
    pub chance_of_one: Option<f64>,
    /// What it costs to shut somebody out beside how long a guess takes, of each limit by itself or of all together.
    pub trades: Vec<Trade>,
    /// Why nothing was played, if nothing was.
    pub skipped: Option<String>,
    /// What every adversary came to, at his worst.
    pub rows: Vec<Row>,
    /// The mistakes that were shown, the gravest first.
    pub exposed: Vec<Exposed>,
}

/// A limit as a report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitShown {
    /// Its name.
    pub name: String,
    /// Its sentence.
    pub says: String,
    /// Its algorithm and numbers.
    pub numbers: String,
    /// Its window in microseconds; of a bucket, the time it takes to fill.
    pub window_micros: u64,
    /// Whether windows begin by the clock, so that a drawing may show where.
    pub by_the_clock: bool,
}

/// What one adversary came to, at the worst of the instants and jitters he was played at.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// His name.
    pub adversary: &'static str,
    /// What he does.
    pub what: &'static str,
    /// What he needs, in words.
    pub needs: Vec<&'static str>,
    /// What he was played with, where it matters: `100 addresses`.
    pub with: Option<String>,
    /// The limit his schedule is made for, if it is made for one.
    pub limit: Option<String>,
    /// How often he was played.
    pub plays: u32,
    /// The instant at which the play that let most through began, in microseconds since the Unix epoch: where windows of
    /// the clock begin in a drawing of it.
    pub start_micros: u64,
    /// How long one play went on, in microseconds.
    pub length_micros: u64,
    /// What was measured in the long play; its fullest spans and first times are those of the fullest play, whichever.
    pub worst: Measured,
    /// The least and the most guesses that short plays let through: a single one can mislead.
    pub between: (u64, u64),
    /// What passed in the short play that let most through, as time in microseconds after the start and count so far.
    pub close_up: Vec<(u64, u64)>,
    /// How long a blind guess takes at what was seen.
    pub guess: Option<GuessSeen>,
    /// What the adversary's requests that passed cost the operator, and in what.
    pub money: Option<(u64, String)>,
    /// Whether more was seen than can be: a fault of ours.
    pub is_exceeded: bool,
}

/// What it costs to shut somebody out, beside how long a blind guess takes: a limit that is tighter makes the one cheaper
/// and the other longer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trade {
    /// What is weighed: a limit's name, or its numbers.
    pub what: String,
    /// How many requests an hour keep somebody out, over a day.
    pub requests_an_hour: f64,
    /// The time in seconds by which half of all blind guesses have succeeded; `None` for never.
    pub p50: Option<f64>,
}

/// How long a blind guess takes by what was seen; times in seconds, `None` for never.
///
/// Up to the end of a play it goes by the instants at which guesses were made, beyond by the sustained rate. Chances are of
/// the guesses made in that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GuessSeen {
    /// The mean.
    pub mean: Option<f64>,
    /// The time by which half have succeeded.
    pub p50: Option<f64>,
    /// The time by which 95 of 100 have.
    pub p95: Option<f64>,
    /// The chance within a day.
    pub chance_day: f64,
    /// The chance within a year.
    pub chance_year: f64,
    /// Whether any of them lies beyond the end of the play, so that the sustained rate was gone by.
    pub is_extended: bool,
}

impl RuleReport {
    /// Begins with a rule that nothing has been played at.
    pub fn new(rule: &str, class: Class) -> Self {
        Self {
            rule: rule.to_owned(),
            class: class.name(),
            limits: Vec::new(),
            code: None,
            chance_of_one: None,
            trades: Vec::new(),
            skipped: None,
            rows: Vec::new(),
            exposed: Vec::new(),
        }
    }

    /// Tells at what is guessed.
    #[must_use]
    pub fn guessing(self, guess: Option<&Guess>) -> Self {
        Self { code: guess.map(Guess::to_string), chance_of_one: guess.map(Guess::chance_of_one), ..self }
    }
}

impl LimitShown {
    /// Returns what is shown of a limit.
    pub fn of(name: &str, says: &str, quota: &Quota) -> Self {
        let by_the_clock = match quota {
            Quota::FixedWindow(quota) => quota.anchor() == Anchor::Clock,
            Quota::SlidingCounter(_) => true,
            _ => false,
        };
        Self {
            name: name.to_owned(),
            says: says.to_owned(),
            numbers: written(quota),
            window_micros: quota.window().as_micros(),
            by_the_clock,
        }
    }

    /// Returns its window; of a bucket, the time it takes to fill.
    pub fn window(&self) -> Span {
        Span::from_micros(self.window_micros)
    }
}

impl Trade {
    /// Weighs a quota, at one request a unit: what shuts somebody out for a day by it alone, and how long a guess takes that
    /// nothing else hinders. `None` for a quota for which the number of requests does not fit.
    pub fn of(what: &str, quota: &Quota, guess: &Guess) -> Option<Self> {
        // Half-open, as the bounds beside it are.
        let requests = quota.requests_to_deny(Span::from_micros(DAY.as_micros().saturating_sub(1)))?;
        let times = GuessTimes::of(guess, Allowance::of(std::slice::from_ref(quota)));
        let requests_an_hour = f64::from(u32::try_from(requests).unwrap_or(u32::MAX)) / 24.0;
        Some(Self { what: what.to_owned(), requests_an_hour, p50: times.p50 })
    }
}

impl Row {
    /// Returns the fullest span of a length, where it was played for so long or nothing fuller can be; of an attack that ended
    /// sooner, what was seen tells nothing of longer spans.
    pub fn told(&self, span: Span) -> Option<InSpan> {
        let peak = self.worst.peak(span)?;
        let is_played = self.worst.went_on(Span::from_micros(self.length_micros)) >= span;
        let is_full = peak.bound.is_some_and(|bound| u128::from(peak.seen) >= bound);
        (is_played || is_full).then_some(*peak)
    }

    /// Returns how much goes on a day beyond the play ([`Row::goes_on`]); nothing of an attack that was over before.
    pub fn then(&self, is_guessing: bool) -> Option<f64> {
        (!self.worst.is_over).then(|| self.goes_on(is_guessing))
    }

    /// Returns how much goes on a day beyond the play: guesses, or requests where no code is guessed at.
    pub fn goes_on(&self, is_guessing: bool) -> f64 {
        let length = Span::from_micros(self.length_micros);
        if is_guessing { self.worst.guesses_per_day(length) } else { self.worst.requests_per_day(length) }
    }

    /// Returns what a day costs the operator: of the fullest day, or of one that goes on where none was played.
    pub fn cost_a_day(&self) -> Option<(f64, &str)> {
        let (amount, unit) = self.money.as_ref()?;
        let each = float(*amount) / float(self.worst.admitted.max(1));
        // What is over cost what it cost.
        let other = || self.then(false).unwrap_or_else(|| float(self.worst.admitted));
        let day = self.told(DAY).map_or_else(other, |peak| float(peak.seen));
        Some((each * day, unit))
    }

    /// Writes how many passed that no limit counted, since the store was lost: what spans and first times leave out.
    pub fn uncounted(&self) -> Option<String> {
        let passed = self.worst.without_store;
        (passed > 0).then(|| format!("{} passed uncounted", spoken_count(passed.into())))
    }
}

impl Report {
    /// Returns whether something admitted more than it can: a fault of ours.
    pub fn is_exceeded(&self) -> bool {
        self.rows().any(|row| row.is_exceeded)
    }

    /// Returns whether more passed than a right store lets through, by one that is wrong on purpose.
    pub fn is_by_a_wrong_store(&self) -> bool {
        self.rows().any(|row| !row.is_exceeded && row.worst.is_exceeded())
    }

    /// Returns what adversaries came to, of all rules.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rules.iter().flat_map(|rule| &rule.rows)
    }
}
