//! The paper of a drawing: SVG written by hand, so that the page's style says what every stroke looks like in light and dark,
//! dashes are dashes, and places need not be whole pixels.

use std::fmt::{self, Write as _};

use super::axis::Axis;
use crate::html::escape;

/// The width of every drawing, in its own units: about a letter's height is twelve of them, sixteen on a phone.
pub(super) const WIDTH: f64 = 480.0;
/// What is left free around the area that values are drawn in.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 52.0;
/// The least distances of marks, as parts of an axis.
const GAP_X: f64 = 0.165;
const GAP_Y: f64 = 0.1;

/// A drawing that is being made.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
}

/// Where a text stands to its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.out.write_fmt(text);
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            width.max(0.0),
            height.max(0.0)
        ));
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        ));
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        self.put(format_args!("<path class=\"{class}\" d=\""));
        for (index, (x, y)) in points.iter().enumerate() {
            let to = if index == 0 { 'M' } else { 'L' };
            self.put(format_args!("{to}{x:.1} {y:.1}"));
        }
        self.put(format_args!("\"/>"));
    }

    /// Draws the mark of a series: another shape for each.
    pub(super) fn mark(&mut self, series: usize, (x, y): (f64, f64)) {
        let class = format!("dot s{}", series % SERIES);
        match series % SHAPES {
            0 => self.put(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>")),
            1 => self.rect(&class, (x - 3.6, y - 3.6), (7.2, 7.2)),
            2 => self.polygon(&class, &[(x, y - 5.0), (x + 4.6, y + 3.4), (x - 4.6, y + 3.4)]),
            3 => self.polygon(&class, &[(x, y - 5.2), (x + 5.2, y), (x, y + 5.2), (x - 5.2, y)]),
            _ => self.polygon(&class, &[(x, y + 5.0), (x + 4.6, y - 3.4), (x - 4.6, y - 3.4)]),
        }
    }

    fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        self.put(format_args!("<polygon class=\"{class}\" points=\""));
        for (x, y) in points {
            self.put(format_args!("{x:.1},{y:.1} "));
        }
        self.put(format_args!("\"/>"));
    }

    /// Returns the drawing: what is to be seen in it stands in a title and a description.
    pub(super) fn finish(self, height: f64, id: &str, title: &str, description: &str) -> String {
        let Self { out } = self;
        let (title, description) = (escape(title), escape(description));
        format!(
            "<svg role=\"img\" aria-labelledby=\"{id}-title {id}-text\" viewBox=\"0 0 {WIDTH} {height:.0}\">\
             <title id=\"{id}-title\">{title}</title><desc id=\"{id}-text\">{description}</desc>{out}</svg>"
        )
    }
}

/// How many colours and shapes there are; their numbers share no divisor, so that few series look alike in both.
pub(super) const SERIES: usize = 6;
const SHAPES: usize = 5;
const DASHES: usize = 4;

/// Returns the class of the line of a series: its colour and its dashes.
pub(super) fn stroke(series: usize) -> String {
    format!("stroke s{} d{}", series % SERIES, series % DASHES)
}

/// Draws a sample of a series' line and mark, to stand beside its name.
pub(super) fn sample(series: usize, mark: bool) -> String {
    let mut canvas = Canvas::default();
    canvas.line(&stroke(series), (0.0, 8.0), (40.0, 8.0));
    if mark {
        canvas.mark(series, (20.0, 8.0));
    }
    format!("<svg class=\"sample\" aria-hidden=\"true\" viewBox=\"0 0 40 16\">{}</svg>", canvas.out)
}

/// The area between two axes.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
    pub(super) height: f64,
}

impl Frame<'_> {
    pub(super) fn left() -> f64 {
        LEFT
    }

    pub(super) fn right() -> f64 {
        WIDTH - RIGHT
    }

    pub(super) fn top() -> f64 {
        TOP
    }

    pub(super) fn bottom(&self) -> f64 {
        self.height - BOTTOM
    }

    /// Returns where a value of the horizontal axis lies.
    pub(super) fn across(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT)
    }

    /// Returns where a value of the vertical axis lies.
    pub(super) fn up(&self, y: f64) -> f64 {
        self.bottom() - self.y.place(y) * (self.bottom() - TOP)
    }

    /// Draws both axes with their marks and names; `upright` adds a fine line at each mark of the horizontal one.
    pub(super) fn draw(&self, canvas: &mut Canvas, upright: bool) {
        for tick in self.y.ticks(GAP_Y) {
            let y = self.bottom() - tick.at * (self.bottom() - TOP);
            canvas.line("grid", (LEFT, y), (Self::right(), y));
            canvas.text("tick", (LEFT - 8.0, y + 4.5), Anchor::End, &tick.label);
        }
        for tick in self.x.ticks(GAP_X) {
            let x = LEFT + tick.at * (WIDTH - LEFT - RIGHT);
            if upright {
                canvas.line("grid", (x, TOP), (x, self.bottom()));
            }
            self.mark_below(canvas, x, &tick.label);
        }
        self.name(canvas);
    }

    /// Draws the base line and the names of both axes.
    pub(super) fn name(&self, canvas: &mut Canvas) {
        canvas.line("axis", (LEFT, self.bottom()), (Self::right(), self.bottom()));
        let middle = f64::midpoint(LEFT, Self::right());
        canvas.text("name", (middle, self.height - 8.0), Anchor::Middle, &self.x.label);
        canvas.text("name", (6.0, 14.0), Anchor::Start, &self.y.label);
    }

    /// Draws a mark of the horizontal axis with its label.
    pub(super) fn mark_below(&self, canvas: &mut Canvas, x: f64, label: &str) {
        canvas.line("axis", (x, self.bottom()), (x, self.bottom() + 5.0));
        // A label at the edge must not reach out of the drawing.
        let (x, anchor) = if x > Self::right() - 8.0 { (WIDTH, Anchor::End) } else { (x, Anchor::Middle) };
        canvas.text("tick", (x, self.bottom() + 20.0), anchor, label);
    }
}
