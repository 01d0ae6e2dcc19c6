//! Everything that passed, against the envelope and the bound.

use tidegate_review::{DAY, float, spoken_count, spoken_time, whole};

use super::places::{close, seconds, secs, since_first, went_on};
use super::{Row, RuleReport, guessers, name};
use crate::measure::Measured;
use tidegate_trials::plot::{Axis, Drawing, Joined, Line, Lines, Told, Unit, lines};

/// Draws how much passed in all, below what the closed forms allow and, of an attack at one key, the envelope of what was seen.
pub(super) fn cumulative(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let bounded = guessers(rule).filter(|row| {
        let worst = &row.worst;
        worst.without_store == 0 && worst.bounds.len() > 1 && worst.curve.len() > 1
    });
    // Of those at one key, to which the rate is that of; else of all.
    let row = bounded.max_by_key(|row| (is_at_one_key(row), row.worst.envelope, row.worst.admitted))?;
    let measured = &row.worst;
    let end = went_on(row).max(60.0);
    let first = 1.0_f64.min(end / 10.0);
    let bounds: Vec<(f64, f64)> =
        measured.bounds.iter().map(|(at, bound)| (seconds(*at), float(*bound))).collect();
    let passed = below(&bounds, row);
    let top = bounds.iter().chain(&passed).map(|(_, count)| *count).fold(10.0, f64::max);
    let line = |name: String, points, joined, marks| Line { name, points, joined, marks };
    let mut series = vec![
        line(format!("passed: {}", name(row)), passed, Joined::Holding, true),
        line("the most by the closed forms".to_owned(), bounds, Joined::Rising, false),
    ];
    let passed = format!(
        "{} got {} through in {}.",
        name(row),
        spoken_count(measured.admitted.into()),
        spoken_time(went_on(row))
    );
    let (title, caption) = if is_at_one_key(row) {
        let name = "envelope σ + ρ·t of what was seen".to_owned();
        series.push(line(name, envelope(measured, first, end), Joined::Straight, false));
        ("Everything that passed, against the envelope and the bound.", enveloped(&passed, measured))
    } else {
        (
            "Everything that passed, against the bound.",
            format!("{passed} The bound is that of all keys it was counted on."),
        )
    };
    let plot = Lines {
        x: Axis::log("time since the first request", first, end, Unit::Seconds),
        y: Axis::log("requests that passed", 1.0, top * 1.3, Unit::Count),
        series,
        uprights: Vec::new(),
        beyond: None,
    };
    Some(lines(Told { id, title, caption: &caption }, &plot))
}

/// Returns whether all of an attack was counted on one key, whose rate ρ is: of more keys the envelope says nothing.
fn is_at_one_key(row: &Row) -> bool {
    row.worst.most_per_day.is_some_and(|most| most <= row.worst.rate_per_second * secs(DAY) * 1.01)
}

fn enveloped(passed: &str, measured: &Measured) -> String {
    format!(
        "{passed} No span t of it held more than σ + ρ·t, with σ = {} and ρ = {} a day, the rate of the long run: two numbers by \
         which unlike algorithms compare.",
        spoken_count(measured.envelope.into()),
        a_day(measured.rate_per_second),
    )
}

/// Returns the count so far over seconds since the first that passed: closely while the short play went on, unless that got
/// ahead of the long one, whose bounds these are.
fn below(bounds: &[(f64, f64)], row: &Row) -> Vec<(f64, f64)> {
    let passed = since_first(row);
    // What is allowed at an instant is at most what is at the next one of which it is known.
    let most = |at: f64| bounds.iter().find(|(known, _)| *known >= at).or(bounds.last());
    let is_ahead = |(at, count): &(f64, f64)| most(*at).is_some_and(|(_, bound)| count > bound);
    if row.is_exceeded || !passed.iter().any(is_ahead) {
        return passed;
    }
    let first = row.worst.curve.first().map_or(0, |(at, _)| *at);
    row.worst.curve.iter().map(|(at, count)| (seconds(at.saturating_sub(first)), float(*count))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use tidegate_trials::html::Html;

    fn drawn(rule: &RuleReport) -> String {
        let mut html = Html::new("drawn");
        cumulative(rule, "id").unwrap().put(&mut html);
        html.finish()
    }

    /// Guards against the envelope of one key beside what passed on a hundred, which it is neither above nor below.
    #[test]
    fn the_envelope_is_drawn_of_attacks_at_one_key_alone() {
        let mut rule = sample::report("policy").rules.remove(1);
        assert!(drawn(&rule).contains("σ"));
        rule.rows.retain(|row| row.with.is_some());
        let many = drawn(&rule);
        assert!(
            many.contains("spray, 100 accounts got ") && !many.contains("σ") && !many.contains("envelope"),
            "{many}"
        );
    }

    /// Guards against a line of what passed that runs above the most that can, as if that were exceeded: it is of the play whose
    /// bounds are drawn, where another got ahead of it.
    #[test]
    fn what_passed_is_of_the_play_that_the_bounds_are_of() {
        let rule = sample::report("policy").rules.remove(0);
        let mut row = rule.rows.into_iter().next().unwrap();
        let bounds: Vec<(f64, f64)> =
            row.worst.bounds.iter().map(|(at, bound)| (seconds(*at), float(*bound))).collect();
        let near = below(&bounds, &row);
        assert!(near == since_first(&row), "closely where nothing is above");
        for (_, count) in &mut row.close_up {
            *count *= 100;
        }
        let own = below(&bounds, &row);
        assert_eq!(own.len(), row.worst.curve.len());
        assert_eq!(own.last().map(|(_, count)| *count), Some(float(row.worst.admitted)));
    }
}
