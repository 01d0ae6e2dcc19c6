//! Limits: one algorithm with its numbers, on one key, with its words.

use tidegate_algorithms::{Anchor, Quota, QuotaError, Rate, Span};

use super::{MODES, keys};
use crate::cost::Cost;
use crate::count::Count;
use crate::file::{Entry, Fields, Node, Report};
use crate::limit::{Limit, Terms};
use crate::policy::Mode;
use crate::problem::Place;

const ALGORITHMS: [&str; 5] =
    ["fixed_window", "sliding_log", "sliding_counter", "token_bucket", "leaky_bucket"];
/// Words of a limit that a later version reads.
const LATER: [&str; 8] =
    ["lockout", "count", "plan", "plans", "overrides", "alert_at", "was", "on_missing_key"];
/// The most units one request may take.
const MAX_COST: u64 = 1 << 30;

/// A limit and where it stands.
pub(super) struct Placed {
    pub(super) limit: Limit,
    pub(super) place: Place,
    pub(super) key_place: Place,
}

/// Reads a limit of the rule `rule`, whose own mode is `mode`.
pub(super) fn read(
    node: &Node,
    rule: &str,
    mode: Mode,
    keys: &keys::Table<'_>,
    report: &mut Report,
) -> Option<Placed> {
    let mut fields = Fields::open(node, "the limit", report)?;
    let name = fields.need("name", "per-account").and_then(|node| node.name("the limit's name", report));
    let says =
        fields.need("says", "\"Ten a minute, per client.\"").and_then(|node| node.text("says", report));
    let remark = fields.get("note").and_then(|node| node.text("note", report));
    let key_node = fields.need("key", "client_ip");
    let key = key_node.and_then(|node| keys.key(node, report));
    let cost = fields.get("cost").map(|node| cost(node, report));
    let own = fields.get("mode").and_then(|node| node.choice("mode", &MODES, report));
    let unit = fields.get("unit").and_then(|node| node.text("unit", report));
    let quota = quota(&mut fields, report);
    let place = fields.place();
    fields.finish(&LATER, report);
    if let (Some((quota, _)), Some(Some(cost))) = (&quota, cost) {
        check_cost(*quota, cost, place, report);
    }
    let (quota, numbers) = quota.unzip();
    let limit = Limit {
        name: format!("{rule}/{}", name?),
        key: key?,
        terms: Terms {
            says: says?.to_owned(),
            note: remark.map(str::to_owned),
            quota: quota?,
            numbers: numbers?,
        },
        plans: None,
        overrides: Vec::new(),
        cost: Cost::Units(cost.unwrap_or(Some(1))?),
        count: Count::Every,
        mode: if mode == Mode::Shadow { Mode::Shadow } else { own.unwrap_or(Mode::Enforce) },
        unit: unit.map(str::to_owned),
        alert_at: None,
        was: Vec::new(),
    };
    Some(Placed { limit, place, key_place: key_node?.place })
}

fn cost(node: &Node, report: &mut Report) -> Option<u32> {
    let word =
        node.scalar().is_some_and(|text| text.starts_with(|letter: char| letter.is_ascii_alphabetic()));
    if word {
        report.add(node.place, "a cost by name is not yet supported", "write a whole number in this version");
        return None;
    }
    node.integer_in("cost", 1..=MAX_COST, report).and_then(|cost| u32::try_from(cost).ok())
}

/// A cost that never fits would refuse every request, which a limit of 0 says better.
fn check_cost(quota: Quota, cost: u32, place: Place, report: &mut Report) {
    let most = quota.nominal();
    if most > 0 && cost > most {
        let message = format!("a request costs {cost}, and the limit never admits more than {most} at once");
        report.add(
            place,
            message,
            "lower the cost, raise the limit, or write `limit: 0` to refuse everything",
        );
    }
}

/// Reads the algorithm: its quota, and its numbers as written. A second one is read as well, for what is wrong in it.
fn quota(fields: &mut Fields<'_>, report: &mut Report) -> Option<(Quota, String)> {
    let mut found: Vec<(&'static str, &Entry)> =
        ALGORITHMS.into_iter().filter_map(|name| fields.entry(name).map(|entry| (name, entry))).collect();
    found.sort_by_key(|(_, entry)| entry.place);
    let mut read: Vec<_> = found.iter().map(|(name, entry)| algorithm(name, &entry.value, report)).collect();
    match found.as_slice() {
        [] if fields.has("lockout") || fields.has("plans") || fields.has("plan") => None,
        [] => {
            let remedy = format!("write one of {}", ALGORITHMS.join(", "));
            fields.lack(&ALGORITHMS, "the limit has no algorithm", remedy);
            None
        }
        [_] => read.pop().flatten(),
        [_, (name, entry), ..] => {
            report.add(
                entry.place,
                format!("the limit has a second algorithm, {name}"),
                "make it a limit of its own",
            );
            None
        }
    }
}

fn algorithm(name: &'static str, node: &Node, report: &mut Report) -> Option<(Quota, String)> {
    let mut fields = Fields::open(node, name, report)?;
    let quota = match name {
        "fixed_window" => {
            let anchor = anchor(&mut fields, report);
            let build = |limit, window| Quota::fixed_window(limit, window, anchor.unwrap_or(Anchor::Clock));
            let quota = windowed(&mut fields, name, build, report);
            anchor.and(quota)
        }
        "sliding_log" => windowed(&mut fields, name, Quota::sliding_log, report),
        "sliding_counter" => windowed(&mut fields, name, Quota::sliding_counter, report),
        "token_bucket" => {
            let build = |capacity, refill| Quota::token_bucket(capacity, refill);
            paced(&mut fields, Paced { name, units: "capacity", rate: "refill" }, build, report)
        }
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
        "fixed_window" => &["limit", "window", "anchor"],
        _ => &["limit", "window"],
    };
    let number = |member: &&str| {
        let unsaid = if *member == "anchor" { "clock" } else { "" };
        format!("{member} {}", fields.written(member).unwrap_or(unsaid))
    };
    members.iter().map(number).collect::<Vec<_>>().join(", ")
}

/// A number that fits wherever one is needed: each number is tried beside it, so that every misfit is reported.
const FITS: u64 = 1;
const FITTING_WINDOW: Span = Span::from_secs(60);

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
    if matches!(node.scalar(), Some("day" | "week" | "month")) {
        report.add(
            node.place,
            "calendar windows are not yet supported",
            "write a time such as 24h in this version",
        );
        return None;
    }
    node.span("window", report)
}

fn anchor(fields: &mut Fields<'_>, report: &mut Report) -> Option<Anchor> {
    const ANCHORS: [(Anchor, &str); 2] = [(Anchor::Clock, "clock"), (Anchor::FirstHit, "first_hit")];
    let Some(node) = fields.get("anchor") else { return Some(Anchor::Clock) };
    if node.scalar() == Some("calendar") {
        report.add(
            node.place,
            "`anchor: calendar` is not yet supported",
            "write clock or first_hit in this version",
        );
        return None;
    }
    node.choice("anchor", &ANCHORS, report)
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
