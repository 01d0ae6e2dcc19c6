//! A report as one page: what was exposed, the table, and for every rule its drawings.

use tidegate_algorithms::Span;
use tidegate_review::{DAY, float, spoken_chance, spoken_count, spoken_time};

use super::drawn;
use super::{LimitShown, Report, Row, RuleReport, Trade};
use crate::adversary::Exposed;
use crate::measure::PeopleSeen;
use tidegate_trials::html::{Cell, Html, escape};
use tidegate_trials::plot::short_time;

/// So many exposed mistakes stand on the first screen; all stand at their rules.
const MOST_FIRST: usize = 8;
/// A rule with so few adversaries is shown whole in the first table.
const FEW: usize = 4;
const HOUR: Span = Span::from_secs(3_600);

/// Writes a report as a page that needs nothing else: no network, no script.
pub fn page(report: &Report) -> String {
    let mut html = Html::new(&format!("What {} lets through", report.policy));
    opening(&mut html, report);
    exposed(&mut html, report);
    overview(&mut html, report);
    let trades: Vec<Trade> = report.rules.iter().flat_map(|rule| rule.trades.iter().cloned()).collect();
    if let Some(drawing) = drawn::traded(&trades, "trade") {
        html.raw("<div class=\"plots\">\n");
        drawing.put(&mut html);
        html.raw("</div>\n");
    }
    for (index, rule) in report.rules.iter().enumerate() {
        of_rule(&mut html, rule, &id(index));
    }
    html.finish()
}

/// Returns the name of a rule's place on the page; a rule's own name may hold anything.
fn id(index: usize) -> String {
    format!("rule-{}", index.saturating_add(1))
}

fn opening(html: &mut Html, report: &Report) {
    let attacked = report.rules.iter().filter(|rule| rule.skipped.is_none()).count();
    let rules = if attacked == 1 { "1 rule was".to_owned() } else { format!("{attacked} rules were") };
    let plays: u64 = report.rows().map(|row| u64::from(row.plays)).sum();
    html.element(
        "p",
        &format!(
            "{rules} attacked in simulated time: {} plays, {} requests, each decided by the limiter itself. Seed {}; the same \
             seed plays the same attacks.",
            spoken_count(plays.into()),
            spoken_count(report.requests.into()),
            report.seed
        ),
    );
    if report.is_exceeded() {
        html.alarm(
            "More passed than can",
            "In the rows marked so below, more passed than the closed forms allow. That is a fault of Tidegate's, not of the \
             policy: please report it with the policy and the seed.",
        );
    }
}

/// Puts the gravest mistakes that were shown, as sentences.
fn exposed(html: &mut Html, report: &Report) {
    let shown: usize = report.rules.iter().map(|rule| rule.exposed.len()).sum();
    if shown == 0 {
        html.element("p", "No adversary showed a mistake of the policy: what follows is what its limits let through as meant.");
        return;
    }
    html.raw("<section class=\"grave\">\n");
    html.element(
        "h2",
        &if shown == 1 { "One mistake was shown".to_owned() } else { format!("{shown} mistakes were shown") },
    );
    html.raw("<ul>\n");
    // The first of every rule before the second of any: each rule's come with the gravest first.
    let deepest = report.rules.iter().map(|rule| rule.exposed.len()).max().unwrap_or(0);
    let in_turn = (0..deepest).flat_map(|depth| {
        let rules = report.rules.iter().enumerate();
        rules.filter_map(move |(index, rule)| Some((index, rule, rule.exposed.get(depth)?)))
    });
    for (index, rule, mistake) in in_turn.take(MOST_FIRST) {
        let (id, name) = (id(index), escape(&rule.rule));
        html.raw(&format!("<li><a href=\"#{id}\">{name}</a>: {}</li>\n", sentence(mistake)));
    }
    html.raw("</ul>\n");
    if shown > MOST_FIRST {
        html.element("p", &format!("{} more stand at their rules.", shown.saturating_sub(MOST_FIRST)));
    }
    html.raw("</section>\n");
}

/// Writes a mistake as markup, with the id of the finding that is of the same.
fn sentence(mistake: &Exposed) -> String {
    let says = escape(&mistake.says);
    match mistake.finding {
        Some(finding) => format!("{says} <code>{}</code>", escape(finding)),
        None => says,
    }
}

