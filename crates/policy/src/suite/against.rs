//! The names of a test file against the policy it is about.

use super::{Expectation, Named, Suite};
use crate::file::{Report, nearest};
use crate::limit::{Limit, Whose};
use crate::policy::Policy;
use crate::rule::Rule;

/// The names a policy has.
struct Names<'p> {
    rules: Vec<&'p str>,
    limits: Vec<&'p Limit>,
    /// The names that ready-made keys go by.
    sources: Vec<&'p str>,
    /// The names of keys.
    keys: Vec<&'p str>,
    /// The domains of descriptors.
    domains: Vec<&'p str>,
}

/// Reports every name that the policy does not have.
pub(super) fn check(suite: &Suite, policy: &Policy, report: &mut Report) {
    let names = Names::of(policy);
    for step in suite.cases.iter().flat_map(|case| &case.steps) {
        for (_, expectation) in step.expect.list.iter().chain(&step.after.list) {
            names.check(expectation, report);
        }
        if let Some(call) = &step.call {
            known(&call.domain, "domain", &names.domains, report);
        }
        for key in &step.request.named_keys {
            known(key, "key that is read", &names.sources, report);
        }
    }
}

impl<'p> Names<'p> {
    fn of(policy: &'p Policy) -> Self {
        let rules: Vec<&Rule> = policy.rules.iter().chain(&policy.fallback).collect();
        let limits: Vec<&Limit> = rules.iter().flat_map(|rule| &rule.limits).collect();
        let matchers = policy.rules.iter().flat_map(|rule| &rule.matches);
        let domains = matchers.filter_map(|matcher| Some(matcher.descriptor.as_ref()?.domain.as_str()));
        Self {
            domains: domains.collect(),
            rules: rules.iter().map(|rule| rule.name.as_str()).collect(),
            sources: policy.sources().into_iter().collect(),
            keys: policy.key_names().into_iter().collect(),
            limits,
        }
    }

    fn check(&self, expectation: &Expectation, report: &mut Report) {
        let limits: Vec<_> = self.limits.iter().map(|limit| limit.name.as_str()).collect();
        let (what, there, named): (_, &[&str], Vec<&Named>) = match expectation {
            Expectation::Limit(named) => ("limit", &limits, named.iter().collect()),
            Expectation::RefusedBy(list) | Expectation::WouldRefuse(list) | Expectation::Skipped(list) => {
                ("limit", &limits, list.iter().collect())
            }
            Expectation::Remaining(list) | Expectation::Cost(list) => {
                ("limit", &limits, list.iter().map(|(named, _)| named).collect())
            }
            Expectation::Plan(list) => ("limit", &limits, list.iter().map(|(named, _)| named).collect()),
            Expectation::Matches(list) => ("rule", &self.rules, list.iter().collect()),
            Expectation::Descriptors(list) => {
                let limits_told = list.iter().filter_map(|one| one.limit.as_ref()?.as_ref());
                ("limit", &limits, limits_told.collect())
            }
            Expectation::Keys(list) => ("key", &self.keys, list.iter().map(|(named, _)| named).collect()),
            Expectation::Admitted(_)
            | Expectation::Allowed(_)
            | Expectation::Status(_)
            | Expectation::Says(_)
            | Expectation::RetryAfter(_)
            | Expectation::Delay(_)
            | Expectation::Because(_) => return,
        };
        for named in named {
            known(named, what, there, report);
        }
        if let Expectation::Plan(list) = expectation {
            for (of, plan) in list {
                self.plan(of, plan.as_deref(), report);
            }
        }
    }

    fn plan(&self, of: &Named, plan: Option<&str>, report: &mut Report) {
        let Some(limit) = self.limits.iter().find(|limit| limit.name == of.name) else { return };
        let Some(plan) = plan else { return };
        let names: Vec<_> = limit
            .variants()
            .filter_map(|(whose, _)| match whose {
                Whose::Everybody => None,
                Whose::Plan(name) | Whose::Key(name) => Some(name),
            })
            .collect();
        let wanted = Named { name: plan.to_owned(), place: of.place };
        known(&wanted, &format!("plan or override of {}", of.name), &names, report);
    }
}

/// Reports a name that is not among those of the policy.
fn known(wanted: &Named, what: &str, names: &[&str], report: &mut Report) {
    if names.contains(&wanted.name.as_str()) {
        return;
    }
    let remedy = || match nearest(&wanted.name, names.iter().copied()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None if names.is_empty() => "there is none".to_owned(),
        None => {
            let mut names = names.to_vec();
            names.sort_unstable();
            names.dedup();
            format!("there are {}", names.join(", "))
        }
    };
    report.add_with(wanted.place, format!("the policy has no {what} \"{}\"", wanted.name), remedy);
}
