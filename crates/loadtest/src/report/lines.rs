//! A report as lines of text.

use tidegate_review::spoken_count;

use super::words::{about, time};
use super::{ClassReport, Phase, Report};

/// The columns of the table.
const HEADER: [&str; 11] = [
    "PHASE",
    "CLASS",
    "OFFERED/s",
    "DECIDED/s",
    "ADMITTED",
    "REFUSED",
    "ERRORS",
    "p50",
    "p99",
    "p99.9",
    "MAX",
];

/// Returns the table of a report, each row its cells, the first the header.
pub fn lines(report: &Report) -> Vec<[String; 11]> {
    let rows = report
        .phases
        .iter()
        .flat_map(|phase| phase.classes().map(move |(name, class)| row(phase, name, class)));
    std::iter::once(HEADER.map(str::to_owned)).chain(rows).collect()
}

fn row(phase: &Phase, name: &str, class: &ClassReport) -> [String; 11] {
    let count = |count: u64| spoken_count(count.into());
    let latency = &class.latency_us;
    [
        phase.name.clone(),
        name.to_owned(),
        about(class.offered_rate),
        about(class.rate),
        count(class.admitted),
        count(class.refused),
        count(class.errors),
        time(latency.p50),
        time(latency.p99),
        time(latency.p999),
        time(latency.max),
    ]
}