const OVERVIEW: [&str; 6] = [
    "Rule and adversary",
    "Most in a window, of the most that can be",
    "First hour",
    "First day",
    "Half of guesses hit after",
    "People's requests denied",
];

/// Puts the table: for every rule those who are worst at something.
fn overview(html: &mut Html, report: &Report) {
    let groups = report.rules.iter().enumerate().map(|(index, rule)| {
        let worst = Worst::of(rule);
        let rows = rule.rows.iter().enumerate().filter(|(at, _)| rule.rows.len() <= FEW || worst.has(*at));
        let cells =
            rows.map(|(at, row)| cells(rule, row, Some(&id(index)), |column| worst.is_of(column, at)));
        let heading = match &rule.skipped {
            Some(why) => format!("{} ({}): not attacked: {why}", rule.rule, rule.class),
            None => format!("{} ({})", rule.rule, rule.class),
        };
        (heading, cells.collect())
    });
    let groups: Vec<(String, Vec<Vec<Cell>>)> = groups.collect();
    html.element("h2", "At a glance");
    html.table(
        "The worst that each rule let through; the adversaries that are not here did no worse in any column.",
        &OVERVIEW,
        &groups,
    );
}

/// Which row is the worst of each column, if any figure in it is worth the name.
struct Worst {
    columns: [Option<usize>; 5],
    /// Who kept most people out altogether, which stands beside the share.
    shut_out: Option<usize>,
}

impl Worst {
    fn of(rule: &RuleReport) -> Self {
        let of = |figure: &dyn Fn(&Row) -> Option<f64>| {
            let figures = rule.rows.iter().enumerate().filter_map(|(at, row)| Some((at, figure(row)?)));
            // Of equals the first.
            let worst = figures.fold(None, |worst: Option<(usize, f64)>, next| match worst {
                Some(worst) if worst.1 >= next.1 => Some(worst),
                _ => Some(next),
            });
            worst.filter(|(_, figure)| *figure != 0.0).map(|(at, _)| at)
        };
        let passed = |span| move |row: &Row| row.worst.first(span).map(|first| float(first.seen));
        let window = |row: &Row| drawn::fullest_window(rule, row).map(|peak| float(peak.seen));
        let soonest = |row: &Row| row.guess?.p50.map(|seconds| -seconds.max(f64::MIN_POSITIVE));
        let denied = |row: &Row| row.worst.people.share_denied();
        let shut_out = |row: &Row| Some(float(row.worst.people.shut_out));
        let (hour, day) = (passed(HOUR), passed(DAY));
        let columns = [of(&window), of(&hour), of(&day), of(&soonest), of(&denied)];
        Self { columns, shut_out: of(&shut_out) }
    }

    fn has(&self, row: usize) -> bool {
        self.columns.contains(&Some(row)) || self.shut_out == Some(row)
    }

    /// Returns whether a row is the worst of a column.
    fn is_of(&self, column: usize, row: usize) -> bool {
        self.columns.get(column) == Some(&Some(row))
    }
}

/// Returns the cells of a row; `gravest` tells of a column whether the row is its worst.
fn cells(rule: &RuleReport, row: &Row, to: Option<&str>, gravest: impl Fn(usize) -> bool) -> Vec<Cell> {
    let window = drawn::fullest_window(rule, row).map(|peak| {
        let exceeded = match (peak.is_exceeded(), row.is_exceeded) {
            (false, _) => "",
            (true, true) => ": more than can be",
            (true, false) => ": more than by a right store",
        };
        format!("{} in {}{exceeded}", peak.of_bound(), short_time(drawn::seconds(peak.micros)))
    });
    let passed = |span| row.worst.first(span).map(|first| spoken_count(first.seen.into()));
    let half = row.guess.map(|guess| guess.p50.map_or_else(|| "never".to_owned(), spoken_time));
    let figures = [window, passed(HOUR), passed(DAY), half, denied(row.worst.people)];
    let below = [row.with.clone(), row.limit.clone(), row.uncounted()];
    let below = below.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let heading = Cell::Heading {
        text: row.adversary.to_owned(),
        to: to.map(str::to_owned),
        below: (!below.is_empty()).then_some(below),
    };
    let figures = figures.into_iter().enumerate().map(|(column, figure)| match figure {
        Some(figure) if gravest(column) => Cell::Gravest(figure),
        figure => Cell::Figure(figure.unwrap_or_else(|| "–".to_owned())),
    });
    std::iter::once(heading).chain(figures).collect()
}

