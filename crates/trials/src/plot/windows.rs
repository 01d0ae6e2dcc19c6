//! What passed against time, with the windows that a limit counts in.

use std::cmp::Ordering;

use tidegate_review::float;

use super::axis::{Axis, Unit, short_time};
use super::canvas::{Anchor, Canvas, Frame, WIDTH};
use super::{Drawing, Told};

const HEIGHT: f64 = 300.0;
/// What passes within so small a part of the drawing is one stroke.
const STROKES: f64 = 130.0;
/// So many strokes are labelled with their counts.
const MOST_LABELS: usize = 12;
/// How wide a stroke is.
const STROKE: f64 = 5.0;

/// How much passed at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passed {
    /// The instant in seconds after the drawing's beginning.
    pub at: f64,
    /// How much.
    pub count: u64,
}

/// What is drawn: windows that follow each other from the drawing's beginning.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// The length of a window, in seconds.
    pub length: f64,
    /// How many windows are drawn.
    pub count: u32,
    /// What passed, in order.
    pub passed: Vec<Passed>,
    /// When the fullest span of a window's length began, in seconds, and how much passed in it.
    pub fullest: Option<(f64, u64)>,
}

/// Draws it: a stroke for each instant at which something passed, bands for windows with the count of each, and a bracket
/// over the fullest span.
pub fn windows(told: Told<'_>, plot: &Windows) -> Drawing {
    let length = plot.length * f64::from(plot.count);
    let strokes = strokes(&plot.passed, length / STROKES, plot.length);
    let highest = strokes.iter().map(|stroke| stroke.count).max().unwrap_or(1);
    let label = format!("time in {}; bands are windows of the clock", in_unit(plot.length).1);
    let x = Axis { label, from: 0.0, to: length, scale: super::Scale::Linear, unit: Unit::Seconds };
    // Room above the strokes, for the counts of windows and the bracket.
    let y = Axis::linear("passed at once", float(highest) * 1.5, Unit::Count);
    let frame = Frame { x: &x, y: &y, height: HEIGHT };
    let mut canvas = Canvas::default();
    bands(&mut canvas, &frame, plot);
    for tick in y.ticks(0.12).into_iter().filter(|tick| tick.at <= y.place(float(highest)) + 0.01) {
        let at = frame.bottom() - tick.at * (frame.bottom() - Frame::top());
        canvas.text("tick", (Frame::left() - 8.0, at + 4.5), Anchor::End, &tick.label);
    }
    let labelled = strokes.len() <= MOST_LABELS;
    for stroke in &strokes {
        let (at, y) = (frame.across(stroke.at), frame.up(float(stroke.count)));
        let x = beside_edges(&frame, plot, stroke.at);
        canvas.rect("stem", (x - STROKE / 2.0, y), (STROKE, frame.bottom() - y));
        if labelled {
            // Of two on either side of a window's end each is labelled on its side.
            let (x, anchor) = match x.total_cmp(&at) {
                Ordering::Less => (x + 1.0, Anchor::End),
                Ordering::Equal => (x, Anchor::Middle),
                Ordering::Greater => (x - 1.0, Anchor::Start),
            };
            canvas.text("small", (x, y - 4.0), anchor, &stroke.count.to_string());
        }
    }
    if let Some((from, count)) = plot.fullest {
        bracket(
            &mut canvas,
            &frame,
            (from, from + plot.length),
            &format!("{count} in {}", short_time(plot.length)),
        );
    }
    frame.name(&mut canvas);
    told.drawing(canvas.finish(HEIGHT, told.id, told.title, told.caption), Vec::new())
}

/// Draws the windows as bands, with the count of each at its top.
fn bands(canvas: &mut Canvas, frame: &Frame<'_>, plot: &Windows) {
    let (divisor, _) = in_unit(plot.length);
    for index in 0..plot.count {
        let from = plot.length * f64::from(index);
        let (left, right) = (frame.across(from), frame.across(from + plot.length));
        let class = if index % 2 == 0 { "band" } else { "band odd" };
        canvas.rect(class, (left, Frame::top()), (right - left, frame.bottom() - Frame::top()));
        let inside = |passed: &&Passed| passed.at >= from && passed.at < from + plot.length;
        let count: u64 = plot.passed.iter().filter(inside).map(|passed| passed.count).sum();
        let middle = f64::midpoint(left, right);
        canvas.text("strong-ink", (middle, Frame::top() + 15.0), Anchor::Middle, &format!("{count}"));
    }
    canvas.text("tick", (Frame::left() - 8.0, Frame::top() + 15.0), Anchor::End, "in each");
    for index in 0..=plot.count {
        let at = plot.length * f64::from(index);
        canvas.line("upright", (frame.across(at), Frame::top()), (frame.across(at), frame.bottom()));
        frame.mark_below(canvas, frame.across(at), &format!("{}", at / divisor));
    }
}

/// Draws a bracket over a span.
fn bracket(canvas: &mut Canvas, frame: &Frame<'_>, (from, to): (f64, f64), label: &str) {
    let (left, right, y) = (frame.across(from), frame.across(to), Frame::top() + 42.0);
    canvas.path("bracket", &[(left, y + 8.0), (left, y), (right, y), (right, y + 8.0)]);
    let middle = f64::midpoint(left, right).min(WIDTH - 70.0);
    canvas.text("strong", (middle, y - 6.0), Anchor::Middle, label);
}

/// Puts what passed nearly at one instant together, though not across a window's end, which is what is to be seen.
fn strokes(passed: &[Passed], near: f64, window: f64) -> Vec<Passed> {
    let of = |passed: &Passed| (passed.at / window).floor();
    let mut strokes: Vec<Passed> = Vec::new();
    for next in passed {
        match strokes.last_mut() {
            Some(last) if next.at - last.at < near && of(last).to_bits() == of(next).to_bits() => {
                last.count = last.count.saturating_add(next.count);
            }
            _ => strokes.push(*next),
        }
    }
    strokes
}

/// Returns where a stroke's middle lies: at most half its width off its instant, so that it stays in its window.
fn beside_edges(frame: &Frame<'_>, plot: &Windows, at: f64) -> f64 {
    let from = (at / plot.length).floor() * plot.length;
    let (left, right) = (frame.across(from) + STROKE * 0.6, frame.across(from + plot.length) - STROKE * 0.6);
    if left < right { frame.across(at).clamp(left, right) } else { frame.across(at) }
}

/// Returns the unit in which a window is a whole number: its seconds, and its name.
fn in_unit(window: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 4] =
        [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds")];
    UNITS.into_iter().find(|(unit, _)| (window / unit).fract() == 0.0).unwrap_or((1.0, "seconds"))
}
