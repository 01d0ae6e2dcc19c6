//! Spots between two axes, each with a letter; what the letters mean stands below.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Frame};
use super::letter;
use super::{Drawing, Told};

const HEIGHT: f64 = 320.0;

/// A spot.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// What it is of.
    pub name: String,
    /// Where it lies across.
    pub x: f64,
    /// Where it lies up.
    pub y: f64,
}

/// Draws spots, with what lies at an axis's end and beyond alike.
pub fn scatter(told: Told<'_>, (x, y): (&Axis, &Axis), spots: &[Spot]) -> Drawing {
    let frame = Frame { x, y, height: HEIGHT };
    let mut canvas = Canvas::default();
    frame.draw(&mut canvas, true);
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let mut key = Vec::new();
    for (index, spot) in spots.iter().enumerate() {
        let at = (frame.across(spot.x), frame.up(spot.y));
        let letter = letter(index);
        canvas.mark(index, at);
        let label = beside(at, &taken);
        canvas.text("letter", label, Anchor::Middle, &letter);
        taken.push(label);
        key.push((format!("<b class=\"letter\">{letter}</b>"), spot.name.clone()));
    }
    told.drawing(canvas.finish(HEIGHT, told.id, told.title, told.caption), key)
}

/// Returns a place for a letter beside its spot, off those that are taken.
fn beside((x, y): (f64, f64), taken: &[(f64, f64)]) -> (f64, f64) {
    const AROUND: [(f64, f64); 6] =
        [(13.0, -5.0), (-13.0, -5.0), (13.0, 15.0), (-13.0, 15.0), (0.0, -12.0), (0.0, 24.0)];
    let inside = |(x, y): &(f64, f64)| {
        *x > Frame::left() + 6.0 && *x < Frame::right() - 2.0 && *y > Frame::top() && *y < HEIGHT - 56.0
    };
    let free = |(x, y): &(f64, f64)| taken.iter().all(|(a, b)| (a - x).abs() > 13.0 || (b - y).abs() > 13.0);
    let places = || AROUND.map(|(dx, dy)| (x + dx, y + dy)).into_iter();
    places()
        .find(|at| inside(at) && free(at))
        .or_else(|| places().find(inside))
        .unwrap_or((x + 13.0, y - 5.0))
}