fn denied(people: PeopleSeen) -> Option<String> {
    let denied = people.denied_in_words()?;
    let shut_out = match people.shut_out {
        0 => String::new(),
        out => {
            format!("; {} of {} never got in", spoken_count(out.into()), spoken_count(people.people.into()))
        }
    };
    Some(format!("{denied}{shut_out}"))
}

fn of_rule(html: &mut Html, rule: &RuleReport, id: &str) {
    html.raw(&format!("<section id=\"{id}\">\n"));
    html.element("h2", &format!("{} ({})", rule.rule, rule.class));
    if let Some(code) = &rule.code {
        html.classed("p", "quiet", &format!("What is guessed at: {code}."));
    }
    rule.limits.iter().for_each(|limit| of_limit(html, limit));
    if let Some(why) = &rule.skipped {
        html.element("p", &format!("Nothing was played: {why}."));
    }
    if !rule.exposed.is_empty() {
        html.raw("<div class=\"grave\">\n<h3>What was shown</h3>\n<ul>\n");
        for mistake in &rule.exposed {
            html.raw(&format!("<li>{}</li>\n", sentence(mistake)));
        }
        html.raw("</ul>\n</div>\n");
    }
    let drawings = drawn::of_rule(rule, id);
    if !drawings.is_empty() {
        html.raw("<div class=\"plots\">\n");
        for drawing in &drawings {
            drawing.put(html);
        }
        html.raw("</div>\n");
    }
    if !rule.rows.is_empty() {
        everybody(html, rule);
    }
    html.raw("</section>\n");
}

fn of_limit(html: &mut Html, limit: &LimitShown) {
    html.raw("<blockquote>\n");
    if !limit.says.is_empty() {
        html.element("p", &limit.says);
    }
    let (name, numbers) = (escape(&limit.name), escape(&limit.numbers));
    html.raw(&format!("<p class=\"quiet\"><b>{name}</b> <code>{numbers}</code></p>\n</blockquote>\n"));
}

/// Puts everything that was measured of every adversary.
fn everybody(html: &mut Html, rule: &RuleReport) {
    let worst = Worst::of(rule);
    let rows = rule.rows.iter().enumerate().map(|(at, row)| {
        let mut cells = cells(rule, row, None, |column| worst.is_of(column, at));
        cells.extend(further(row));
        cells
    });
    let columns = OVERVIEW.into_iter().chain(FURTHER).collect::<Vec<_>>();
    let caption = format!("Every adversary at {}", rule.rule);
    html.table(&caption, &columns, &[(String::new(), rows.collect())]);
    let mut rows: Vec<&Row> = rule.rows.iter().collect();
    rows.dedup_by_key(|row| row.adversary);
    let who = rows.into_iter().map(|row| {
        let heading = Cell::Heading { text: row.adversary.to_owned(), to: None, below: None };
        let needs = if row.needs.is_empty() { "nothing".to_owned() } else { row.needs.join(", ") };
        vec![heading, Cell::Text(row.what.to_owned()), Cell::Text(needs)]
    });
    let columns = ["Adversary", "What he does", "What he needs"];
    html.table(
        &format!("Who they are that attack {}", rule.rule),
        &columns,
        &[(String::new(), who.collect())],
    );
}

const FURTHER: [&str; 4] = [
    "Guess within a day",
    "Guess within a year",
    "Guesses that short plays let through",
    "Costs the operator",
];

fn further(row: &Row) -> [Cell; 4] {
    let chance = |chance: Option<f64>| chance.map_or_else(|| "–".to_owned(), spoken_chance);
    let money = row.money.as_ref().map_or_else(
        || "–".to_owned(),
        |(amount, unit)| format!("{} {unit}", spoken_count((*amount).into())),
    );
    let (least, most) = row.between;
    let count = |count: u64| spoken_count(count.into());
    let between = if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    [
        Cell::Figure(chance(row.guess.map(|guess| guess.chance_day))),
        Cell::Figure(chance(row.guess.map(|guess| guess.chance_year))),
        Cell::Figure(between),
        Cell::Figure(money),
    ]
}

#[cfg(test)]
mod tests;
