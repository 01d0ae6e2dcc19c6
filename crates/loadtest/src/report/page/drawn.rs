//! The drawings of a load test.

use tidegate_review::float;
use tidegate_trials::plot::{Axis, Drawing, Joined, Line, Lines, Told, Unit, Upright, lines};

use crate::plan::Shape;
use crate::report::words::{about, time};
use crate::report::{ClassReport, Phase, Report};

/// A latency below this cannot be told from nothing.
const LEAST: f64 = 1e-8;
const MICRO: f64 = 1e-6;

/// Draws what a report shows.
pub(super) fn of(report: &Report) -> Vec<Drawing> {
    let is_ramp = report.shape == Shape::Ramp;
    let ramp = is_ramp.then(|| [reached(report), risen(report)]).into_iter().flatten().flatten();
    let over_time = (!is_ramp).then(|| [rates(report), tails(report)]).into_iter().flatten().flatten();
    ramp.chain(percentiles(report)).chain(over_time).collect()
}

/// Every class that was met, with the name of its line.
fn met(report: &Report) -> Vec<(String, &ClassReport)> {
    if report.shape == Shape::Ramp {
        return report
            .counts()
            .iter()
            .map(|phase| (format!("users at {}", phase.name), &phase.classes.others))
            .collect();
    }
    let several = report.phases.len() > 1;
    let classes =
        report.phases.iter().flat_map(|phase| phase.classes().map(move |(name, class)| (phase, name, class)));
    let named = classes.map(|(phase, name, class)| {
        let name = match (name, several) {
            ("others", true) => format!("users, {}", phase.name),
            ("others", false) => "users".to_owned(),
            _ => "the flood".to_owned(),
        };
        (name, class)
    });
    named.filter(|(_, class)| class.requests > 0).collect()
}

fn line(name: String, points: Vec<(f64, f64)>) -> Line {
    Line { name, points, joined: Joined::Straight, marks: true }
}

fn latency_axis<'p>(points: impl Iterator<Item = &'p (f64, f64)>) -> Axis {
    let ends = points.fold((f64::MAX, 0.0), |(low, high): (f64, f64), (_, y)| (low.min(*y), high.max(*y)));
    Axis::log("latency", ends.0.max(LEAST), ends.1 * 1.1, Unit::Seconds)
}

/// How long requests took: the slowest of so many.
fn percentiles(report: &Report) -> Option<Drawing> {
    let series: Vec<Line> = met(report)
        .into_iter()
        .map(|(name, class)| {
            let inner = class.latency_us.curve.iter().filter(|(percent, _)| *percent < 100.0);
            // Of fewer requests than there are in a percentile it says nothing.
            let rank = |percent: f64| 100.0 / (100.0 - percent);
            let inner = inner.filter(|(percent, _)| rank(*percent) <= float(class.requests));
            line(name, inner.map(|(percent, micros)| (rank(*percent), (micros * MICRO).max(LEAST))).collect())
        })
        .collect();
    let (first, last) = (series.first()?, series.last()?);
    let end = series.iter().flat_map(|line| &line.points).map(|(x, _)| *x).fold(10.0, f64::max);
    let p99 = |line: &Line| line.points.iter().find(|(x, _)| *x >= 99.0).map(|(_, y)| time(y / MICRO));
    let said = [Some(first), (series.len() > 1).then_some(last)].into_iter().flatten();
    let said = said.filter_map(|line| Some(format!("p99 of {}: {}.", line.name, p99(line)?)));
    let caption = format!(
        "At 100 stands p99: of a hundred requests one took longer. {}",
        said.collect::<Vec<_>>().join(" ")
    );
    let plot = Lines {
        x: Axis::log("one request of so many took longer", 1.0, end, Unit::Count),
        y: latency_axis(series.iter().flat_map(|line| &line.points)),
        series,
        uprights: Vec::new(),
        beyond: None,
    };
    Some(lines(Told { id: "percentiles", title: "How long requests took.", caption: &caption }, &plot))
}

/// What came and what was decided, second by second, in the phase that counts.
fn rates(report: &Report) -> Option<Drawing> {
    let phase = seconds(report)?;
    let mut series = Vec::new();
    for (name, class) in phase.classes() {
        let who = if name == "others" { "users" } else { "the flood" };
        let of = |count: fn(&crate::report::SecondReport) -> u64| {
            class.seconds.iter().map(|one| (at(one.second), float(count(one)))).collect::<Vec<_>>()
        };
        series.push(line(format!("came: {who}"), of(|one| one.offered)));
        series.push(line(format!("decided: {who}"), of(|one| one.answered)));
    }
    let caption =
        format!("In the phase \"{}\": {} decisions a second in the mean.", phase.name, about(phase.rate()));
    drawn_over_time(phase, series, ("rates", "What came, and what was decided.", &caption), |most| {
        Axis::linear("requests in the second", most, Unit::Count)
    })
}

