//! A comparison as text: a column for each limit.

use tidegate::Span;
use tidegate_attack::compare::{Column, Comparison, Promise};
use tidegate_attack::report::letter;
use tidegate_review::{spoken_chance, spoken_count, spoken_time, whole};

use crate::output::Output;

/// How wide the names of figures are.
const NAMES: usize = 34;
/// How far columns are apart.
const GAP: usize = 2;

/// Writes a comparison.
pub(super) fn comparison(comparison: &Comparison, out: &mut Output) {
    let span = Span::from_micros(comparison.span_micros);
    let letters: Vec<String> = (0..comparison.columns.len()).map(letter).collect();
    for (letter, column) in letters.iter().zip(&comparison.columns) {
        out.line(&format!("{letter}  {}", column.limit.numbers));
    }
    out.line("");
    let rows = rows(comparison, span);
    let widths: Vec<usize> = (0..comparison.columns.len())
        .map(|index| rows.iter().filter_map(|(_, cells)| cells.get(index)).map(|it| it.chars().count()).max())
        .map(|width| width.unwrap_or(0).max(8))
        .collect();
    out.line(line("", &letters, &widths).trim_end());
    for (name, cells) in &rows {
        out.line(line(name, cells, &widths).trim_end());
    }
    if let Some(promise) = &comparison.promise {
        out.line("");
        tell(promise, out);
    }
    out.line("");
    let requests = spoken_count(comparison.requests.into());
    out.line(&format!(
        "{requests} requests simulated from seed {}; a code of {}",
        comparison.seed, comparison.code
    ));
    if comparison.is_exceeded() {
        out.line("MORE PASSED THAN CAN: a fault of Tidegate; please report it");
    } else {
        out.line("nothing passed that the closed forms do not allow");
    }
}

fn line(name: &str, cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{:GAP$}{cell:>width$}", ""));
    format!("{name:NAMES$}{}", cells.collect::<String>())
}

/// A figure's name, and what it is of each limit.
type Figure = (String, Vec<String>);

fn rows(comparison: &Comparison, span: Span) -> Vec<Figure> {
    let row = |name: &str, cell: &dyn Fn(&Column) -> String| -> Figure {
        (name.to_owned(), comparison.columns.iter().map(cell).collect())
    };
    vec![
        row(&format!("at most in any {span}"), &|column| spoken_count(column.bound)),
        row("  as seen", &|column| spoken_count(column.seen.into())),
        row("  by", &|column| column.by.to_owned()),
        row("at once", &|column| spoken_count(column.at_once.into())),
        row("in the first hour, at most", &|column| spoken_count(column.first[0])),
        row("in the first day, at most", &|column| spoken_count(column.first[1])),
        row("a day in the long run", &|column| spoken_count(whole(column.a_day))),
        row("a blind guess: 50 % by", &|column| {
            column.half_after_secs.map_or_else(|| "never".to_owned(), spoken_time)
        }),
        row("  within a year", &|column| spoken_chance(column.chance_year)),
        row("requests to keep one out an hour", &|column| {
            column.to_deny_an_hour.map_or_else(|| "more than fit".to_owned(), |it| spoken_count(it.into()))
        }),
        row("  his tries refused, as seen", &|column| column.denied.map_or_else(String::new, spoken_chance)),
        row("bytes of a key's state", &|column| spoken_count(column.bytes.into())),
        row("reads, writes when admitted", &|column| pair(column.operations[0])),
        row("reads, writes when refused", &|column| pair(column.operations[1])),
    ]
}

fn tell(promise: &Promise, out: &mut Output) {
    let (most, span) = (promise.most, Span::from_micros(promise.micros));
    out.line(&format!("to promise never more than {} in any {span}, use one of", spoken_count(most.into())));
    let width = promise.kept_by.iter().map(|keeper| keeper.limit.chars().count()).max().unwrap_or(0);
    for keeper in &promise.kept_by {
        out.line(&format!("  {:width$}  {}", keeper.limit, keeper.says()));
    }
}

fn pair([reads, writes]: [f64; 2]) -> String {
    format!("{reads:.1}, {writes:.1}")
}
