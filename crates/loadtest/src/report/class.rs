//! What became of the requests of a class.

use hdrhistogram::{CreationError, Histogram};
use serde::Serialize;
use tidegate_review::float;

use crate::outcome::{Fault, Odd};
use crate::tally::Tally;

/// The percentiles of the curve: dense where the tail is.
const CURVE: [f64; 14] =
    [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// What became of the requests of a class. `requests` is the sum of `admitted`, `refused` and `errors`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ClassReport {
    /// Requests of which it is known what became of them.
    pub requests: u64,
    /// Those that were let pass.
    pub admitted: u64,
    /// Those of them that no limit was asked about, as far as answers tell: those of a decision API and a rate-limit service do.
    pub unlimited: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Those that brought no decision.
    pub errors: u64,
    /// The same by why.
    pub errors_by_kind: Errors,
    /// The first answer that was no decision.
    #[serde(skip)]
    pub(crate) odd: Option<Odd>,
    /// Requests that were due; more than `requests` when the test was ended early.
    pub offered: u64,
    /// Decisions that came before the phase was over.
    pub in_time: u64,
    /// Decisions a second while requests were sent.
    pub rate: f64,
    /// Requests a second that were due.
    pub offered_rate: f64,
    /// How long requests took from when they were meant to be sent, in microseconds; those that brought no decision as long as
    /// they were waited for.
    pub latency_us: Latency,
    /// How long they took from when they were sent, in microseconds, without those that were given up before.
    pub service_us: Latency,
    /// What came of them second by second, for the first hour.
    pub seconds: Vec<SecondReport>,
}

/// Requests that brought no decision, by why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// No connection could be made.
    pub connect: u64,
    /// No answer came in time.
    pub timeout: u64,
    /// The connection broke before the answer was whole.
    pub reset: u64,
    /// The answer was no decision: another status, or nothing that could be read.
    pub status: u64,
}

/// How long requests took, in microseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Latency {
    /// Half of them took at most this.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// All but one of a hundred.
    pub p99: f64,
    /// All but one of a thousand.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Percentiles, each with its value.
    pub curve: Vec<(f64, f64)>,
}

/// What came of the requests of a second.
#[derive(Debug, Clone, Serialize)]
pub struct SecondReport {
    /// The second, from zero.
    pub second: usize,
    /// Requests that were due in it.
    pub offered: u64,
    /// Decisions that came in it.
    pub answered: u64,
    /// Half of the requests that were due in it took at most this, in microseconds.
    pub p50: f64,
    /// All but one of a hundred.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Errors {
    /// Returns them with their names.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [("connect", self.connect), ("timeout", self.timeout), ("reset", self.reset), ("status", self.status)]
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.connect += other.connect;
        self.timeout += other.timeout;
        self.reset += other.reset;
        self.status += other.status;
    }
}

impl Latency {
    fn of(histogram: &Histogram<u64>) -> Self {
        let at = |percentile: f64| micros(histogram.value_at_percentile(percentile));
        Self {
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max: micros(histogram.max()),
            mean: (histogram.mean() / 10.0).round() / 100.0,
            curve: if histogram.is_empty() { Vec::new() } else { CURVE.map(|one| (one, at(one))).into() },
        }
    }
}

/// Returns nanoseconds in microseconds.
fn micros(nanos: u64) -> f64 {
    float(nanos) / 1e3
}

impl ClassReport {
    /// Adds up what threads counted while they sent for so many seconds.
    pub(super) fn new<'t>(
        mut tallies: impl Iterator<Item = &'t Tally>,
        sending: f64,
    ) -> Result<Self, CreationError> {
        let mut all = tallies.next().cloned().map_or_else(|| Tally::new(0), Ok)?;
        for tally in tallies {
            all.add(tally);
        }
        let count = |fault: Fault| all.faults.get(fault.index()).copied().unwrap_or(0);
        let errors_by_kind = Errors {
            connect: count(Fault::Connect),
            timeout: count(Fault::Timeout),
            reset: count(Fault::Reset),
            status: count(Fault::Status(Odd::Unread)),
        };
        let a_second = |count: u64| if sending > 0.0 { float(count) / sending } else { 0.0 };
        let latency_us = Latency::of(&all.latency);
        // In a closed loop all are sent when they are meant to be.
        let service_us = if all.service.is_empty() { latency_us.clone() } else { Latency::of(&all.service) };
        Ok(Self {
            requests: all.decided() + all.failed(),
            admitted: all.admitted,
            unlimited: all.unlimited,
            refused: all.refused,
            errors: all.failed(),
            errors_by_kind,
            odd: all.odd,
            offered: all.offered,
            in_time: all.in_time,
            rate: a_second(all.in_time),
            offered_rate: a_second(all.offered),
            latency_us,
            service_us,
            seconds: seconds(&all),
        })
    }

    /// Returns how many requests brought a decision.
    pub fn decided(&self) -> u64 {
        self.admitted + self.refused
    }
}

fn seconds(tally: &Tally) -> Vec<SecondReport> {
    let seconds = tally.seconds.iter().enumerate().map(|(second, seen)| SecondReport {
        second,
        offered: seen.offered,
        answered: seen.answered,
        p50: micros(seen.latency.value_at_percentile(50.0)),
        p99: micros(seen.latency.value_at_percentile(99.0)),
        max: micros(seen.latency.max()),
    });
    seconds.collect()
}
