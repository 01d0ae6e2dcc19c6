//! What all of it comes to, in sentences.

use tidegate_review::{float, spoken_count};

use super::words::{about, share, time};
use super::{Capacity, ClassReport, Limited, Phase, Report};
use crate::plan::Shape;

/// Of fewer requests than this, p99 is one of the ten slowest, and chance.
const ENOUGH: u64 = 1_000;

/// Says what a load test comes to.
pub(super) fn verdict(report: &Report) -> Vec<String> {
    let mut says = Vec::new();
    match (report.shape, report.capacity, &report.phases[..]) {
        (Shape::Ramp, Some(capacity), _) => says.push(saturates(report, capacity)),
        (shape, _, [without, with]) if shape.floods() => says.extend(flooded(report, without, with)),
        (_, _, [phase, ..]) => says.push(steady(report, phase)),
        _ => {}
    }
    if report.generator_limited
        && report.capacity.is_none()
        && let Some(first) = says.first_mut()
    {
        first.push_str("; but the generator was the bottleneck, so this is no figure of the target");
    }
    let counts = report.counts();
    if let Some(line) = counts.and_then(|phase| unlimited(report, phase)) {
        // Where nothing was limited, no other figure is what it seems.
        let is_all =
            counts.is_some_and(|phase| phase.classes().all(|(_, class)| class.unlimited == class.decided()));
        says.insert(if is_all { 0 } else { says.len() }, line);
    }
    says.extend(counts.and_then(errors));
    says.extend(counts.and_then(beside));
    if report.capacity.is_none() {
        let limited =
            report.phases.iter().filter_map(|phase| Some((phase, phase.generator.limited_by.as_ref()?)));
        says.extend(limited.map(|(phase, why)| {
            format!(
                "of the phase \"{}\" nothing can be said about the target: the generator was the bottleneck, since {why}; {}",
                phase.name,
                remedy(report, phase)
            )
        }));
    }
    if report.interrupted {
        says.push("it was ended before its time: this is what had been measured".to_owned());
    }
    says
}

fn saturates(report: &Report, capacity: Capacity) -> String {
    let rate = about(capacity.rate);
    let p99 = time(report.classes.others.latency_us.p99);
    if capacity.rate == 0.0 {
        let lowest =
            report.phases.iter().map(|phase| phase.classes.others.offered_rate).fold(f64::MAX, f64::min);
        return format!(
            "keeps up with none of the rates that were tried, the lowest {} requests a second",
            about(lowest)
        );
    }
    let why = match capacity.limited_by {
        None => {
            return format!(
                "keeps up with {rate} requests a second (p99 {p99}), the highest rate that was tried"
            );
        }
        Some(Limited::Generator) => {
            return format!(
                "keeps up with at least {rate} requests a second (p99 {p99}); above that the generator was the bottleneck, and says \
                 nothing of the target: {}",
                report
                    .phases
                    .iter()
                    .rfind(|phase| phase.generator.cause.is_some())
                    .map_or_else(|| "test from another machine".to_owned(), |phase| remedy(report, phase))
            );
        }
        Some(Limited::Throughput) => "fewer are answered than come",
        Some(Limited::Latency) => "p99 goes beyond --ramp-p99",
        Some(Limited::Errors) => "more than 1 % bring no decision",
    };
    format!("saturates at about {rate} requests a second (p99 {p99} there); above that {why}")
}

fn flooded(report: &Report, without: &Phase, with: &Phase) -> Vec<String> {
    let (alone, others) = (&without.classes.others, &with.classes.others);
    let Some(flood) = &with.classes.flood else { return Vec::new() };
    let kind = match report.shape {
        Shape::OneKeyFlood => "a one-key flood",
        Shape::ManyKeyFlood => "a flood of ever-new keys",
        _ => "a flood of one key and of ever-new keys",
    };
    let few = alone.requests.min(others.requests);
    let few = if few < ENOUGH {
        format!(" (too few for a p99: {} requests)", spoken_count(few.into()))
    } else {
        String::new()
    };
    let times = report
        .slowdown
        .map_or_else(String::new, |times| format!(", {times:.2} times what it is without{few}"));
    vec![
        format!(
            "under {kind} of {} a second, p99 for everyone else is {}{times}",
            about(flood.rate),
            time(others.latency_us.p99)
        ),
        format!(
            "everyone else: {} decisions a second, {} of users' requests refused; before the flood {} a second, {} refused, p99 {} \
             (users' own limits fill as a test goes on); of the flood {} were refused",
            about(others.rate),
            share(part(others.refused, others)),
            about(alone.rate),
            share(part(alone.refused, alone)),
            time(alone.latency_us.p99),
            share(part(flood.refused, flood)),
        ),
    ]
}

fn steady(report: &Report, phase: &Phase) -> String {
    let others = &phase.classes.others;
    let latency = &others.latency_us;
    let refused = share(part(others.refused, others));
    let figures = format!(
        "p50 {}, p99 {}, p99.9 {}, the longest {}; {refused} refused",
        time(latency.p50),
        time(latency.p99),
        time(latency.p999),
        time(latency.max)
    );
    if report.loop_kind == "open" {
        let of = about(others.offered_rate);
        format!("{} decisions a second of {of} requests that came a second: {figures}", about(others.rate))
    } else {
        let by = match report.kind {
            "memory" => match report.settings.threads {
                1 => "one thread that never waits".to_owned(),
                threads => format!("{threads} threads that never wait"),
            },
            _ => match report.settings.connections {
                1 => "one connection that waits for nothing but its answers".to_owned(),
                connections => format!("{connections} connections that wait for nothing but their answers"),
            },
        };
        format!("{} decisions a second by {by}: {figures}", about(others.rate))
    }
}

