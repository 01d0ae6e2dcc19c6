//! What all of it comes to, in sentences.

use tidegate_review::{float, spoken_count};

use super::words::{about, share, time};
use super::{Capacity, ClassReport, Limited, Phase, Report};
use crate::plan::Shape;

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
    says.extend(counts.and_then(errors));
    says.extend(counts.and_then(beside));
    if report.capacity.is_none() {
        let limited =
            report.phases.iter().filter_map(|phase| Some((phase, phase.generator.limited_by.as_ref()?)));
        says.extend(limited.map(|(phase, why)| {
            format!(
                "of the phase \"{}\" nothing can be said about the target: the generator was the bottleneck, since {why}; lower \
                 --rate, raise --threads, or test from another machine",
                phase.name
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
                 nothing of the target: raise --threads, or test from another machine"
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
    let times =
        report.slowdown.map_or_else(String::new, |times| format!(", {times:.2} times what it is without"));
    vec![
        format!(
            "under {kind} of {} a second, p99 for everyone else is {}{times}",
            about(flood.rate),
            time(others.latency_us.p99)
        ),
        format!(
            "everyone else: {} decisions a second, {} refused ({} a second and {} without the flood, p99 {}); of the flood {} were \
             refused",
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
            "memory" => format!("{} threads that never wait", report.settings.threads),
            _ => {
                format!("{} connections that wait for nothing but their answers", report.settings.connections)
            }
        };
        format!("{} decisions a second by {by}: {figures}", about(others.rate))
    }
}

fn part(of: u64, class: &ClassReport) -> f64 {
    if class.requests == 0 { 0.0 } else { float(of) / float(class.requests) }
}

fn errors(phase: &Phase) -> Option<String> {
    let kinds: Vec<String> = phase
        .faults()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {}", spoken_count(count.into())))
        .collect();
    (!kinds.is_empty()).then(|| {
        format!("{} of requests brought no decision: {}", share(phase.error_share()), kinds.join(", "))
    })
}

fn beside(phase: &Phase) -> Option<String> {
    let cpu = phase
        .server
        .as_ref()
        .map(|server| format!("{} of the processor's time a decision", time(server.cpu_us_per_request)));
    let calls = phase.store.as_ref().map(|store| {
        let remembered = store.remembered.filter(|count| *count > 0);
        let remembered = remembered.map_or_else(String::new, |count| {
            format!(", {} refusals from memory", spoken_count(count.into()))
        });
        format!("{:.3} store calls a decision{remembered}", store.calls_per_request)
    });
    let both: Vec<String> = cpu.into_iter().chain(calls).collect();
    (!both.is_empty()).then(|| format!("the server took {}", both.join("; ")))
}
