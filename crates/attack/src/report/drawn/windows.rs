//! What passed against time, in windows of the clock.

use tidegate_review::{float, spoken_count};

use super::places::{fullest, points, seconds, stamps};
use super::{LimitShown, Row, RuleReport, counted};
use crate::measure::InSpan;
use tidegate_trials::plot::{Drawing, Passed, Told, Windows, short_time, windows};

/// So many windows of the clock are drawn.
const WINDOWS: u64 = 5;

/// Draws what passed against time, for the adversary who got most into a window of the clock.
pub(super) fn passed_in_windows(rule: &RuleReport, id: &str) -> Option<Drawing> {
    let clocked: Vec<&LimitShown> = rule.limits.iter().filter(|limit| limit.by_the_clock).collect();
    // Of equals the first: simpler ones come earlier.
    let pairs = counted(rule).rev().filter_map(|row| {
        let limit = match &row.limit {
            Some(name) => clocked.iter().find(|limit| limit.name == *name),
            None => clocked.first(),
        }?;
        let peak = row.worst.peak(limit.window())?;
        Some((row, *limit, *peak)).filter(|_| !points(row).is_empty())
    });
    // By what is possible rather than in numbers: a hundred addresses get more, and show less.
    let ratio = |peak: &InSpan| peak.bound.map_or(0.0, |bound| float(peak.seen) / float(bound.max(1)));
    let worth = |row: &Row, peak: &InSpan| (ratio(peak), row.limit.is_some());
    let (row, limit, peak) = pairs.max_by(|(a, _, x), (b, _, y)| {
        worth(a, x).partial_cmp(&worth(b, y)).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let window = limit.window_micros;
    let passed = stamps(points(row));
    let (from, count) = fullest(&passed, window)?;
    // The drawing begins with the window before the one in which the fullest span does.
    let first = row.start_micros.saturating_add(from) / window;
    let begins = first.saturating_sub(1).saturating_mul(window);
    let ends = begins.saturating_add(window.saturating_mul(WINDOWS));
    let after = |at: u64| seconds(row.start_micros.saturating_add(at).saturating_sub(begins));
    let inside = |at: u64| (begins..ends).contains(&row.start_micros.saturating_add(at));
    let drawn = passed.iter().filter(|(at, _)| inside(*at));
    let plot = Windows {
        length: seconds(window),
        count: u32::try_from(WINDOWS).unwrap_or(1),
        passed: drawn.map(|(at, count)| Passed { at: after(*at), count: *count }).collect(),
        fullest: Some((after(from), count)),
    };
    let span = short_time(seconds(window));
    let caption = format!(
        "{} at {}, whose windows begin by the clock: the fullest {span} of all plays held {}{}. Bands are those windows, with \
         how many passed in each; the bracket spans the fullest {span} of the play that is drawn, which keeps to none of them.",
        row.adversary,
        limit.name,
        spoken_count(peak.seen.into()),
        by_the_forms(&peak),
    );
    let told = Told { id, title: "What passed, and in which window.", caption: &caption };
    Some(windows(told, &plot))
}

/// Writes what closed forms allow, to stand behind what was seen.
fn by_the_forms(span: &InSpan) -> String {
    span.bound.map_or_else(String::new, |bound| format!(" ({} by the closed form)", spoken_count(bound)))
}