fn part(of: u64, class: &ClassReport) -> f64 {
    if class.requests == 0 { 0.0 } else { float(of) / float(class.requests) }
}

fn remedy(report: &Report, phase: &Phase) -> String {
    // The rate of a ramp is only where it begins.
    let has_rate = report.settings.rate.is_some() && report.shape != Shape::Ramp;
    phase.generator.cause.map_or_else(String::new, |cause| cause.remedy(&report.settings, has_rate))
}

/// Says how many were asked about of which no limit is.
fn unlimited(report: &Report, phase: &Phase) -> Option<String> {
    let sum = |of: fn(&ClassReport) -> u64| phase.classes().map(|(_, class)| of(class)).sum::<u64>();
    let (none, admitted, refused) =
        (sum(|class| class.unlimited), sum(|class| class.admitted), sum(|class| class.refused));
    let (what, but) = match report.kind {
        "rls" => (
            "are the domain and the descriptor those of a rule",
            " (limits that a policy does not disclose are not told either)",
        ),
        _ => ("are the path and the keys of the question those of a rule", ""),
    };
    // Where a limit refused, and none that passed names one, limits are there and not disclosed.
    let is_undisclosed = report.kind == "rls" && none == admitted && refused > 0;
    (none > 0 && !is_undisclosed).then(|| {
        format!(
            "no limit applied to {} of {} requests: {what} of the policy?{but}",
            spoken_count(none.into()),
            spoken_count((admitted + refused).into())
        )
    })
}

fn errors(phase: &Phase) -> Option<String> {
    let kinds: Vec<String> = phase
        .faults()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {}", spoken_count(count.into())))
        .collect();
    (!kinds.is_empty()).then(|| {
        let first =
            phase.odd().map_or_else(String::new, |odd| format!("; the first answer that was none: {odd}"));
        format!("{} of requests brought no decision: {}{first}", share(phase.error_share()), kinds.join(", "))
    })
}

fn beside(phase: &Phase) -> Option<String> {
    let cpu = phase.server.as_ref().map(|server| {
        format!("the server took {} of the processor's time a decision", time(server.cpu_us_per_request))
    });
    let calls = phase.store.as_ref().map(|store| {
        let calls = match store.calls_per_request {
            ..=0.0 => "none".to_owned(),
            calls @ ..0.1 => format!("one for every {} decisions", about(1.0 / calls)),
            calls => format!("{calls:.3} a decision"),
        };
        let remembered = store.remembered.filter(|count| *count > 0).map_or_else(String::new, |count| {
            format!(", and {} refusals from memory", spoken_count(count.into()))
        });
        format!("calls to a shared store: {calls}{remembered}")
    });
    let both: Vec<String> = cpu.into_iter().chain(calls).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::plan::{Plan, sample};
    use crate::report::Store;
    use crate::run::{Control, run};

    fn seen(shape: Shape) -> Report {
        let plan = Plan { duration: Duration::from_millis(200), ..sample(shape) };
        let stop = Arc::new(AtomicBool::new(false));
        run(&plan, Control { told: &|_| (), stop: &stop }).unwrap()
    }

    /// Guards against a ratio of two requests, and against users who seem to be refused for a flood's sake.
    #[test]
    fn a_ratio_of_few_requests_is_told_as_such_and_one_of_many_is_not() {
        let mut report = seen(Shape::OneKeyFlood);
        assert!(verdict(&report)[0].contains("(too few for a p99: "), "{:?}", report.verdict);
        for phase in &mut report.phases {
            phase.classes.others.requests = ENOUGH;
        }
        let verdict = verdict(&report);
        assert!(!verdict[0].contains("too few"), "{verdict:?}");
        assert!(verdict[1].contains("users' own limits fill as a test goes on"), "{verdict:?}");
    }

    /// Guards a policy that tells no numbers from the question whether it has a rule.
    #[test]
    fn a_service_that_refuses_and_names_no_limit_is_not_asked_for_its_rules() {
        let mut report = seen(Shape::Normal);
        report.kind = "rls";
        let mut says = |unlimited, admitted, refused| {
            let phase = report.phases.last_mut().unwrap();
            let others = &mut phase.classes.others;
            (others.unlimited, others.admitted, others.refused) = (unlimited, admitted, refused);
            verdict(&report).into_iter().position(|line| line.starts_with("no limit applied to "))
        };
        assert_eq!(says(10, 10, 0), Some(0));
        assert_eq!(says(10, 20, 5), Some(1), "some are limited, and some are not");
        assert_eq!((says(10, 10, 5), says(0, 10, 5)), (None, None));
    }

    #[test]
    fn calls_to_a_store_are_told_as_people_say_them() {
        let mut phase = seen(Shape::Normal).phases.remove(0);
        let mut says = |calls_per_request| {
            phase.store = Some(Store { calls: 1, calls_per_request, remembered: None });
            beside(&phase).unwrap()
        };
        assert_eq!(says(0.0), "calls to a shared store: none");
        assert_eq!(says(0.016), "calls to a shared store: one for every 62.5 decisions");
        assert_eq!(says(1.0), "calls to a shared store: 1.000 a decision");
    }
}
