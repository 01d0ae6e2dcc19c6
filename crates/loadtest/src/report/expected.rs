//! What was expected, held against what was seen.

use serde::Serialize;

use super::{Report, words};
use crate::plan::Expected;

/// Something that was expected.
#[derive(Debug, Clone, Serialize)]
pub struct Expectation {
    /// The option that it was said by.
    pub option: &'static str,
    /// What was expected, as a number: microseconds, requests a second, times, or a share.
    pub expected: f64,
    /// What was seen, in the same.
    pub seen: f64,
    /// Whether it is so. What was not seen at all is not.
    pub held: bool,
    /// Both in words.
    pub says: String,
}

/// Holds everything that is expected against a report.
pub(super) fn hold(expected: &Expected, report: &Report) -> Vec<Expectation> {
    let p99 = report.classes.others.latency_us.p99;
    let rate =
        report.capacity.map_or_else(|| report.counts().map_or(0.0, super::Phase::rate), |one| one.rate);
    let errors = report.counts().map_or(1.0, super::Phase::error_share);
    let has_seen = report.classes.others.requests > 0;
    let at_most = |option, limit: f64, seen: f64, says: String| Expectation {
        option,
        expected: limit,
        seen,
        held: has_seen && seen <= limit,
        says,
    };
    let mut all = Vec::new();
    if let Some(limit) = expected.max_p99 {
        let limit = limit.as_secs_f64() * 1e6;
        let says = format!("p99 of users at most {}: it was {}", words::time(limit), words::time(p99));
        all.push(at_most("--max-p99", limit, p99, says));
    }
    if let Some(limit) = expected.min_rate {
        let says = format!("at least {} a second: it was {}", words::about(limit), words::about(rate));
        all.push(Expectation {
            option: "--min-rate",
            expected: limit,
            seen: rate,
            held: rate >= limit,
            says,
        });
    }
    if let Some(limit) = expected.max_slowdown {
        let seen = report.slowdown.unwrap_or(f64::MAX);
        let told = report.slowdown.map_or("not seen".to_owned(), |seen| format!("{seen:.2} times"));
        let says = format!("p99 of users with the flood at most {limit} times that without: it was {told}");
        all.push(at_most("--max-slowdown", limit, seen, says));
    }
    if let Some(limit) = expected.max_errors {
        let says =
            format!("at most {} without a decision: it was {}", words::share(limit), words::share(errors));
        all.push(at_most("--max-errors", limit, errors, says));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::plan::{Plan, Shape, sample};
    use crate::run::{Control, run};

    fn seen(shape: Shape) -> Report {
        let plan = Plan { duration: Duration::from_millis(500), ..sample(shape) };
        let stop = Arc::new(AtomicBool::new(false));
        run(&plan, Control { told: &|_| (), stop: &stop }).unwrap()
    }

    fn held(expected: Expected, report: &Report) -> Vec<(&'static str, bool)> {
        hold(&expected, report).iter().map(|one| (one.option, one.held)).collect()
    }

    /// Guards whoever lets a test decide: each bound can be kept, and each can be missed.
    #[test]
    fn each_bound_is_held_against_its_own_figure() {
        let mut report = seen(Shape::OneKeyFlood);
        let bounds = |time, rate, factor, share| Expected {
            max_p99: Some(time),
            min_rate: Some(rate),
            max_slowdown: Some(factor),
            max_errors: Some(share),
        };
        let options = ["--max-p99", "--min-rate", "--max-slowdown", "--max-errors"];
        let wide = bounds(Duration::from_hours(1), 1e-3, 1e9, 0.0);
        assert_eq!(held(wide, &report), options.map(|option| (option, true)));
        // One of the requests brought nothing.
        let others = &mut report.phases.last_mut().unwrap().classes.others;
        (others.errors, others.requests) = (1, others.requests + 1);
        let narrow = bounds(Duration::from_nanos(1), 1e9, 1e-9, 0.0);
        assert_eq!(held(narrow, &report), options.map(|option| (option, false)));
    }

    /// Guards against a flood that never came, and so slowed nobody down.
    #[test]
    fn what_was_not_seen_is_not_as_expected() {
        let report = seen(Shape::Normal);
        let expected = Expected { max_slowdown: Some(1e9), ..Expected::default() };
        let all = hold(&expected, &report);
        assert!(!all[0].held && all[0].says.ends_with("it was not seen"), "{all:?}");
    }
}
