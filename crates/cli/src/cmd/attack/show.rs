//! The report of an attack as text.

use std::cmp::Ordering::Equal;

use tidegate::Span;
use tidegate_attack::report::{Report, Row, RuleReport};
use tidegate_attack::stage::SPANS;
use tidegate_review::{spoken_chance, spoken_count, spoken_time, whole};

use crate::output::Output;
use crate::table::Table;

/// What a reader of the table has to know who has not read of it.
const LEGEND: &str = "a of b: passed, of at most so many by closed form; –: not played for so long, or over; THEN A DAY: guesses in \
                      the long run, or requests where there is no code";

/// Writes a report; of the adversaries that were asked for those are told that fit nowhere.
pub(super) fn report(report: &Report, adversaries: &[String], out: &mut Output) {
    for rule in &report.rules {
        of_rule(rule, out);
    }
    for name in adversaries {
        if report.rows().all(|row| row.adversary != name) {
            out.line(&format!("not played: {name}, which does nothing at these rules as they are run here"));
        }
    }
    if report.rows().next().is_some() {
        out.line(LEGEND);
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
    let adversaries = by_adversary(&rule.rows);
    let has_price = rule.rows.iter().any(|row| row.money.is_some());
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
        if has_price { "COSTS A DAY" } else { "" },
    ]);
    for rows in &adversaries {
        table.push(cells(rule, rows));
    }
    table.lines().for_each(|line| out.line(&line));
    for exposed in &rule.exposed {
        let finding = exposed.finding.map(|id| format!(" [{id}]")).unwrap_or_default();
        out.line(&format!("  shown: {}{finding}", exposed.says));
    }
    out.line("");
}

/// Returns the rows of each adversary, in their order: one, or one for each limit that his schedule is made for.
fn by_adversary(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut all: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|of| of.first().is_some_and(|first| first.adversary == row.adversary)) {
            Some(of) => of.push(row),
            None => all.push(vec![row]),
        }
    }
    all
}

/// Returns the cells of an adversary: in each column the worst of his rows.
fn cells(rule: &RuleReport, rows: &[&Row]) -> [String; 10] {
    let all = || rows.iter().copied();
    let mark = if all().any(|row| row.is_exceeded) { "!" } else { " " };
    let uncounted = all().max_by_key(|row| row.worst.without_store);
    let told = [
        all().next().map(|row| format!("{mark} {}", row.adversary)),
        all().find_map(|row| row.with.clone()),
        uncounted.and_then(Row::uncounted),
    ];
    let told = told.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let [second, minute, hour, day] = SPANS.map(|span| fullest(all(), span));
    let goes_on = all().filter_map(|row| row.then(rule.code.is_some())).reduce(f64::max);
    let chance = all().filter_map(|row| row.guess.map(|guess| guess.chance_year)).reduce(f64::max);
    let people = all().map(|row| row.worst.people).filter(|people| people.tries > 0);
    let denied = people.max_by(|a, b| a.share_denied().partial_cmp(&b.share_denied()).unwrap_or(Equal));
    let costs = all().filter_map(Row::cost_a_day).max_by(|(a, _), (b, _)| a.total_cmp(b));
    [
        told,
        second,
        minute,
        hour,
        day,
        goes_on.map_or_else(|| "–".to_owned(), a_day),
        half(all()),
        chance.map_or_else(String::new, spoken_chance),
        denied.and_then(|people| people.denied_in_words()).unwrap_or_default(),
        costs.map_or_else(String::new, |(amount, unit)| format!("{} {unit}", spoken_count(whole(amount)))),
    ]
}

/// Writes the fullest span of a length of those that were played for so long.
fn fullest<'a>(rows: impl Iterator<Item = &'a Row>, span: Span) -> String {
    let told = rows.filter_map(|row| row.told(span));
    let fullest = told.max_by_key(|told| (told.is_exceeded(), told.seen));
    fullest.map_or_else(|| "–".to_owned(), |told| told.of_bound())
}

/// Writes by when half have guessed of the row that is soonest.
fn half<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let guesses = rows.filter_map(|row| Some((row, row.guess?.p50)));
    let after = |half: Option<f64>| half.unwrap_or(f64::INFINITY);
    let Some((row, half)) = guesses.min_by(|(_, a), (_, b)| after(*a).total_cmp(&after(*b))) else {
        return String::new();
    };
    // What is guessed at many accounts hits one of them, whichever.
    let any = if row.worst.subjects > 1 { ", any of them" } else { "" };
    format!("{}{any}", half.map_or_else(|| "never".to_owned(), spoken_time))
}

/// Writes how much goes on a day, with a decimal where that matters.
fn a_day(count: f64) -> String {
    let tenths = format!("{count:.1}");
    match tenths.strip_suffix(".0") {
        None if count < 10.0 => tenths,
        Some("0") if count > 0.0 => "< 0.1".to_owned(),
        _ => spoken_count(whole(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards a try every other day against being told as one a day, and small rates against nothing at all.
    #[test]
    fn small_rates_have_a_decimal_unless_they_are_whole() {
        let told = [0.0, 0.01, 0.5, 1.0, 8.96, 9.99, 10.4, 8_640.0].map(a_day);
        assert_eq!(told, ["0", "< 0.1", "0.5", "1", "9", "10", "10", "8,640"]);
    }
}
