//! Everything that passed, against the envelope and the bound.

use tidegate_review::{DAY, float, spoken_count, spoken_time, whole};

use super::places::{close, seconds, secs, since_first, went_on};
use super::{Row, RuleReport, guessers, name};
use crate::measure::Measured;
use crate::report::plot::{Axis, Drawing, Joined, Line, Lines, Told, Unit, lines};

/// Draws how much passed in all, below the envelope of what was seen and what the closed forms allow.
pub(super) fn cumulative(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let bounded = guessers(rule).filter(|row| {
        let worst = &row.worst;
        worst.without_store == 0 && worst.bounds.len() > 1 && worst.curve.len() > 1
    });
    // Of those at one key, to which the rate is that of; else of all.
    let one_key = |row: &&Row| {
        row.worst.most_per_day.is_some_and(|most| most <= row.worst.rate_per_second * secs(DAY) * 1.01)
    };
    let row = bounded.max_by_key(|row| (one_key(row), row.worst.envelope, row.worst.admitted))?;
    let measured = &row.worst;
    let passed = since_first(row);
    let end = went_on(row).max(60.0);
    let first = 1.0_f64.min(end / 10.0);
    let bounds: Vec<(f64, f64)> =
        measured.bounds.iter().map(|(at, bound)| (seconds(*at), float(*bound))).collect();
    let top = bounds.iter().chain(&passed).map(|(_, count)| *count).fold(10.0, f64::max);
    let plot = Lines {
        x: Axis::log("time since the first request", first, end, Unit::Seconds),
        y: Axis::log("requests that passed", 1.0, top * 1.3, Unit::Count),
        series: vec![
            Line {
                name: format!("passed: {}", name(row)),
                points: passed,
                joined: Joined::Holding,
                marks: true,
            },
            Line {
                name: "the most by the closed forms".to_owned(),
                points: bounds,
                joined: Joined::Rising,
                marks: false,
            },
            Line {
                name: "envelope σ + ρ·t of what was seen".to_owned(),
                points: envelope(measured, first, end),
                joined: Joined::Straight,
                marks: false,
            },
        ],
        uprights: Vec::new(),
        beyond: None,
    };
    let caption = format!(
        "{} got {} through in {}. No span t of it held more than σ + ρ·t, with σ = {} and ρ = {} a day, the rate of the long \
         run: two numbers by which unlike algorithms compare.",
        name(row),
        spoken_count(measured.admitted.into()),
        spoken_time(went_on(row)),
        spoken_count(measured.envelope.into()),
        a_day(measured.rate_per_second),
    );
    let told =
        Told { id, title: "Everything that passed, against the envelope and the bound.", caption: &caption };
    Some(lines(told, &plot))
}

/// Returns the places of σ + ρ·t from one time to another, evenly spread over a logarithmic axis.
fn envelope(measured: &Measured, from: f64, to: f64) -> Vec<(f64, f64)> {
    let over = (0..=48_u8).map(|step| from * (to / from).powf(f64::from(step) / 48.0));
    over.map(|at| (at, float(measured.envelope) + measured.rate_per_second * at)).collect()
}

/// Draws how much passed in all while the short plays of several rows went on, each by a name.
pub(in crate::report) fn side_by_side(rows: &[(String, &Row)], told: Told<'_>) -> Option<Drawing> {
    let drawn: Vec<Line> = rows
        .iter()
        .map(|(name, row)| Line {
            name: name.clone(),
            points: close(row),
            joined: Joined::Holding,
            marks: true,
        })
        .collect();
    let places = || drawn.iter().flat_map(|line| &line.points);
    let (end, most) = (
        places().map(|(at, _)| *at).fold(0.0, f64::max),
        places().map(|(_, count)| *count).fold(0.0, f64::max),
    );
    if end <= 0.0 {
        return None;
    }
    let plot = Lines {
        x: Axis::linear("seconds since the first that passed", end, Unit::Count),
        y: Axis::linear("requests that passed", most, Unit::Count),
        series: drawn,
        uprights: Vec::new(),
        beyond: None,
    };
    Some(lines(told, &plot))
}

fn a_day(rate: f64) -> String {
    let day = rate * secs(DAY);
    if day < 9.95 { format!("{day:.2}") } else { spoken_count(whole(day)) }
}
