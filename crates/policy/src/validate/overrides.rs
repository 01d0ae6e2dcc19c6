//! Overrides: other terms for one value of a limit's key, until a day.

use tidegate_algorithms::Timestamp;

use super::{terms, values};
use crate::date::{DAY_EXAMPLE, end_of_day};
use crate::file::{Fields, Node, Report, list};
use crate::key::Key;
use crate::plan::Override;
use crate::values::Values;

/// Reads a limit's overrides, and their index by the key's value.
pub(super) fn read(
    node: &Node,
    key: Option<&Key>,
    report: &mut Report,
) -> Option<(Vec<Override>, Values<usize>)> {
    let items = list(node, "overrides", report)?;
    let part = match key.map(|key| key.parts.as_slice()) {
        Some([part]) => Some(part),
        Some(parts) => {
            let message = format!("an override is for one value, and the key has {} parts", parts.len());
            report.add(node.place, message, "make a limit with a key of one part (a first_of counts as one)");
            None
        }
        None => None,
    };
    let mut reading = part.and_then(|part| values::Reading::of(part, node.place, report));
    let mut overrides = Vec::new();
    for item in items {
        let Some((one, value)) = read_one(item, report) else { continue };
        let index = overrides.len();
        if let (Some(reading), Some(value)) = (&mut reading, value) {
            reading.put(value, index, item.member("value").map_or(item.place, |node| node.place), report);
        }
        overrides.extend(one);
    }
    let index = reading?.finish();
    (overrides.len() == items.len()).then_some((overrides, index))
}

/// Reads one override and its value, which is looked at even where something else is wrong with it.
fn read_one<'n>(node: &'n Node, report: &mut Report) -> Option<(Option<Override>, Option<&'n str>)> {
    let mut fields = Fields::open(node, "the override", report)?;
    let value = fields.need("value", "alice").and_then(|node| node.text("value", report));
    let until = fields.get("until").map(|node| until(node, report));
    let because = fields.need("because", "contract 81").and_then(|node| node.text("because", report));
    let terms = terms::read(&mut fields, "the override", report);
    fields.finish(&[], report);
    let one = || {
        let until = until.map_or(Some(None), |until| until.map(Some))?;
        Some(Override { value: value?.to_owned(), until, because: because?.to_owned(), terms: terms? })
    };
    Some((one(), value))
}

/// Reads the last day on which something holds, and returns the instant at which it ends: the next midnight in UTC.
fn until(node: &Node, report: &mut Report) -> Option<Timestamp> {
    let Some(given) = node.scalar() else {
        report.add(node.place, format!("until has to be a day, and this is {}", node.kind()), DAY_EXAMPLE);
        return None;
    };
    match end_of_day(given) {
        Ok(end) => Some(end),
        Err(remedy) => {
            report.add(node.place, format!("until \"{given}\" is not a day"), remedy);
            None
        }
    }
}
