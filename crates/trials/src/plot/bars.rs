//! Bars side by side, each with the most that it can reach.

use super::canvas::{Anchor, Canvas, WIDTH};
use super::{Drawing, Told};

const LEFT: f64 = 6.0;
/// So much is left for the figures behind a bar, which may be large.
const RIGHT: f64 = 118.0;
const ROW: f64 = 44.0;
const TOP: f64 = 6.0;
const BAR: f64 = 15.0;
/// So many times the middle one, and a bar is drawn by its logarithm.
const FAR: f64 = 50.0;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// How long it is.
    pub seen: f64,
    /// The most that it can be.
    pub bound: Option<f64>,
    /// Its figures, as they stand behind it.
    pub figures: String,
    /// Whether it is longer than it can be.
    pub is_exceeded: bool,
}

/// Draws bars, with a stroke across each where its bound lies. `names` says what the bar and the stroke are.
pub fn bars(told: Told<'_>, bars: &[Bar], names: (&str, &str)) -> Drawing {
    let longest =
        bars.iter().flat_map(|bar| [bar.seen, bar.bound.unwrap_or(0.0)]).fold(0.0, f64::max).max(1.0);
    // Where one is far above the others these would be nothing; then lengths are logarithms, and said to be.
    let mut sizes: Vec<f64> = bars.iter().map(|bar| bar.seen).collect();
    sizes.sort_by(f64::total_cmp);
    let is_log = sizes.get(sizes.len() / 2).is_some_and(|middle| longest > middle.max(1.0) * FAR);
    let part = |value: f64| if is_log { value.ln_1p() / longest.ln_1p() } else { value / longest };
    let long = |value: f64| part(value).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let mut canvas = Canvas::default();
    let mut y = TOP;
    for bar in bars {
        canvas.text("name", (LEFT, y + 14.0), Anchor::Start, &bar.name);
        let top = y + 21.0;
        let class = if bar.is_exceeded { "bar exceeded" } else { "bar" };
        canvas.rect(class, (LEFT, top), (long(bar.seen).max(1.5), BAR));
        let bound = bar.bound.map(long);
        if let Some(bound) = bound {
            canvas.line("bound", (LEFT + bound, top - 3.5), (LEFT + bound, top + BAR + 3.5));
        }
        let end = LEFT + long(bar.seen).max(bound.unwrap_or(0.0));
        canvas.text("tick", (end + 8.0, top + 12.5), Anchor::Start, &bar.figures);
        y += ROW;
    }
    let key = vec![
        (
            "<span class=\"sample bar-sample\"></span>".to_owned(),
            format!("{}{}", names.0, if is_log { " (lengths are logarithms)" } else { "" }),
        ),
        ("<span class=\"sample bound-sample\"></span>".to_owned(), names.1.to_owned()),
    ];
    told.drawing(canvas.finish(y + 4.0, told.id, told.title, told.caption), key)
}
