//! A table of text: columns as wide as their widest cell, two spaces apart.

/// The widest that a column becomes; longer cells push what is right of them. Padding is bounded by the library as well,
/// which panics beyond.
const WIDEST: usize = 240;

/// Rows of as many cells as there are headings.
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// Begins a table with its headings.
    pub(crate) fn new(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned)] }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Returns the table's lines, without spaces at their ends.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count()).min(WIDEST);
            }
        }
        self.rows.iter().map(move |row| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters_and_lines_end_without_spaces() {
        let mut table = Table::new(["A", "B"]);
        table.push(["é".repeat(3), "x".to_owned()]);
        table.push(["y".to_owned(), String::new()]);
        assert_eq!(table.lines().collect::<Vec<_>>(), ["A    B", "ééé  x", "y"]);
    }

    /// Guards against cells longer than the padding that the library knows.
    #[test]
    fn a_cell_of_any_length_is_a_cell() {
        let mut table = Table::new(["A", "B"]);
        table.push(["y".to_owned(), "x".repeat(70_000)]);
        table.push(["y".repeat(70_000), "x".to_owned()]);
        assert_eq!(table.lines().map(|line| line.len()).collect::<Vec<_>>(), [243, 70_242, 70_003]);
    }
}
