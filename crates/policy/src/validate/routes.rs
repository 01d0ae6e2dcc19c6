//! Routes that tables name. A slip in one would leave the default to a route that was meant to have other terms.

use crate::file::{Node, Report, one_or_more};
use crate::problem::Place;

/// The route of a rule that names no path, and of the fallback.
const NO_PATH: &str = "*";

/// Notes the paths of a rule's `match` as they are written. One that cannot be read has its own problem, and who names
/// it has none.
pub(super) fn declare(node: &Node, report: &mut Report) {
    for path in one_or_more(node).iter().filter_map(|item| item.member("path")).flat_map(one_or_more) {
        if let Some(path) = path.scalar() {
            report.declare(path);
        }
    }
}

/// Notes a value that has to be the route of a rule.
pub(super) fn refer(place: Place, route: &str, report: &mut Report) {
    if route != NO_PATH {
        report.refer(place, route);
    }
}

/// Reports what is no rule's route. Only asked when the rules of all files could be looked at.
pub(super) fn check(report: &mut Report) {
    for (place, route, near) in report.dangling() {
        let remedy = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "write a path as a `match` writes it, or `*` for rules without a path".to_owned(),
        };
        report.add(place, format!("\"{route}\" is no rule's route"), remedy);
    }
}
