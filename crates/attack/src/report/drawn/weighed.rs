//! Figures side by side: the fullest window of each, and what shutting somebody out costs against how long a guess takes.

use tidegate_review::{float, spoken_count, spoken_time, whole};

use super::places::secs;
use super::{Row, RuleReport, Trade, name};
use crate::measure::InSpan;
use tidegate_trials::plot::{Axis, Bar, Drawing, Spot, Told, Unit, bars, scatter, short_time};

/// So many adversaries are told apart in one drawing.
const MOST_BARS: usize = 12;

/// Draws the fullest window of every adversary.
pub(super) fn fullest_windows(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let window = rule.limits.first()?.window();
    let mut rows: Vec<(&Row, InSpan)> = rule
        .rows
        .iter()
        .filter_map(|row| Some((row, *row.worst.peak(window)?)))
        .filter(|(_, peak)| peak.seen > 0)
        .collect();
    rows.sort_by_key(|(_, peak)| std::cmp::Reverse(peak.seen));
    let more = rows.len().saturating_sub(MOST_BARS);
    let bar = |(row, peak): &(&Row, InSpan)| Bar {
        name: name(row),
        seen: float(peak.seen),
        bound: peak.bound.map(float),
        figures: peak.of_bound(),
        is_exceeded: row.is_exceeded && peak.is_exceeded(),
    };
    let drawn: Vec<Bar> = rows.iter().take(MOST_BARS).map(bar).collect();
    let (most, _) = rows.first()?;
    let span = short_time(secs(window));
    let mut caption = format!(
        "The most that passed in any {span}, with the most that the closed forms allow for the keys that were touched. {} got \
         the most.",
        name(most),
    );
    if more > 0 {
        caption.push_str(" More stand in the table.");
    }
    let title = format!("Adversaries side by side: the fullest {span}.");
    let told = Told { id, title: &title, caption: &caption };
    Some(bars(told, &drawn, ("seen", "the most by the closed form")))
}

/// Draws what shutting somebody out costs, against how long a guess takes.
pub(in crate::report) fn traded(trades: &[Trade], id: &str) -> Option<Drawing> {
    let spots: Vec<Spot> = trades
        .iter()
        .filter(|trade| trade.requests_an_hour > 0.0)
        .map(|trade| Spot {
            name: format!(
                "{}: {} requests an hour, half guessed {}",
                trade.what,
                an_hour(trade.requests_an_hour),
                trade.p50.map_or_else(|| "never".to_owned(), |p50| format!("after {}", spoken_time(p50)))
            ),
            x: trade.p50.unwrap_or(f64::INFINITY),
            y: trade.requests_an_hour,
        })
        .collect();
    let finite = || spots.iter().map(|spot| spot.x).filter(|x| x.is_finite());
    let (least, most) = (finite().fold(f64::INFINITY, f64::min), finite().fold(1.0, f64::max));
    let high = spots.iter().map(|spot| spot.y).fold(1.0, f64::max);
    let low = spots.iter().map(|spot| spot.y).fold(f64::INFINITY, f64::min);
    spots.first()?;
    let x = Axis::log(
        "time by which half of all guesses hit",
        (least / 10.0).max(1.0),
        most * 10.0,
        Unit::Seconds,
    );
    let y = Axis::log("requests an hour that keep somebody out", low / 10.0, high * 10.0, Unit::Count);
    let caption = "The fewest requests an hour that leave no gap for a day. Further right a guess takes longer; further up it \
                   is dearer to keep somebody out on purpose. A tighter limit goes right and down: what keeps both is \
                   another key, or a way in for whom you know.";
    let told =
        Told { id, title: "What shutting somebody out costs, against how long a guess takes.", caption };
    Some(scatter(told, (&x, &y), &spots))
}

fn an_hour(requests: f64) -> String {
    if requests < 9.5 { format!("{requests:.2}") } else { spoken_count(whole(requests)) }
}
