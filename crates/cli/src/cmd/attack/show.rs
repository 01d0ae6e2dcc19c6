//! The report of an attack as text.

use std::collections::HashMap;

use tidegate::Span;
use tidegate_attack::measure::InSpan;
use tidegate_attack::report::{Report, Row, RuleReport};
use tidegate_review::{spoken_chance, spoken_count, spoken_time};

use crate::output::Output;
use crate::table::Table;

const SECOND: u64 = 1_000_000;
/// The spans that the table has: a second, a minute, an hour, a day.
const SPANS: [u64; 4] = [SECOND, 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND];

/// Writes a report.
pub(super) fn report(report: &Report, out: &mut Output) {
    for rule in &report.rules {
        of_rule(rule, out);
    }
    let rows = report.rules.iter().map(|rule| rule.rows.len()).sum::<usize>();
    let requests = spoken_count(report.requests.into());
    out.line(&format!("{rows} attacks, {requests} requests simulated from seed {}", report.seed));
    if report.is_exceeded() {
        out.line(
            "MORE PASSED THAN CAN, by the rows marked with \"!\": a fault of Tidegate; please report it",
        );
    } else {
        out.line("nothing passed that the closed forms do not allow");
    }
}

fn of_rule(rule: &RuleReport, out: &mut Output) {
    let code = rule.code.as_ref().map(|code| format!(", guesses at {code}")).unwrap_or_default();
    out.line(&format!("{} ({}){code}", rule.rule, rule.class));
    if let Some(why) = &rule.skipped {
        out.line(&format!("  not attacked: {why}"));
        out.line("");
        return;
    }
    for limit in &rule.limits {
        out.line(&format!("  {}: {}", limit.name, limit.says));
    }
    out.line("");
    let mut table = Table::new([
        "  ADVERSARY",
        "IN A SECOND",
        "IN A MINUTE",
        "IN AN HOUR",
        "IN A DAY",
        "THEN A DAY",
        "50 % BY",
        "IN A YEAR",
        "DENIED",
    ]);
    for row in worst_of_each(&rule.rows) {
        table.push(cells(row));
    }
    table.lines().for_each(|line| out.line(&line));
    for exposed in &rule.exposed {
        let finding = exposed.finding.map(|id| format!(" [{id}]")).unwrap_or_default();
        out.line(&format!("  shown: {}{finding}", exposed.says));
    }
    out.line("");
}

/// Returns one row for each adversary, in their order: of one that is played for each limit, the one that let most through.
fn worst_of_each(rows: &[Row]) -> Vec<&Row> {
    let mut order: Vec<&str> = Vec::new();
    let mut worst: HashMap<&str, &Row> = HashMap::new();
    for row in rows {
        let kept = worst.entry(row.adversary).or_insert_with(|| {
            order.push(row.adversary);
            row
        });
        let gravity = |row: &Row| (row.is_exceeded, row.worst.guesses, row.worst.people.denied);
        if gravity(row) > gravity(kept) {
            *kept = row;
        }
    }
    order.iter().filter_map(|name| worst.get(name).copied()).collect()
}

fn cells(row: &Row) -> [String; 9] {
    let mark = if row.is_exceeded { "!" } else { " " };
    let with = row.with.as_ref().map(|with| format!(", {with}")).unwrap_or_default();
    let [second, minute, hour, day] = SPANS.map(|span| in_span(&row.worst.peaks, span));
    let guess = row.guess.as_ref();
    let half = guess.map_or_else(String::new, |guess| guess.p50.map_or("never".to_owned(), spoken_time));
    // What is guessed at many accounts hits one of them, whichever.
    let any = if row.worst.subjects > 1 && guess.is_some() { ", any of them" } else { "" };
    let people = row.worst.people;
    #[allow(clippy::cast_precision_loss, reason = "it is only shown")]
    let denied = match people.tries {
        0 => String::new(),
        tries => spoken_chance(people.denied as f64 / tries as f64),
    };
    [
        format!("{mark} {}{with}", row.adversary),
        second,
        minute,
        hour,
        day,
        spoken_count(rounded(row.worst.guesses_per_day(Span::from_micros(row.length_micros)))),
        format!("{half}{any}"),
        guess.map_or_else(String::new, |guess| spoken_chance(guess.chance_year)),
        denied,
    ]
}

/// Writes how much passed in the fullest span, and of how much it can be.
fn in_span(peaks: &[InSpan], micros: u64) -> String {
    let Some(peak) = peaks.iter().find(|peak| peak.micros == micros) else { return String::new() };
    let seen = spoken_count(peak.seen.into());
    peak.bound
        .map_or_else(|| format!("{seen}, no limit"), |bound| format!("{seen} of {}", spoken_count(bound)))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is no less than zero, and is shown"
)]
fn rounded(rate: f64) -> u128 {
    rate.round() as u128
}