/// The 99th percentile of each second.
fn tails(report: &Report) -> Option<Drawing> {
    let phase = seconds(report)?;
    let series: Vec<Line> = phase
        .classes()
        .map(|(name, class)| {
            let who = if name == "others" { "users" } else { "the flood" };
            let points = class.seconds.iter().filter(|one| one.offered > 0);
            line(who.to_owned(), points.map(|one| (at(one.second), (one.p99 * MICRO).max(LEAST))).collect())
        })
        .collect();
    let axis = latency_axis(series.iter().flat_map(|line| &line.points));
    let others = &phase.classes.others;
    let worst = others.seconds.iter().map(|one| one.p99).fold(0.0, f64::max);
    let caption =
        format!("In the phase \"{}\": the worst second of users had a p99 of {}.", phase.name, time(worst));
    drawn_over_time(phase, series, ("tails", "The p99 of each second.", &caption), |_| axis)
}

/// Returns the phase that counts, if it has seconds to be told apart.
fn seconds(report: &Report) -> Option<&Phase> {
    report.counts().filter(|phase| phase.classes.others.seconds.len() > 2)
}

/// Returns the middle of a second.
fn at(second: usize) -> f64 {
    u32::try_from(second).map_or(f64::MAX, |second| f64::from(second) + 0.5)
}

fn drawn_over_time(
    phase: &Phase,
    series: Vec<Line>,
    (id, title, caption): (&str, &str, &str),
    axis: impl FnOnce(f64) -> Axis,
) -> Option<Drawing> {
    let most = series.iter().flat_map(|line| &line.points).map(|(_, y)| *y).fold(0.0, f64::max);
    (most > 0.0).then(|| {
        let plot = Lines {
            x: Axis::linear("seconds since the beginning", phase.seconds, Unit::Count),
            y: axis(most),
            series,
            uprights: Vec::new(),
            beyond: None,
        };
        lines(Told { id, title, caption }, &plot)
    })
}

/// The steps of a ramp by the rate at which requests came.
fn steps(report: &Report, of: impl Fn(&ClassReport) -> f64) -> Vec<(f64, f64)> {
    let others = report.phases.iter().map(|phase| &phase.classes.others);
    let mut steps: Vec<(f64, f64)> = others.map(|class| (class.offered_rate, of(class))).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
}

fn capacity(report: &Report) -> Vec<Upright> {
    let capacity = report.capacity.filter(|capacity| capacity.rate > 0.0);
    capacity
        .map(|one| Upright { at: one.rate, label: format!("{} a second", about(one.rate)) })
        .into_iter()
        .collect()
}

/// What was decided of what came.
fn reached(report: &Report) -> Option<Drawing> {
    let decided = steps(report, |class| class.rate);
    let most = decided.last().map(|(x, _)| *x).filter(|most| *most > 0.0)?;
    let came = vec![(0.0, 0.0), (most, most)];
    let plot = Lines {
        x: Axis::linear("requests that came a second", most, Unit::Count),
        y: Axis::linear("decided a second", most, Unit::Count),
        series: vec![line("decided".to_owned(), decided), line("all that came".to_owned(), came)],
        uprights: capacity(report),
        beyond: None,
    };
    let caption = "Where the line leaves the straight one, more came than was decided.";
    Some(lines(Told { id: "ramp", title: "How far it keeps up.", caption }, &plot))
}

/// The 99th percentile of each step.
fn risen(report: &Report) -> Option<Drawing> {
    let p99 = steps(report, |class| (class.latency_us.p99 * MICRO).max(LEAST));
    let most = p99.last().map(|(x, _)| *x).filter(|most| *most > 0.0)?;
    let plot = Lines {
        x: Axis::linear("requests that came a second", most, Unit::Count),
        y: latency_axis(p99.iter()),
        series: vec![line("p99".to_owned(), p99)],
        uprights: capacity(report),
        beyond: None,
    };
    let caption = "Latencies count from when a request was meant to be sent: beyond what is kept up with they grow for as long as the \
                   step goes on.";
    Some(lines(Told { id: "ramp-p99", title: "How long requests took at each rate.", caption }, &plot))
}
