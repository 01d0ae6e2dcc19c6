//! Algorithms: exactly one, with its numbers.
//!
//! Each number is tried beside others that fit, so that every misfit is reported.

use tidegate_algorithms::{Anchor, Calendar, Quota, QuotaError, Rate, Span};

use crate::file::{Fields, Node, Report};

pub(crate) const ALGORITHMS: [&str; 6] =
    ["fixed_window", "sliding_log", "sliding_counter", "token_bucket", "leaky_bucket", "lockout"];

const CALENDAR: &str = "calendar";
const CALENDARS: [(Calendar, &str); 3] =
    [(Calendar::Day, "day"), (Calendar::Week, "week"), (Calendar::Month, "month")];

/// Reads the algorithm of `what`: its quota, and its numbers as written. A second one is read as well, for what is
/// wrong in it.
pub(crate) fn read(fields: &mut Fields<'_>, what: &str, report: &mut Report) -> Option<(Quota, String)> {
    let found = fields.among(&ALGORITHMS);
    let mut read: Vec<_> = found.iter().map(|(name, entry)| algorithm(name, &entry.value, report)).collect();
    match found.as_slice() {
        [] => {
            let remedy = format!("write one of {}", ALGORITHMS.join(", "));
            fields.lack(&ALGORITHMS, format!("{what} has no algorithm"), remedy);
            None
        }
        [_] => read.pop().flatten(),
        [_, (name, entry), ..] => {
            report.add(
                entry.place,
                format!("{what} has a second algorithm, {name}"),
                "make it a limit of its own",
            );
            None
        }
    }
}

fn algorithm(name: &'static str, node: &Node, report: &mut Report) -> Option<(Quota, String)> {
    let mut fields = Fields::open(node, name, report)?;
    let quota = match name {
        "fixed_window" => fixed_window(&mut fields, report),
        "sliding_log" => windowed(&mut fields, name, Quota::sliding_log, report),
        "sliding_counter" => windowed(&mut fields, name, Quota::sliding_counter, report),
        "token_bucket" => {
            let build = |capacity, refill| Quota::token_bucket(capacity, refill);
            paced(&mut fields, Paced { name, units: "capacity", rate: "refill" }, build, report)
        }
        "lockout" => lockout(&mut fields, report),
        _ => {
            let build = |queue, rate| Quota::leaky_bucket(rate, queue);
            paced(&mut fields, Paced { name, units: "queue", rate: "rate" }, build, report)
        }
    };
    let numbers = numbers(name, &fields);
    fields.finish(&[], report);
    Some((quota?, numbers))
}

/// Returns an algorithm's numbers as they are written.
fn numbers(name: &str, fields: &Fields<'_>) -> String {
    let members: &[&str] = match name {
        "token_bucket" => &["capacity", "refill"],
        "leaky_bucket" => &["rate", "queue"],
        "lockout" => &["attempts", "within", "lock"],
        "fixed_window" => &["limit", "window", "anchor"],
        _ => &["limit", "window"],
    };
    let number = |member: &&str| {
        let unsaid = if *member == "anchor" { "clock" } else { "" };
        format!("{member} {}", fields.written(member).unwrap_or(unsaid))
    };
    members.iter().map(number).collect::<Vec<_>>().join(", ")
}

/// A number that fits wherever one is needed.
const FITS: u64 = 1;
const FITTING_WINDOW: Span = Span::from_secs(60);

fn fixed_window(fields: &mut Fields<'_>, report: &mut Report) -> Option<Quota> {
    const NAME: &str = "fixed_window";
    if fields.written("anchor") != Some(CALENDAR) {
        let anchor = anchor(fields, report);
        let build = |limit, window| Quota::fixed_window(limit, window, anchor.unwrap_or(Anchor::Clock));
        let quota = windowed(fields, NAME, build, report);
        return anchor.and(quota);
    }
    // Its name is known, and its value.
    fields.get("anchor");
    let limit = number(fields, "limit", report);
    let window = fields.need("window", "month").and_then(|node| calendar(node, report));
    let build = |limit| Quota::calendar_window(limit, window.unwrap_or(Calendar::Day));
    let limit = limit.filter(|limit| fits(&build(*limit), fields, (NAME, "limit"), report));
    window.and(build(limit?).ok())
}

/// Reads a window of the calendar.
fn calendar(node: &Node, report: &mut Report) -> Option<Calendar> {
    let given = node.scalar().unwrap_or_default();
    if given.starts_with(|letter: char| letter.is_ascii_digit()) {
        let message = format!("window {given} is a time, and the calendar has days, weeks and months");
        report.add(
            node.place,
            message,
            "write day, week or month, or remove `anchor: calendar` for windows of that length",
        );
        return None;
    }
    if matches!(given, "hour" | "minute" | "second") {
        let length = given.get(..1).unwrap_or_default();
        let message = format!("window {given} is not of the calendar, which has days, weeks and months");
        report.add(node.place, message, format!("write `window: 1{length}` without `anchor: calendar`"));
        return None;
    }
    node.choice("window", &CALENDARS, report)
}

