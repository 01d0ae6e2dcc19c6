//! Lines over an axis, with upright marks.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Frame, sample, stroke};
use super::{Drawing, Told};

const HEIGHT: f64 = 320.0;

/// A series of places.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its places, from left to right.
    pub points: Vec<(f64, f64)>,
    /// How it goes from place to place.
    pub joined: Joined,
    /// Whether it carries marks besides its dashes.
    pub marks: bool,
}

/// How a line goes from one place to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Straight.
    Straight,
    /// It keeps its value until there: a count that was seen.
    Holding,
    /// It has the next value at once: a bound that is known at its places, and must not lie too low between them.
    Rising,
}

/// An upright mark at a place of the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Upright {
    /// Where.
    pub at: f64,
    /// What is there.
    pub label: String,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series.
    pub series: Vec<Line>,
    /// Upright marks.
    pub uprights: Vec<Upright>,
    /// From where on what is shown was not seen but reckoned, and how that part is called.
    pub beyond: Option<Upright>,
}

/// Draws lines.
pub fn lines(told: Told<'_>, plot: &Lines) -> Drawing {
    let frame = Frame { x: &plot.x, y: &plot.y, height: HEIGHT };
    let mut canvas = Canvas::default();
    if let Some(beyond) = &plot.beyond {
        let x = frame.across(beyond.at);
        canvas.rect("beyond", (x, Frame::top()), (Frame::right() - x, frame.bottom() - Frame::top()));
    }
    frame.draw(&mut canvas, false);
    for upright in &plot.uprights {
        let x = frame.across(upright.at);
        canvas.line("upright", (x, Frame::top()), (x, frame.bottom()));
        let (x, anchor) =
            if x > Frame::right() - 60.0 { (x - 4.0, Anchor::End) } else { (x + 4.0, Anchor::Start) };
        canvas.text("note", (x, Frame::top() + 12.0), anchor, &upright.label);
    }
    for (index, line) in plot.series.iter().enumerate() {
        let path = path(&frame, line);
        canvas.path(&stroke(index), &path);
        if line.marks {
            for at in marked(&path, index) {
                canvas.mark(index, at);
            }
        }
    }
    let samples = plot.series.iter().enumerate();
    let samples = samples.map(|(index, line)| (sample(index, line.marks), line.name.clone()));
    let beyond = plot.beyond.iter();
    let beyond = beyond
        .map(|beyond| ("<span class=\"sample beyond-sample\"></span>".to_owned(), beyond.label.clone()));
    let key = samples.chain(beyond);
    told.drawing(canvas.finish(HEIGHT, told.id, told.title, told.caption), key.collect())
}

/// Returns a line in the drawing's own units, without the places that nobody could tell apart.
fn path(frame: &Frame<'_>, line: &Line) -> Vec<(f64, f64)> {
    let mut path: Vec<(f64, f64)> = Vec::new();
    for (x, y) in &line.points {
        let at = (frame.across(*x), frame.up(*y));
        match path.last().copied() {
            Some(last) if near(last, at) => {}
            Some(last) => match line.joined {
                Joined::Straight => path.push(at),
                Joined::Holding => path.extend([(at.0, last.1), at]),
                Joined::Rising => path.extend([(last.0, at.1), at]),
            },
            None => path.push(at),
        }
    }
    // The last place is where the line ends, whether or not it can be told from the one before.
    if let Some((x, y)) = line.points.last() {
        path.push((frame.across(*x), frame.up(*y)));
    }
    path
}

fn near(a: (f64, f64), b: (f64, f64)) -> bool {
    (a.0 - b.0).abs() < 0.6 && (a.1 - b.1).abs() < 0.6
}

/// Returns a few places along a path, at equal distances across and for each series at others.
#[expect(clippy::cast_precision_loss, reason = "there are few series")]
fn marked(path: &[(f64, f64)], series: usize) -> Vec<(f64, f64)> {
    const EVERY: f64 = 90.0;
    let first = Frame::left() + 20.0 + (series % 4) as f64 * 22.0;
    let wanted = (0..6_u8).map(|index| first + f64::from(index) * EVERY);
    wanted
        .filter_map(|x| {
            let (a, b) = path.iter().zip(path.iter().skip(1)).find(|(a, b)| a.0 <= x && x < b.0)?;
            Some((x, a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)))
        })
        .collect()
}
