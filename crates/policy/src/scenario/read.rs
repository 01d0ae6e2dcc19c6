//! From the tree of a scenario file to a [`Scenario`].

use tidegate_algorithms::{MAX_SPAN, MIN_SPAN, Span, Timestamp};

use super::{Around, Attacker, Kept, Scenario, VERSION, around, attacker};
use crate::examined::Code;
use crate::file::{Fields, Node, Report, Value};
use crate::problem::Place;
use crate::suite::{self, Named, instant};
use crate::validate::{span_within, written_code};

/// The largest number that every reader of JSON keeps.
const MOST_SEED: u64 = 1 << 53;

/// Reads a scenario file; what is returned is only of use when nothing was reported.
pub(super) fn scenario(root: &Node, file: &str, report: &mut Report) -> Option<Scenario> {
    if is_another(root, report) {
        return None;
    }
    let mut top = Fields::open(root, "the scenario", report)?;
    version(&mut top, report);
    let rule = top.need("rule", "verify").and_then(|node| {
        let name = node.name("rule", report)?.to_owned();
        Some(Named { name, place: node.place })
    });
    let start = top.get("start").and_then(|node| instant(node, "start", report));
    let length_node = top.need("length", "1d");
    let length = length_node.and_then(|node| span_within(node, "length", (MIN_SPAN, MAX_SPAN), report));
    in_domain(start, length, length_node, report);
    let seed = top.get("seed").and_then(|node| node.integer_in("seed", 0..=MOST_SEED, report));
    let adversaries = top.get("adversaries").map(|node| attacker::all(node, report)).unwrap_or_default();
    within(&adversaries, length, report);
    let people = top.get("people").and_then(|node| around::people(node, report));
    let code = top.get("code").and_then(|node| code(node, report));
    let topology = top.get("topology").and_then(|node| around::topology(node, report));
    let store = top.get("store").and_then(|node| around::store(node, report));
    keeps_up(topology, store, top.place_of("store"), report);
    let outages = top.get("outages").map(|node| around::outages(node, length, report));
    let restarts = top.get("restarts").map(|node| around::restarts(node, length, report));
    let is_empty = |member: &str| {
        root.member(member).is_none_or(|node| matches!(&node.value, Value::List(items) if items.is_empty()))
    };
    if is_empty("adversaries") && root.member("people").is_none() {
        let remedy = "write `adversaries: [greedy]`, or `people: { count: 200, every: 2h }`";
        top.lack(&["adversaries", "people"], "nobody does anything in the scenario", remedy);
    }
    top.finish(&[], report);
    Some(Scenario {
        file: file.to_owned(),
        rule: rule?,
        start,
        length: length?,
        seed,
        adversaries,
        people,
        code,
        topology: topology.unwrap_or_else(Around::default),
        store,
        outages: outages.unwrap_or_default(),
        restarts: restarts.unwrap_or_default(),
    })
}

/// Reports a store that is not told of another region's charges where regions are to tell each other.
fn keeps_up(topology: Option<Around>, store: Option<Kept>, place: Place, report: &mut Report) {
    let has_lag = topology.is_some_and(|around| around.lag.is_some());
    if has_lag && store.is_some_and(|kept| !matches!(kept, Kept::Keys(_))) {
        let message =
            "such a store learns nothing of another region, and topology says with which lag it does";
        report.add(place, message, "leave out `store`, or `lag`");
    }
}

/// Reports a policy and a test file, which are no scenarios with a dozen slips.
fn is_another(root: &Node, report: &mut Report) -> bool {
    if root.member(VERSION).is_some() {
        return false;
    }
    let another = [("tidegate", "a policy", "attack"), (suite::VERSION, "a test file", "test")];
    let found =
        another.into_iter().find_map(|(member, what, command)| Some((root.member(member)?, what, command)));
    let Some((node, what, command)) = found else { return false };
    let message = format!("this is {what}, and a scenario is wanted");
    let remedy = format!(
        "run `tidegate {command} {}`; a scenario stands in a file that begins with `{VERSION}: 1`",
        report.name_of(root.place)
    );
    report.add(node.place, message, remedy);
    true
}

/// The file has to say which language it is written in, so that it keeps its meaning.
fn version(top: &mut Fields<'_>, report: &mut Report) {
    let Some(node) = top.need(VERSION, "1") else { return };
    let Some(version) = node.integer("the version", report) else { return };
    if version != 1 {
        let message = format!("version {version} is not known");
        report.add(node.place, message, format!("this version reads `{VERSION}: 1`"));
    }
}

/// Reads the code; of more valid ones than there are codes, none could be guessed wrongly.
fn code(node: &Node, report: &mut Report) -> Option<Code> {
    let code = written_code("of the scenario", node, report)?;
    let there_are = u128::from(code.alphabet).saturating_pow(code.digits);
    let valid = code.valid_at_once();
    if u128::from(valid) > there_are {
        let message = format!("{valid} codes are valid at once, and there are {there_are}");
        report.add(node.place, message, "let it have more digits, or fewer be valid");
        return None;
    }
    Some(code)
}

/// Reports a scenario that ends after the last instant there is.
fn in_domain(start: Option<Timestamp>, length: Option<Span>, node: Option<&Node>, report: &mut Report) {
    let (Some(start), Some(length), Some(node)) = (start, length, node) else { return };
    if start.checked_add(length).is_none() {
        report.add(node.place, "the scenario ends after the year 2112", "let it begin sooner");
    }
}

/// Reports adversaries who begin when it is over.
fn within(adversaries: &[Attacker], length: Option<Span>, report: &mut Report) {
    let Some(length) = length else { return };
    for late in adversaries.iter().filter(|attacker| attacker.at >= length) {
        let message =
            format!("{} begins at {}, and the scenario ends after {length}", late.name.name, late.at);
        report.add(late.name.place, message, "let him begin sooner, or the scenario go on longer");
    }
}

/// Reads a span up to a longest, if it is there; none at all is one.
pub(super) fn span_up_to(
    fields: &mut Fields<'_>,
    name: &'static str,
    most: Span,
    report: &mut Report,
) -> Option<Span> {
    fields.get(name).and_then(|node| span_within(node, name, (Span::ZERO, most), report))
}
