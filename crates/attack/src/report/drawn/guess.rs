//! How soon a blind guess hits.

use tidegate_algorithms::Span;
use tidegate_review::{DAY, YEAR, float, spoken_chance, spoken_time};

use super::places::{secs, since_first, went_on};
use super::{Row, RuleReport, guessers, name};
use crate::adversary::simplest;
use tidegate_trials::plot::{Axis, Drawing, Joined, Line, Lines, Told, Unit, Upright, lines};

/// So many adversaries are told apart in one drawing.
const MOST_LINES: usize = 4;

/// Draws the chance that a guess has hit by a time, for those who are ahead and the lone client.
pub(super) fn guessed(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let chance = rule.chance_of_one?;
    let mut rows: Vec<&Row> =
        guessers(rule).filter(|row| row.worst.guesses > 0 && row.guess.is_some()).collect();
    rows.sort_by(|a, b| median(a).total_cmp(&median(b)));
    // Two lines that lie upon each other are one.
    rows.dedup_by(|next, kept| {
        (median(next) / median(kept) - 1.0).abs() < 0.01 || median(kept).is_infinite()
    });
    // The lone client is what the others are told by.
    let lone = rows.iter().position(|row| row.adversary == simplest().name()).filter(|at| *at >= MOST_LINES);
    if let Some(lone) = lone {
        let lone = rows.remove(lone);
        rows.insert(MOST_LINES - 1, lone);
    }
    rows.truncate(MOST_LINES);
    let first = rows.first()?;
    let caption = format!(
        "One guess hits with a chance of {} ({}). {}: {}. The shaded part lies beyond what was played, and goes on at the rate \
         that was sustained.",
        spoken_chance(chance),
        rule.code.as_deref().unwrap_or("the code"),
        name(first),
        halves(first),
    );
    let named: Vec<(String, &Row)> = rows.iter().map(|row| (name(row), *row)).collect();
    hit_over_time(&named, chance, Told { id, title: "How soon a blind guess hits.", caption: &caption })
}

/// Writes by when half of all guesses have hit.
fn halves(row: &Row) -> String {
    let Some(guess) = row.guess else { return String::new() };
    let half = match guess.p50 {
        Some(0.0) => "half of all attacks hit at once".to_owned(),
        Some(p50) => format!("half of all attacks have hit after {}", spoken_time(p50)),
        None => "half of all attacks never hit".to_owned(),
    };
    format!("{half}; the chance within a year is {}", spoken_chance(guess.chance_year))
}

/// Draws the chance that a guess has hit by a time, of several rows, each by a name.
pub(in crate::report) fn hit_over_time(
    rows: &[(String, &Row)],
    chance: f64,
    told: Told<'_>,
) -> Option<Drawing> {
    let slowest = rows.iter().map(|(_, row)| median(row)).filter(|at| at.is_finite()).fold(0.0, f64::max);
    let end = (slowest * 10.0).clamp(secs(YEAR) * 1.6, secs(YEAR) * 1e5);
    let drawn: Vec<Line> = rows
        .iter()
        .map(|(name, row)| Line {
            name: chances(name, row),
            points: over_time(row, chance, end),
            joined: Joined::Straight,
            marks: true,
        })
        .collect();
    let from = drawn.iter().filter_map(|line| line.points.iter().find(|(_, chance)| *chance > 0.005));
    let from = from.map(|(at, _)| *at).fold(3_600.0, f64::min).max(1.0);
    let most = drawn.iter().flat_map(|line| &line.points).map(|(_, chance)| *chance).fold(0.0, f64::max);
    let longest = rows.iter().map(|(_, row)| went_on(row)).fold(1.0, f64::max);
    rows.first()?;
    let plot = Lines {
        x: Axis::log("time since the first guess", from, end, Unit::Seconds),
        y: Axis::linear("chance that a guess has hit", if most > 0.3 { 1.0 } else { most }, Unit::Chance),
        series: drawn,
        uprights: vec![
            Upright { at: secs(DAY), label: "1 day".to_owned() },
            Upright { at: secs(YEAR), label: "1 year".to_owned() },
        ],
        beyond: Some(Upright { at: longest, label: "beyond what was played".to_owned() }),
    };
    Some(lines(told, &plot))
}

/// Returns the time by which half have hit.
fn median(row: &Row) -> f64 {
    row.guess.and_then(|guess| guess.p50).unwrap_or(f64::INFINITY)
}

fn chances(name: &str, row: &Row) -> String {
    let Some(guess) = row.guess else { return name.to_owned() };
    let (day, year) = (spoken_chance(guess.chance_day), spoken_chance(guess.chance_year));
    format!("{name}: {day} in a day, {year} in a year")
}

/// Returns the chance that a guess has hit over time: by what passed, and beyond by the sustained rate.
fn over_time(row: &Row, chance: f64, end: f64) -> Vec<(f64, f64)> {
    let measured = &row.worst;
    let each = float(measured.guesses) / float(measured.admitted.max(1));
    let hit = |guesses: f64| -(guesses * (-chance).ln_1p()).exp_m1();
    let mut over: Vec<(f64, f64)> =
        since_first(row).into_iter().map(|(at, passed)| (at, hit(passed * each))).collect();
    let (played, made) = (went_on(row).max(1.0), float(measured.guesses));
    let rate = measured.guesses_per_day(Span::from_micros(row.length_micros)) / secs(DAY);
    let beyond = (0..=96_u8).map(|step| played * (end / played).powf(f64::from(step) / 96.0));
    over.extend(beyond.map(|at| (at, hit(made + (at - played) * rate))));
    over
}
