//! The generator, watched like the target: what it could not offer, it must not blame on others.

use hdrhistogram::{CreationError, Histogram};
use serde::Serialize;
use tidegate_review::float;

use super::{Settings, is_own, words};
use crate::target::Target;
use crate::worker::Worked;

/// A thread that runs, or would if it had a processor, for more of the time than this has none left to be on time.
const BUSY: f64 = 0.92;
/// Where it waited for a processor for more of the time than this, or was late though it ran for less than that, others had it.
const WAITED: f64 = 0.2;
const AT_REST: f64 = 0.6;
/// It is too late where this much is more than a quarter of what users waited: then a good part of that is its own.
const LATE_US: f64 = 1_000.0;
const LATE_PART: f64 = 0.25;

/// What the generator did.
#[derive(Debug, Clone, Serialize)]
pub struct Generator {
    /// The part of the time that its busiest thread used a processor, from 0 to 1.
    pub busy: f64,
    /// The part of the time that this thread could have run and had no processor, where the system tells.
    pub starved: f64,
    /// How late requests were against the schedule before anything was asked, in microseconds: all but one of a hundred.
    pub slip_p99_us: f64,
    /// The latest.
    pub slip_max_us: f64,
    /// Requests that were due and never sent, since the test was ended.
    pub unsent: u64,
    /// Why it was itself the bottleneck, if it was.
    pub limited_by: Option<String>,
    /// The same, as what can be done about it depends on it.
    #[serde(skip)]
    pub(crate) cause: Option<Cause>,
}

/// Why a generator was the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its threads had all that they could do.
    Busy,
    /// Others had the processor.
    Others,
}

impl Cause {
    fn of(busy: f64, starved: f64) -> Self {
        if starved >= WAITED || busy < AT_REST { Self::Others } else { Self::Busy }
    }

    /// Returns what can be done about it.
    pub(super) fn remedy(self, settings: &Settings, has_rate: bool) -> String {
        if self == Self::Others {
            return "other programs keep this machine busy (the target may be one of them): end them, or test from another machine"
                .to_owned();
        }
        let lower = has_rate.then_some("lower --rate");
        let threads = (settings.threads < settings.processors).then_some("raise --threads");
        let all: Vec<_> = lower.into_iter().chain(threads).collect();
        if all.is_empty() {
            return "test from another machine, or one with more processors".to_owned();
        }
        format!("{}, or test from another machine", all.join(", "))
    }
}

impl Generator {
    pub(super) fn new(target: &Target, worked: &[Worked], p99_us: f64) -> Result<Self, CreationError> {
        let mut slip = Histogram::<u64>::new(3)?;
        for one in worked {
            // Histograms that grow take each other in.
            let _ = slip.add(&one.slip);
        }
        let parts = |one: &Worked| {
            let elapsed = one.elapsed.as_secs_f64().max(1e-9);
            (one.cpu.as_secs_f64() / elapsed, one.starved.as_secs_f64() / elapsed)
        };
        let (busy, starved) = worked.iter().map(parts).fold((0.0, 0.0), |worst: (f64, f64), next| {
            if next.0 + next.1 > worst.0 + worst.1 { next } else { worst }
        });
        let slip_p99_us = float(slip.value_at_percentile(99.0)) / 1e3;
        // A store that the generator asks itself is what its threads are busy with.
        let limited_by = if is_own(target) { None } else { limited((busy, starved), slip_p99_us, p99_us) };
        Ok(Self {
            cause: limited_by.is_some().then(|| Cause::of(busy, starved)),
            busy: (busy * 1e3).round() / 1e3,
            starved: (starved * 1e3).round() / 1e3,
            slip_p99_us,
            slip_max_us: float(slip.max()) / 1e3,
            unsent: worked.iter().map(|one| one.unsent).sum(),
            limited_by,
        })
    }
}

fn limited((busy, starved): (f64, f64), slip_us: f64, p99_us: f64) -> Option<String> {
    if busy + starved >= BUSY {
        let percent = |part: f64| (part * 100.0).min(100.0);
        return Some(format!(
            "a thread of it was busy for {:.0} % of the time, and for {:.0} % of it waited for a processor",
            percent(busy),
            percent(starved)
        ));
    }
    (slip_us > LATE_US && slip_us > p99_us * LATE_PART).then(|| {
        format!("it was late against its own schedule, by {} at the 99th percentile", words::time(slip_us))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against advice that cannot help: a lower rate where there is none, or where others have the processor, and more threads
    /// than there are processors.
    #[test]
    fn what_can_be_done_depends_on_why_it_was_the_bottleneck() {
        assert_eq!(
            [(0.95, 0.0), (0.5, 0.45), (0.02, 0.0)].map(|(busy, starved)| Cause::of(busy, starved)),
            [Cause::Busy, Cause::Others, Cause::Others,]
        );
        let settings = |threads| Settings {
            rate: None,
            flood_rate: None,
            connections: 1,
            users: 1,
            skew: 1.0,
            threads,
            processors: 2,
            duration_seconds: 1.0,
            timeout_seconds: 1.0,
            seed: 1,
        };
        let busy = |threads, has_rate| Cause::Busy.remedy(&settings(threads), has_rate);
        assert_eq!(busy(1, true), "lower --rate, raise --threads, or test from another machine");
        assert_eq!(busy(1, false), "raise --threads, or test from another machine");
        assert_eq!(busy(2, true), "lower --rate, or test from another machine");
        assert!(busy(2, false).starts_with("test from another machine"));
        assert!(
            Cause::Others.remedy(&settings(1), true).starts_with("other programs keep this machine busy")
        );
    }

    /// Guards against a target that is blamed for what its tester could not do.
    #[test]
    fn it_accuses_itself_when_it_was_busy_or_late() {
        assert!(limited((0.95, 0.0), 10.0, 500.0).unwrap().contains("95 %"));
        assert!(limited((0.3, 0.65), 10.0, 500.0).unwrap().contains("65 % of it waited"));
        assert!(limited((0.5, 0.0), 2_000.0, 4_000.0).unwrap().contains("2.00 ms"));
        assert_eq!(limited((0.5, 0.1), 2_000.0, 40_000.0), None, "a small part of what was waited");
        assert_eq!(limited((0.5, 0.0), 300.0, 400.0), None, "less than anybody feels");
    }
}
