//! Limits side by side as one page: the table that one chooses by, what keeps a promise, and the drawings.

use tidegate_algorithms::Span;
use tidegate_review::{float, spoken_chance, spoken_count, spoken_time};

use super::drawn::{self, seconds};
use super::{Row, Trade, letter};
use crate::compare::{Column, Comparison, Promise};
use tidegate_trials::html::{Cell, Html, escape};
use tidegate_trials::plot::{Bar, Drawing, Told, bars, short_time};

/// Writes a comparison as a page that needs nothing else: no network, no script.
pub fn comparison_page(comparison: &Comparison) -> String {
    let mut html = Html::new("Limits side by side");
    let span = short_time(seconds(comparison.span_micros));
    html.element(
        "p",
        &format!(
            "The same attacks on each of {} limits: {} requests in simulated time, each decided by the limiter itself. Seed {}; \
             the same seed plays the same attacks. The code that is guessed at: {}.",
            comparison.columns.len(),
            spoken_count(comparison.requests.into()),
            comparison.seed,
            comparison.code,
        ),
    );
    if comparison.is_exceeded() {
        html.alarm(
            "More passed than can",
            "That is a fault of Tidegate's: please report it with the limits and the seed.",
        );
    }
    table(&mut html, comparison, &span);
    if let Some(promise) = &comparison.promise {
        promised(&mut html, promise);
    }
    html.raw("<div class=\"plots\">\n");
    for drawing in drawings(comparison, &span) {
        drawing.put(&mut html);
    }
    html.raw("</div>\n");
    html.finish()
}

/// Returns the letter that each limit is called by, and its column.
fn named(comparison: &Comparison) -> impl Iterator<Item = (String, &Column)> {
    (0..).map(letter).zip(&comparison.columns)
}

fn table(html: &mut Html, comparison: &Comparison, span: &str) {
    let most = format!("Most in any {span}, of the most that can be");
    let columns = [
        "Limit",
        &most,
        "At once",
        "First hour, at most",
        "First day, at most",
        "Half of guesses hit after",
        "A guess within a year",
        "Requests to keep somebody out for an hour",
        "His requests refused, as seen",
        "Bytes a key",
        "Reads and writes when admitted",
        "When refused",
    ];
    let rows = named(comparison).map(|(letter, column)| {
        let or = |figure: Option<String>, none: &str| figure.unwrap_or_else(|| none.to_owned());
        let pair = |[reads, writes]: [f64; 2]| format!("{reads:.1} and {writes:.1}");
        let figures = [
            format!("{} of {} ({})", spoken_count(column.seen.into()), spoken_count(column.bound), column.by),
            spoken_count(column.at_once.into()),
            spoken_count(column.first[0]),
            spoken_count(column.first[1]),
            or(column.half_after_secs.map(spoken_time), "never"),
            spoken_chance(column.chance_year),
            or(column.to_deny_an_hour.map(|requests| spoken_count(requests.into())), "more than fit"),
            or(column.denied.map(spoken_chance), "–"),
            spoken_count(column.bytes.into()),
            pair(column.operations[0]),
            pair(column.operations[1]),
        ];
        let heading = Cell::Heading { text: letter, to: None, below: Some(column.limit.numbers.clone()) };
        std::iter::once(heading).chain(figures.map(Cell::Figure)).collect()
    });
    html.table(
        "Limits, and what they come to under the worst attack",
        &columns,
        &[(String::new(), rows.collect())],
    );
}

fn promised(html: &mut Html, promise: &Promise) {
    let span = short_time(seconds(promise.micros));
    let most = spoken_count(promise.most.into());
    html.element("h2", &format!("To promise never more than {most} in any {span}"));
    if promise.kept_by.is_empty() {
        html.element("p", "None of the algorithms keeps it.");
        return;
    }
    html.raw("<ol class=\"promise\">\n");
    for keeper in &promise.kept_by {
        let (limit, says) = (escape(&keeper.limit), escape(&keeper.says()));
        html.raw(&format!("<li><code>{limit}</code>: of that, {says}</li>\n"));
    }
    html.raw("</ol>\n");
}

fn drawings(comparison: &Comparison, span: &str) -> Vec<Drawing> {
    let fullest: Vec<Bar> = named(comparison)
        .map(|(letter, column)| Bar {
            name: format!("{letter}  {}", column.limit.numbers),
            seen: float(column.seen),
            bound: Some(float(column.bound)),
            figures: format!("{} of {}", spoken_count(column.seen.into()), spoken_count(column.bound)),
            is_exceeded: u128::from(column.seen) > column.bound,
        })
        .collect();
    let title = format!("Side by side: the fullest {span}.");
    let told = Told {
        id: "fullest",
        title: &title,
        caption: "The most that any adversary got into it, with the most that the closed form allows.",
    };
    let bars = bars(told, &fullest, ("seen", "the most by the closed form"));
    let span = Span::from_micros(comparison.span_micros);
    let in_span = |row: &&Row| row.worst.peak(span).map_or(0, |peak| peak.seen);
    // Of equals the first: simpler ones come earlier.
    let worst = picked(comparison, |column| {
        let rows = column.rows.iter().rev().filter(|row| row.worst.people.tries == 0);
        rows.max_by_key(in_span)
    });
    let told = Told {
        id: "growth",
        title: "How much passes, and when.",
        caption: "What the adversary with the fullest span got through from his first request on, in his short play.",
    };
    let growth = drawn::side_by_side(&worst, told);
    let soonest = |row: &Row| row.guess.and_then(|guess| guess.p50).unwrap_or(f64::INFINITY);
    let guessing = picked(comparison, |column| {
        let rows = column.rows.iter().filter(|row| row.worst.guesses > 0 && row.guess.is_some());
        rows.min_by(|a, b| soonest(a).total_cmp(&soonest(b)))
    });
    let chance = guessing.iter().find_map(|(_, row)| row.worst.guessing.as_ref());
    let chance = chance.map(|guessing| guessing.guess.chance_of_one());
    let told = Told {
        id: "guess",
        title: "How soon a blind guess hits.",
        caption: "Of the adversary who is soonest at each limit. The shaded part lies beyond what was played, and goes on at the \
                  rate that was sustained.",
    };
    let guess = chance.and_then(|chance| drawn::hit_over_time(&guessing, chance, told));
    let trades: Vec<Trade> = comparison.columns.iter().filter_map(|column| column.trade.clone()).collect();
    [Some(bars), growth, guess, drawn::traded(&trades, "trade")].into_iter().flatten().collect()
}

/// Returns one row of each limit, by the limit's letter and the adversary.
fn picked<'a>(
    comparison: &'a Comparison,
    pick: impl Fn(&'a Column) -> Option<&'a Row>,
) -> Vec<(String, &'a Row)> {
    let picked = named(comparison).filter_map(|(letter, column)| {
        let row = pick(column)?;
        Some((format!("{letter}, {}", row.adversary), row))
    });
    picked.collect()
}
