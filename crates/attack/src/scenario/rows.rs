//! What a scenario's play comes to, in the rows of a report.

use tidegate_algorithms::Span;
use tidegate_policy::scenario::Attacker;

use super::{PeopleMet, Run, Script, cast::Part};
use crate::adversary::{Adversary, Play};
use crate::measure::Measured;
use crate::report::{GuessSeen, Row, RuleReport};

/// Returns a row for each adversary, after one for all of them if there are several.
pub(super) fn of(script: &Script<'_>, run: &Run) -> Vec<Row> {
    let mix = (run.each.len() > 1).then(|| {
        let about = About {
            name: "mix",
            what: "All adversaries of the scenario together.",
            needs: Vec::new(),
            with: None,
            limit: None,
            goes_on: run.each.iter().all(|(part, _)| goes_on(script, part)),
        };
        row(script, run, about, &script.whole(), &run.all)
    });
    let each = run.each.iter().filter_map(|(part, measured)| {
        Some(row(script, run, About::of(script, part)?, &part.play, measured))
    });
    let mut rows: Vec<Row> = mix.into_iter().chain(each).collect();
    if let [only] = rows.as_mut_slice() {
        // What people met is told with all adversaries together, and he is all.
        only.worst.people = run.all.people;
    }
    rows
}

/// Whom a row is about.
struct About {
    name: &'static str,
    what: &'static str,
    needs: Vec<&'static str>,
    with: Option<String>,
    limit: Option<String>,
    /// Whether it goes on to the end, so that what it sustained tells what it would go on with.
    goes_on: bool,
}

/// Returns whether an adversary plays to the end of the scenario.
fn goes_on(script: &Script<'_>, part: &Part) -> bool {
    let is_over_early = part.adversary(script).is_some_and(Adversary::is_over_early);
    part.play.end() == script.whole().end() && !is_over_early
}

impl About {
    fn of(script: &Script<'_>, part: &Part) -> Option<Self> {
        let adversary = part.adversary(script)?;
        Some(Self {
            name: adversary.name(),
            what: adversary.what(),
            needs: adversary.needs().iter().map(|need| need.words()).collect(),
            with: script.scenario.adversaries.get(part.index).and_then(with),
            limit: part.limit.clone(),
            goes_on: goes_on(script, part),
        })
    }
}

fn row(script: &Script<'_>, run: &Run, about: About, play: &Play, measured: &Measured) -> Row {
    let guess = script.stage.guess.as_ref().filter(|_| measured.guesses > 0 && about.goes_on);
    Row {
        adversary: about.name,
        what: about.what,
        needs: about.needs,
        with: about.with,
        limit: about.limit,
        plays: 1,
        start_micros: play.start.as_micros(),
        length_micros: play.length.as_micros(),
        between: (measured.guesses, measured.guesses),
        close_up: Vec::new(),
        guess: guess.map(|guess| GuessSeen::of(guess, measured, play.length)),
        money: script.aim.price_of(measured.admitted),
        is_exceeded: run.holds_to_bounds && measured.is_exceeded(),
        worst: Measured { is_over: !about.goes_on, ..measured.clone() },
    }
}

/// Returns what the scenario says of an adversary, in words.
fn with(attacker: &Attacker) -> Option<String> {
    let has = &attacker.has;
    let many = |count: Option<u32>, what: &str| count.map(|count| format!("{count} {what}"));
    let begins = (attacker.at > Span::ZERO).then(|| format!("from {} on", attacker.at));
    let said = [
        many(has.addresses, "addresses"),
        has.ipv6_prefix.map(|bits| format!("a /{bits}")),
        many(has.rate, "requests a second at most"),
        many(has.subjects, "subjects"),
        many(has.concurrency, "requests at once"),
        many(has.batch, "guesses a request"),
        has.jitter.map(|jitter| format!("{jitter} of jitter")),
        begins,
        attacker.length.map(|length| format!("for {length}")),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Returns how many requests were simulated in all.
pub(super) fn requests(rule: &RuleReport, people: Option<&PeopleMet>) -> u64 {
    let adversaries = rule.rows.first().map_or(0, |row| row.worst.requests);
    let people = people.map_or(0, |met| {
        let attacked = met.attacked.map_or(0, |met| met.everybody.tries);
        met.alone.everybody.tries.saturating_add(attacked)
    });
    adversaries.saturating_add(people)
}
