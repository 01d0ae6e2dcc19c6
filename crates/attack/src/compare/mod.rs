//! Several limits under the same attacks, side by side, and what to use to promise a number.

mod promise;

use std::sync::Arc;

use serde::Serialize;
use tidegate::{BuildError, Quota};
use tidegate_algorithms::Span;
use tidegate_review::{Allowance, DAY, Guess, GuessTimes, float, written};

use crate::adversary::{Aim, adversaries, simplest};
use crate::bench::{Attack, Options, run};
use crate::report::{LimitShown, Row, Trade};
use crate::stage::Stage;
use crate::target::{Bare, Target};

pub use promise::{Promise, promises};

/// Limits side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Where chance began.
    pub seed: u64,
    /// The span whose fullest is compared, in microseconds.
    pub span_micros: u64,
    /// The code that is guessed at, in words.
    pub code: String,
    /// How many requests were simulated.
    pub requests: u64,
    /// The limits.
    pub columns: Vec<Column>,
    /// What keeps the promise that the first limit's numbers sound like: so many in its window.
    pub promise: Option<Promise>,
}

/// One limit of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// The limit.
    pub limit: LimitShown,
    /// The most that any half-open span of the compared length admits, by its closed form.
    pub bound: u128,
    /// The most that was seen in one.
    pub seen: u64,
    /// The adversary who reached it.
    pub by: &'static str,
    /// What one client gets at once, having been away.
    pub at_once: u64,
    /// What passes within a closed hour and a closed day from idle, at most.
    pub first: [u128; 2],
    /// What passes in a day in the long run, at most.
    pub a_day: f64,
    /// How long a blind guess takes at worst.
    pub half_after_secs: Option<f64>,
    /// The chance of a blind guesser within a year.
    pub chance_year: f64,
    /// The fewest requests that keep somebody refused for an hour.
    pub to_deny_an_hour: Option<u64>,
    /// What shutting somebody out costs over a day beside how long a guess takes, for a drawing.
    pub trade: Option<Trade>,
    /// The share of a person's tries that were refused while one kept his key full.
    pub denied: Option<f64>,
    /// The bytes of numbers that a key's state takes at most.
    pub bytes: u64,
    /// States read and written for a request that is admitted, and for one that is refused, as seen.
    pub operations: [[f64; 2]; 2],
    /// What every adversary came to.
    pub rows: Vec<Row>,
}

/// Plays the same attacks at every candidate.
///
/// The span is that of the first candidate's window unless said. `played` is called after every play with how many there are
/// in all.
///
/// # Errors
/// When the limits cannot be built.
pub fn compare(
    candidates: &[Quota],
    span: Option<Span>,
    guess: &Guess,
    options: &Options,
    played: &(dyn Fn(usize) + Sync),
) -> Result<Comparison, BuildError> {
    let span = span.or_else(|| candidates.first().map(Quota::window)).unwrap_or(DAY);
    let mut attacks = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let aim = Aim { code: None, ..Aim::at(*candidate) };
        let target: Arc<dyn Target> = Arc::new(Bare::of(*candidate));
        let stage = Stage::new(target, options.seed, Some(*guess)).watching([INSTANT, span]);
        let all = Attack::all(adversaries(), &aim, &stage, options);
        attacks.extend(all.into_iter().map(|attack| (index, attack)));
    }
    let columns = candidates.iter().map(|candidate| column(candidate, span, guess));
    // The promise is what the first limit's own numbers sound like, whatever span is compared.
    let first = candidates.first().map(|first| (first.nominal(), first.window()));
    let first = first.filter(|(_, window)| *window < LONGEST);
    let mut comparison = Comparison {
        seed: options.seed,
        span_micros: span.as_micros(),
        code: guess.to_string(),
        requests: 0,
        columns: columns.collect(),
        promise: first.and_then(|(most, window)| promises(most, window)),
    };
    for (index, done) in run(&attacks, played)? {
        comparison.requests = comparison.requests.saturating_add(done.requests);
        if let Some(column) = comparison.columns.get_mut(index) {
            column.take(done.row, span);
        }
    }
    Ok(comparison)
}

fn column(quota: &Quota, span: Span, guess: &Guess) -> Column {
    let times = GuessTimes::of(guess, Allowance::of(std::slice::from_ref(quota)));
    let rate = quota.long_run();
    Column {
        limit: LimitShown::of("", "", quota),
        bound: quota.most_in_half_open(span),
        seen: 0,
        by: "",
        at_once: 0,
        first: [HOUR, DAY].map(|horizon| quota.most_from_idle(horizon)),
        a_day: f64::from(rate.units) * 86_400e6 / float(rate.micros),
        half_after_secs: times.p50,
        chance_year: times.chance_year,
        // Half-open, as `bound` has it.
        to_deny_an_hour: quota.requests_to_deny(Span::from_micros(HOUR.as_micros().saturating_sub(1))),
        trade: Trade::of(&written(quota), quota, guess),
        denied: None,
        bytes: quota.state_bytes(),
        operations: [[0.0; 2]; 2],
        rows: Vec::new(),
    }
}

impl Comparison {
    /// Returns whether more was seen of any limit than can be: a fault of ours.
    pub fn is_exceeded(&self) -> bool {
        self.columns.iter().any(Column::is_exceeded)
    }
}

/// The shortest span, that of what passes at once.
const INSTANT: Span = Span::from_micros(1);
/// No promise is about a longer time than a hundred years.
const LONGEST: Span = Span::from_secs(36_500 * 86_400);
const HOUR: Span = Span::from_secs(3600);

impl Column {
    /// Takes in what an adversary came to.
    fn take(&mut self, row: Row, span: Span) {
        let measured = &row.worst;
        let seen = measured.peak(span).map_or(0, |peak| peak.seen);
        if seen > self.seen {
            (self.seen, self.by) = (seen, row.adversary);
        }
        self.at_once = self.at_once.max(measured.peak(INSTANT).map_or(0, |peak| peak.seen));
        if row.adversary == "lockout"
            && let Some(denied) = measured.people.share_denied()
        {
            self.denied = Some(self.denied.map_or(denied, |before| before.max(denied)));
        }
        if row.adversary == simplest().name() {
            let done = &measured.operations;
            let each = |states: u64, calls: u64| if calls == 0 { 0.0 } else { float(states) / float(calls) };
            self.operations = [
                [each(done.reads_admitted, done.admitted), each(done.writes_admitted, done.admitted)],
                [each(done.reads_refused, done.refused), each(done.writes_refused, done.refused)],
            ];
        }
        self.rows.push(row);
    }

    /// Returns whether more was seen than can be: a fault of ours.
    pub fn is_exceeded(&self) -> bool {
        self.rows.iter().any(|row| row.is_exceeded)
    }
}
