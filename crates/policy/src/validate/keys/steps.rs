//! The steps of `normalize`.

use super::DERIVED;
use crate::file::{Fields, Node, Report, Value, one_or_more};
use crate::key::{Normalizer, load_phone_numbers, region};
use crate::problem::Place;

/// Reports steps for what has one form already.
pub(super) fn check(source: &str, at: Place, steps: &[Normalizer], report: &mut Report) {
    if source == "client_ip" && !steps.is_empty() {
        report.add(at, "an address is not text to be normalised", "remove normalize");
    }
    let derived = DERIVED.iter().any(|(_, key)| *key == source);
    if derived && steps.iter().any(|step| *step != Normalizer::Hash) {
        let message = format!("{source} has one form only");
        report.add(at, message, "leave `hash` at most, and normalise the phone number itself");
    }
}

/// Reads the steps in their order.
pub(super) fn read(node: &Node, report: &mut Report) -> Vec<Normalizer> {
    let steps: Vec<Normalizer> =
        one_or_more(node).iter().filter_map(|item| normalizer(item, report)).collect();
    let hash = steps.iter().position(|step| *step == Normalizer::Hash);
    if hash.is_some_and(|at| at.saturating_add(1) < steps.len()) {
        report.add(node.place, "hash is not the last step", "move it to the end: a hash has no spelling");
    }
    steps
}

fn normalizer(node: &Node, report: &mut Report) -> Option<Normalizer> {
    const WORDS: [(Normalizer, &str); 4] = [
        (Normalizer::Trim, "trim"),
        (Normalizer::Lowercase, "lowercase"),
        (Normalizer::E164(None), "e164"),
        (Normalizer::Hash, "hash"),
    ];
    if matches!(node.value, Value::Map(_)) {
        let mut fields = Fields::open(node, "normalize", report)?;
        let code = fields.need("e164", "US");
        fields.finish(&[], report);
        let code = code?.text("e164", report)?;
        let region = region(code);
        if region.is_none() {
            let message = format!("\"{code}\" is not a region with phone numbers");
            let upper = code.to_ascii_uppercase();
            let remedy = if crate::key::region(&upper).is_some() {
                format!("did you mean {upper}?")
            } else {
                "write its two capital letters, such as US or FR".to_owned()
            };
            report.add(node.place, message, remedy);
        }
        load_phone_numbers();
        return region.map(|region| Normalizer::E164(Some(region)));
    }
    let step = node.choice("the step", &WORDS, report)?;
    if step == Normalizer::E164(None) {
        load_phone_numbers();
    }
    Some(step)
}
