//! What is printed: Markdown, so that it can be kept as it is.

use std::io::{self, Write as _};

use anyhow::Result;

/// What is printed so far. It is printed at the end: whoever reads along would take part in the measurement.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// Adds a line and an empty one.
    pub(super) fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push_str("\n\n");
    }

    /// Adds a table; all columns but the first are numbers.
    pub(super) fn table<const N: usize>(&mut self, headings: [&str; N], rows: &[[String; N]]) {
        let mut widths = headings.map(|heading| heading.chars().count());
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        self.row(widths, &headings.map(str::to_owned));
        let mut place = 0;
        let rule = widths.map(|width| {
            place += 1;
            if place == 1 { "-".repeat(width) } else { format!("{}:", "-".repeat(width - 1)) }
        });
        self.row(widths, &rule);
        for row in rows {
            self.row(widths, row);
        }
        self.0.push('\n');
    }

    fn row<const N: usize>(&mut self, widths: [usize; N], cells: &[String; N]) {
        for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = if place == 0 { format!("| {cell:width$} ") } else { format!("| {cell:>width$} ") };
            self.0.push_str(&cell);
        }
        self.0.push_str("|\n");
    }

    /// Adds whether an aim is met.
    pub(super) fn aim(&mut self, what: &str, seen: f64, most: f64) {
        let met = if seen <= most { "aim met" } else { "aim missed" };
        self.line(&format!("**{met}**: {what}: {seen:.2}, and the aim is at most {most}."));
    }

    /// Prints everything.
    pub(super) fn finish(self) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(self.0.trim_end().as_bytes())?;
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }
}

/// Returns the middle one of some figures.
pub(super) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
