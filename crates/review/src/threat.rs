//! The threat model of a policy: the row "rate limited", examined.
//!
//! A row is a limit under some of its terms, with its words, what it admits, who chooses its key, how long a blind guess
//! takes, what it costs to lock a victim out, and what happens without the store. It is written as Markdown, HTML or JSON;
//! a committed copy in Markdown or JSON is held against the policy by its figures and choices ([`compare`]), not its prose.

mod compare;
mod facts;
mod html;
mod json;
mod markdown;
mod read;
mod victim;

use tidegate_algorithms::{Quota, Span};
use tidegate_policy::{Accepted, Chooser, Cost, Policy, Rule, StoreChoice};

pub use compare::{CompareError, Difference, compare};
pub use html::escape;

use crate::Finding;
use crate::explain::{Admits, Explained, ExplainedRule, explain};
use crate::guess::{Allowance, DAY, Guess, GuessTimes};
use crate::lint::reach::holds_for_one;
use crate::lint::review;

/// The threat model of a policy.
#[derive(Debug, Clone)]
pub struct ThreatModel<'p> {
    /// The policy file's name, without its folders.
    pub file: String,
    /// The policy.
    pub policy: &'p Policy,
    /// How many counts of each key are kept apart: by instances with a memory of their own, by regions.
    pub copies: u32,
    /// The rules that limit, in the order of the file, the fallback last.
    pub rules: Vec<RuleRows<'p>>,
    /// What the review finds that is about no single rule.
    pub findings: Vec<Finding>,
}

/// A rule with its rows.
#[derive(Debug, Clone)]
pub struct RuleRows<'p> {
    /// The rule, explained.
    pub explained: ExplainedRule<'p>,
    /// When a blind guess succeeds under all limits together that hold one victim; none when nothing is guessed, or no limit
    /// holds one.
    pub guess: Option<GuessTimes>,
    /// One row a limit and its terms.
    pub rows: Vec<Row<'p>>,
    /// What the review finds about the rule and its limits, with what is kept knowingly.
    pub findings: Vec<Finding>,
}

/// A limit, examined.
#[derive(Debug, Clone)]
pub struct Row<'p> {
    /// The limit, explained.
    pub explained: Explained<'p>,
    /// What it admits at most, of all counts that are kept apart.
    pub admits: Admits,
    /// Who decides the key.
    pub chosen_by: Vec<Chooser>,
    /// Whether it holds an attacker at one victim.
    pub holds_victim: bool,
    /// When a blind guess succeeds under this limit alone; none when nothing is guessed, or it holds no victim.
    pub guess: Option<GuessTimes>,
    /// The fewest requests (units, where a request takes others than one) that keep a key refused for a day, all counts
    /// taken together; none where the number does not fit.
    pub requests_to_deny: Option<u64>,
    /// Who can make them.
    pub denied_by: &'static str,
}

impl<'p> ThreatModel<'p> {
    /// Examines a policy; of its file's name the last part is kept.
    pub fn of(file: &str, policy: &'p Policy) -> Self {
        let own_memory = matches!(policy.store, StoreChoice::Memory(_));
        let copies = if own_memory { policy.instances } else { 1 };
        let copies = copies.saturating_mul(policy.topology.regions).max(1);
        let rules = explain(policy).into_iter().filter(|rule| !rule.limits.is_empty());
        let file = file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned();
        // Without a date: a committed copy says the same whenever it is checked.
        let (mut about_rules, findings): (Vec<Finding>, Vec<Finding>) =
            review(policy, None).into_iter().partition(|finding| finding.about.is_some());
        let rules = rules.map(|rule| {
            let is_of = |finding: &mut Finding| is_about(finding, &rule.rule.name);
            let findings = about_rules.extract_if(.., is_of).collect();
            RuleRows::of(rule, copies, findings)
        });
        Self { file, policy, copies, rules: rules.collect(), findings }
    }

    /// Writes it as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::write(self)
    }

    /// Writes it as one page of HTML that needs nothing else.
    pub fn to_html(&self) -> String {
        html::write(self)
    }

    /// Writes it as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json::write(self)
    }
}

impl<'p> RuleRows<'p> {
    fn of(explained: ExplainedRule<'p>, copies: u32, findings: Vec<Finding>) -> Self {
        // So many counts apart take so many tries at once: to first order, as if so many more codes were right.
        let guess = explained.code.and_then(|code| {
            Guess::new(code.alphabet, code.digits, code.valid_at_once().saturating_mul(copies)).ok()
        });
        let rows: Vec<Row<'p>> =
            explained.limits.iter().map(|one| Row::of(one.clone(), guess.as_ref(), copies)).collect();
        let holding: Vec<Quota> = loosest(&rows).map(|row| tries(&row.explained)).collect();
        let together = guess.filter(|_| !holding.is_empty());
        let guess = together.map(|guess| GuessTimes::of(&guess, Allowance::of(&holding)));
        Self { explained, guess, rows, findings }
    }

    /// Returns the rule.
    pub fn rule(&self) -> &'p Rule {
        self.explained.rule
    }

    /// Returns the findings that are kept knowingly.
    pub fn accepted(&self) -> &'p [Accepted] {
        &self.rule().accept
    }

    /// Returns the findings that are not.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.accepted.is_none())
    }
}

/// Returns whether a finding is about a rule or one of its limits.
fn is_about(finding: &Finding, rule: &str) -> bool {
    let rest = finding.about.as_deref().and_then(|about| about.strip_prefix(rule));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns one row a limit that holds a victim: under the terms that let most through in a day, since a victim may have
/// any of them.
fn loosest<'r, 'p>(rows: &'r [Row<'p>]) -> impl Iterator<Item = &'r Row<'p>> {
    rows.iter().filter(|row| row.holds_victim && row.explained.is_enforced()).filter(move |row| {
        let name = &row.explained.limit.name;
        let of_limit = rows.iter().filter(|other| other.explained.limit.name == *name);
        let most = of_limit.max_by_key(|other| other.explained.terms.quota.most_from_idle(DAY));
        most.is_some_and(|most| std::ptr::eq(most, *row))
    })
}

impl<'p> Row<'p> {
    fn of(explained: Explained<'p>, guess: Option<&Guess>, copies: u32) -> Self {
        let key = &explained.limit.key;
        let (holds_victim, denied_by) = (holds_for_one(key), victim::who_locks_out(key));
        let holding = holds_victim && explained.is_enforced();
        let of_tries = [tries(&explained)];
        let guess = guess.filter(|_| holding).map(|guess| GuessTimes::of(guess, Allowance::of(&of_tries)));
        // Any 24 hours: up to the microsecond before the next begin.
        let day = Span::from_micros(DAY.as_micros().saturating_sub(1));
        let requests = explained.terms.quota.requests_to_deny(day);
        Self {
            admits: explained.admits.times(copies),
            chosen_by: key.choosers(),
            holds_victim,
            guess,
            requests_to_deny: requests.and_then(|requests| requests.checked_mul(copies.into())),
            denied_by,
            explained,
        }
    }
}

/// Returns what a limit lets through of requests that each take its units: a request that takes five of a limit of twelve
/// may be made twice. A list counts its items, so that each try in it counts; what a table or a peer says is taken as one.
fn tries(explained: &Explained<'_>) -> Quota {
    let quota = &explained.terms.quota;
    match explained.limit.cost {
        Cost::Units(units) if units > quota.nominal() => *quota,
        Cost::Units(units) => quota.share_of(units),
        _ => *quota,
    }
}

#[cfg(test)]
mod tests;
