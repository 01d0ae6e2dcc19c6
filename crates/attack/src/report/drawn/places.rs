//! The places of what was measured: instants and counts as numbers of an axis.

use tidegate_algorithms::Span;
use tidegate_review::float;

use super::Row;

const MICROS: f64 = 1e6;

/// Returns for how many seconds a row's long play went on.
pub(super) fn went_on(row: &Row) -> f64 {
    secs(row.worst.went_on(Span::from_micros(row.length_micros)))
}

/// Returns what passed, as instants after the start with the count so far: closely while a short play went on.
pub(super) fn points(row: &Row) -> &[(u64, u64)] {
    if row.close_up.is_empty() { &row.worst.curve } else { &row.close_up }
}

/// Returns the count so far over seconds since the first that passed, while the short play went on.
pub(super) fn close(row: &Row) -> Vec<(f64, f64)> {
    let first = points(row).first().map_or(0, |(at, _)| *at);
    let mut places = vec![(0.0, 0.0)];
    places.extend(points(row).iter().map(|(at, count)| (seconds(at.saturating_sub(first)), float(*count))));
    places
}

/// Returns the count so far over seconds since the first that passed: of the short play, which is known closely, and then of
/// the long one that began where it did.
pub(super) fn since_first(row: &Row) -> Vec<(f64, f64)> {
    let (near, far) = (&row.close_up, &row.worst.curve);
    let end = near.last().map_or(0, |(at, _)| *at);
    let beyond = far.iter().filter(|(at, _)| *at > end || near.is_empty());
    let first = near.first().or(far.first()).map_or(0, |(at, _)| *at);
    let mut most = 0;
    let rising = near.iter().chain(beyond).map(|(at, count)| {
        most = most.max(*count);
        (seconds(at.saturating_sub(first)), float(most))
    });
    rising.collect()
}

/// Returns instants with how much passed at each, of counts so far.
pub(super) fn stamps(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut before = 0;
    let stamp = points.iter().map(|(at, count)| {
        let passed = count.saturating_sub(before);
        before = *count;
        (*at, passed)
    });
    stamp.collect()
}

/// Returns when the fullest half-open span of a length begins, and how much passed in it.
pub(super) fn fullest(stamps: &[(u64, u64)], span: u64) -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64)> = None;
    let (mut first, mut holds) = (0, 0_u64);
    for (at, passed) in stamps {
        holds = holds.saturating_add(*passed);
        while let Some((_, left)) = stamps.get(first).filter(|(begin, _)| at.saturating_sub(*begin) >= span) {
            holds = holds.saturating_sub(*left);
            first += 1;
        }
        if best.is_none_or(|(_, most)| holds > most) {
            best = stamps.get(first).map(|(begin, _)| (*begin, holds));
        }
    }
    best
}

pub(super) fn secs(span: Span) -> f64 {
    seconds(span.as_micros())
}

/// Returns microseconds as seconds.
pub(in crate::report) fn seconds(micros: u64) -> f64 {
    float(micros) / MICROS
}
