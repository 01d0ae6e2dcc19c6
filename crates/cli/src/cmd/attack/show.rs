//! The report of an attack as text.

use std::collections::HashMap;

use tidegate::Span;
use tidegate_attack::measure::InSpan;
use tidegate_attack::report::{Report, Row, RuleReport};
use tidegate_attack::stage::SPANS;
use tidegate_review::{spoken_chance, spoken_count, spoken_time, whole};

use crate::output::Output;
use crate::table::Table;

/// Writes a report.
pub(super) fn report(report: &Report, out: &mut Output) {
    for rule in &report.rules {
        of_rule(rule, out);
    }
    let attacks = match report.rows().count() {
        1 => "1 attack".to_owned(),
        rows => format!("{rows} attacks"),
    };
    let requests = spoken_count(report.requests.into());
    out.line(&format!("{attacks}, {requests} requests simulated from seed {}", report.seed));
    if report.is_exceeded() {
        out.line(
            "MORE PASSED THAN CAN, by the rows marked with \"!\": a fault of Tidegate; please report it",
        );
    } else if report.is_by_a_wrong_store() {
        out.line(
            "more passed than the closed forms allow: the scenario's store is one that is wrong on purpose",
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
    let name = format!("{mark} {}", row.adversary);
    let told = [Some(name), row.with.clone(), row.uncounted()].into_iter().flatten();
    let told = told.collect::<Vec<_>>().join(", ");
    let [second, minute, hour, day] =
        SPANS.map(|span| row.worst.peak(span).map_or_else(String::new, InSpan::of_bound));
    let guess = row.guess.as_ref();
    let half = guess.map_or_else(String::new, |guess| guess.p50.map_or("never".to_owned(), spoken_time));
    // What is guessed at many accounts hits one of them, whichever.
    let any = if row.worst.subjects > 1 && guess.is_some() { ", any of them" } else { "" };
    let denied = row.worst.people.share_denied().map_or_else(String::new, spoken_chance);
    [
        told,
        second,
        minute,
        hour,
        day,
        spoken_count(whole(row.worst.guesses_per_day(Span::from_micros(row.length_micros)))),
        format!("{half}{any}"),
        guess.map_or_else(String::new, |guess| spoken_chance(guess.chance_year)),
        denied,
    ]
}