fn anchor(fields: &mut Fields<'_>, report: &mut Report) -> Option<Anchor> {
    // The calendar's is not built from this table.
    const ANCHORS: [(Anchor, &str); 3] = [
        (Anchor::Clock, "clock"),
        (Anchor::FirstHit, "first_hit"),
        (Anchor::Calendar(Calendar::Day), CALENDAR),
    ];
    fields.get("anchor").map_or(Some(Anchor::Clock), |node| node.choice("anchor", &ANCHORS, report))
}

/// Reads `limit` and `window`.
fn windowed(
    fields: &mut Fields<'_>,
    name: &'static str,
    build: impl Fn(u64, Span) -> Result<Quota, QuotaError>,
    report: &mut Report,
) -> Option<Quota> {
    let (limit, window) = (number(fields, "limit", report), window(fields, report));
    let limit = limit.filter(|limit| fits(&build(*limit, FITTING_WINDOW), fields, (name, "limit"), report));
    let window = window.filter(|window| fits(&build(FITS, *window), fields, (name, "window"), report));
    build(limit?, window?).ok()
}

fn lockout(fields: &mut Fields<'_>, report: &mut Report) -> Option<Quota> {
    const NAME: &str = "lockout";
    let attempts = number(fields, "attempts", report);
    let within = fields.need("within", "30m").and_then(|node| node.span("within", report));
    let lock = fields.need("lock", "30m").and_then(|node| node.span("lock", report));
    let try_all = |attempts, within, lock| Quota::lockout(attempts, within, lock);
    let attempts = attempts.filter(|attempts| {
        fits(&try_all(*attempts, FITTING_WINDOW, FITTING_WINDOW), fields, (NAME, "attempts"), report)
    });
    let within = within
        .filter(|within| fits(&try_all(FITS, *within, FITTING_WINDOW), fields, (NAME, "within"), report));
    let lock =
        lock.filter(|lock| fits(&try_all(FITS, FITTING_WINDOW, *lock), fields, (NAME, "lock"), report));
    try_all(attempts?, within?, lock?).ok()
}

/// The fields of an algorithm with a rate.
#[derive(Clone, Copy)]
struct Paced {
    name: &'static str,
    units: &'static str,
    rate: &'static str,
}

/// Reads a number of units and a rate.
fn paced(
    fields: &mut Fields<'_>,
    paced: Paced,
    build: impl Fn(u64, Rate) -> Result<Quota, QuotaError>,
    report: &mut Report,
) -> Option<Quota> {
    let units = number(fields, paced.units, report);
    let rate = rate(fields, paced.rate, report);
    let rate = rate.filter(|rate| fits(rate, fields, (paced.name, paced.rate), report));
    let fitting = Rate::new(FITS, FITTING_WINDOW).ok()?;
    let units =
        units.filter(|units| fits(&build(*units, fitting), fields, (paced.name, paced.units), report));
    build(units?, rate?.ok()?).ok()
}

/// Reports a number outside the domain at its field, as it is written.
fn fits<T>(
    built: &Result<T, QuotaError>,
    fields: &Fields<'_>,
    (name, field): (&str, &str),
    report: &mut Report,
) -> bool {
    if let Err(error) = built {
        let written = fields.written(field).unwrap_or_default();
        let nearest = match (error.field(), written.split_once(" per ")) {
            ("rate", Some((_, period))) => format!("{} per {period}", error.nearest()),
            ("period", Some((units, _))) => format!("{units} per {}", error.nearest()),
            _ => error.nearest().to_owned(),
        };
        let message = format!("{name}: {field} {written} is out of range");
        report.add(fields.place_of(field), message, format!("the nearest possible is {nearest}"));
    }
    built.is_ok()
}

fn number(fields: &mut Fields<'_>, name: &'static str, report: &mut Report) -> Option<u64> {
    fields.need(name, "10")?.integer(name, report)
}

fn window(fields: &mut Fields<'_>, report: &mut Report) -> Option<Span> {
    let node = fields.need("window", "1m")?;
    let length = match node.scalar() {
        Some("day") => "24h",
        Some("week") => "7d",
        Some("month") => "30d",
        _ => return node.span("window", report),
    };
    // An anchor that is misspelt or has no place here is reported, and meant the calendar.
    if !matches!(fields.written("anchor"), None | Some("clock" | "first_hit")) {
        return None;
    }
    let word = node.scalar().unwrap_or_default();
    let message = format!("window {word} is a {word} of the calendar, which takes `anchor: calendar`");
    let remedy =
        format!("write `fixed_window: {{ limit: …, anchor: calendar, window: {word} }}`, or {length}");
    report.add(node.place, message, remedy);
    None
}

/// Reads `n per T`; the numbers are checked together with the rest of the quota, at one place.
fn rate(
    fields: &mut Fields<'_>,
    name: &'static str,
    report: &mut Report,
) -> Option<Result<Rate, QuotaError>> {
    let (units, period) = fields.need(name, "1 per 10s")?.rate(name, report)?;
    Some(Rate::new(units, period))
}
