//! The names of a scenario against the policy it is about, and against the adversaries that there are.

use super::Scenario;
use crate::file::{Report, nearest};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::suite::Named;

/// Reports every name that is not there.
pub(super) fn check(scenario: &Scenario, policy: &Policy, adversaries: &[&str], report: &mut Report) {
    let rules: Vec<&Rule> = policy.rules.iter().chain(&policy.fallback).collect();
    let limits: Vec<&str> =
        rules.iter().flat_map(|rule| &rule.limits).map(|limit| limit.name.as_str()).collect();
    let rules: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    known(&scenario.rule, "the policy has no rule", &rules, report);
    for attacker in &scenario.adversaries {
        known(&attacker.name, "there is no adversary", adversaries, report);
        if let Some(limit) = &attacker.limit {
            known(limit, "the policy has no limit", &limits, report);
        }
    }
}

/// Reports a name that is not among others.
fn known(wanted: &Named, none: &str, names: &[&str], report: &mut Report) {
    if names.contains(&wanted.name.as_str()) {
        return;
    }
    let remedy = || match nearest(&wanted.name, names.iter().copied()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None if names.is_empty() => "there is none at all".to_owned(),
        None => format!("there are {}", names.join(", ")),
    };
    report.add_with(wanted.place, format!("{none} \"{}\"", wanted.name), remedy);
}
