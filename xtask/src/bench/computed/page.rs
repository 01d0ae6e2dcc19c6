//! What a part has found: Markdown for whoever reads, and figures by name for whoever compares or judges.

use std::collections::BTreeMap;

/// The Markdown of one part, and its figures.
#[derive(Debug, Default)]
pub(in super::super) struct Page {
    text: String,
    figures: BTreeMap<String, f64>,
}

impl Page {
    pub(in super::super) fn new() -> Self {
        Self::default()
    }

    /// Adds a line and an empty one.
    pub(in super::super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\n\n");
    }

    /// Adds a table; all columns but the first are numbers.
    pub(in super::super) fn table<const N: usize>(&mut self, headings: [&str; N], rows: &[[String; N]]) {
        let rows: Vec<&[String]> = rows.iter().map(<[String; N]>::as_slice).collect();
        self.text.push_str(&table(&headings, &rows, 1));
        self.text.push('\n');
    }

    /// Adds whether a figure is at most what the store in Redis has been held to from the beginning.
    pub(in super::super) fn held_to(&mut self, what: &str, seen: f64, most: f64) {
        let holds = if seen <= most { "held" } else { "**not held**" };
        self.line(&format!("{holds}: {what}: {}, where {most} is the most.", short(seen)));
    }

    /// Notes a figure under its name, by which an aim is judged.
    ///
    /// # Panics
    /// When there is one of that name: whoever judged by it would not know which.
    pub(in super::super) fn figure(&mut self, name: impl Into<String>, value: f64) {
        let name = name.into();
        let before = self.figures.insert(name.clone(), value);
        assert!(before.is_none(), "{name} was measured twice");
    }

    pub(in super::super) fn text(&self) -> &str {
        self.text.trim_end()
    }

    pub(in super::super) fn figures(&self) -> &BTreeMap<String, f64> {
        &self.figures
    }
}

/// Returns a Markdown table with aligned columns; those from the `words`-th on are numbers, on the right.
pub(in super::super) fn table(headings: &[&str], rows: &[&[String]], words: usize) -> String {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(*row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line =
        |cells: &[String]| {
            let cells = cells.iter().zip(&widths).enumerate();
            let padded = cells.map(|(place, (cell, &width))| {
                if place < words { format!("| {cell:width$} ") } else { format!("| {cell:>width$} ") }
            });
            padded.chain(["|\n".to_owned()]).collect::<String>()
        };
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(
            |(place, &width)| {
                if place < words { "-".repeat(width) } else { format!("{}:", "-".repeat(width - 1)) }
            },
        )
        .collect();
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let lines = [line(&headings), line(&rule)];
    lines.into_iter().chain(rows.iter().map(|row| line(row))).collect()
}

/// Writes a figure with so many digits that they say something: three, but no fractions of large ones.
pub(in super::super) fn short(figure: f64) -> String {
    match figure.abs() {
        _ if figure.is_nan() => "–".to_owned(),
        size if size < 10.0 => format!("{figure:.2}"),
        size if size < 100.0 => format!("{figure:.1}"),
        _ => grouped(figure),
    }
}

/// Writes a whole number with commas between its thousands.
fn grouped(figure: f64) -> String {
    let digits = format!("{:.0}", figure.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if figure < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_by_characters_and_its_numbers_stand_on_the_right() {
        let mut page = Page::new();
        page.table(["asked", "µs"], &[["a".into(), "1.00".into()], ["long one".into(), "12.50".into()]]);
        assert_eq!(
            page.text(),
            "| asked    |    µs |\n| -------- | ----: |\n| a        |  1.00 |\n| long one | 12.50 |"
        );
    }

    #[test]
    fn figures_are_short_and_thousands_are_told_apart() {
        let shown = [0.756, 12.34, 99.96, 123.4, 1_234_567.8, -1_500.0, f64::NAN].map(short);
        assert_eq!(shown, ["0.76", "12.3", "100.0", "123", "1,234,568", "-1,500", "–"]);
    }

    #[test]
    #[should_panic(expected = "memory/hot was measured twice")]
    fn a_figure_has_one_value() {
        let mut page = Page::new();
        page.figure("memory/hot", 1.0);
        page.figure("memory/hot", 2.0);
    }
}
