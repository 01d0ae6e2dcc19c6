//! Whether a step of a ramp held: nearly all that came was decided while it went on.

use tidegate_review::float;

use super::{Limited, Phase};
use crate::plan::Plan;

/// A step of a ramp in which more of the requests than this brought no decision has not held.
const ERRORS_BORNE: f64 = 0.01;
/// A step whose backlog at its end is more than this part of its requests, beside those that are in service anyhow, has not held.
const BACKLOG_BORNE: f64 = 0.03;

impl Phase {
    /// Returns why its rate did not hold, if it did not.
    pub(crate) fn limited(&self, plan: &Plan) -> Option<Limited> {
        let others = &self.classes.others;
        let behind = float(others.offered) - float(others.in_time) - float(others.errors);
        let why = if self.error_share() > ERRORS_BORNE {
            Limited::Errors
        } else if behind > float(others.offered) * BACKLOG_BORNE + self.in_service(plan) {
            Limited::Throughput
        } else if others.latency_us.p99 > plan.ramp_p99.as_secs_f64() * 1e6 {
            Limited::Latency
        } else {
            return None;
        };
        Some(if self.generator.limited_by.is_some() { Limited::Generator } else { why })
    }

    /// Returns how many requests may be unanswered at the end because they take their time, and not because they wait.
    ///
    /// From latencies, or from the median of the times of service, a backlog would excuse itself: it lengthens both, wherever its
    /// queue is. The quickest tenth of a step came before there was one, or met none.
    fn in_service(&self, plan: &Plan) -> f64 {
        let others = &self.classes.others;
        let curve = &others.service_us.curve;
        let quick = curve.iter().find(|(percent, _)| *percent >= 10.0).map_or(0.0, |(_, micros)| *micros);
        // Of a few requests the last may be under way by chance.
        (others.offered_rate * quick / 1e6).clamp(1.0, f64::from(plan.connections).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::plan::{Shape, sample};
    use crate::run::{Control, run};

    /// A step of one second at 1,000 a second, of whose requests so many are behind at its end, half of them so late, and a tenth
    /// in service so briefly.
    fn step(behind: u64, (late_us, quick_us): (f64, f64)) -> Phase {
        let stop = Arc::new(AtomicBool::new(false));
        let plan = Plan { duration: std::time::Duration::from_millis(100), ..sample(Shape::Normal) };
        let report = run(&plan, Control { told: &|_| (), stop: &stop }).unwrap();
        let mut phase = report.phases.into_iter().next().unwrap();
        let others = &mut phase.classes.others;
        (others.offered, others.requests, others.errors) = (1_000, 1_000, 0);
        (others.in_time, others.offered_rate) = (1_000 - behind, 1_000.0);
        (others.latency_us.p50, others.latency_us.p99) = (late_us, late_us);
        (others.service_us.p50, others.service_us.curve) = (late_us, vec![(0.0, 0.0), (10.0, quick_us)]);
        phase
    }

    /// Guards against a capacity that nobody has seen: in a step that is far behind, requests wait long, and by how long they
    /// wait so many would seem to be under way.
    #[test]
    fn a_backlog_does_not_excuse_itself() {
        let plan =
            Plan { ramp_p99: std::time::Duration::from_hours(1), connections: 64, ..sample(Shape::Ramp) };
        let limited = |behind, times| step(behind, times).limited(&plan);
        assert_eq!(
            limited(500, (500_000.0, 1_000.0)),
            Some(Limited::Throughput),
            "half of all, half a second late"
        );
        assert_eq!(limited(70, (50_000.0, 1_000.0)), Some(Limited::Throughput), "7 % behind");
        assert_eq!(limited(500, (5e5, 5e5)), Some(Limited::Throughput), "more than there are connections");
        assert_eq!(limited(20, (1_000.0, 1_000.0)), None, "2 % behind");
        assert_eq!(limited(60, (60_000.0, 50_000.0)), None, "each takes 50 ms, so that 50 are in service");
    }
}
