//! What the limits of a policy come to, for people: what each admits, tells a client, and does without its store.
//!
//! Nothing here is judged; `threat` puts beside it what an attacker makes of it, and the review what is unwise.

mod admits;
mod gone;
mod json;
mod refusal;

use tidegate_policy::{Code, Cost, Count, Limit, Matcher, Mode, Policy, Rule, Terms, Whose, words};

pub use admits::{Admits, spoken_rate};
pub use gone::{Gone, Share};
pub(crate) use json::sees;
pub use refusal::Refusal;

use crate::guess::Guess;

/// A rule with its limits.
#[derive(Debug, Clone)]
pub struct ExplainedRule<'p> {
    /// The rule.
    pub rule: &'p Rule,
    /// What it applies to: any of these; empty for the fallback.
    pub applies: Vec<String>,
    /// The code that its requests guess at.
    pub code: Option<&'p Code>,
    /// Its limits, each under each of its terms.
    pub limits: Vec<Explained<'p>>,
}

/// A limit under some of its terms.
#[derive(Debug, Clone)]
pub struct Explained<'p> {
    /// The limit.
    pub limit: &'p Limit,
    /// Whose terms they are.
    pub whose: Whose<'p>,
    /// The terms.
    pub terms: &'p Terms,
    /// The limit in the words that Tidegate would choose.
    pub words: String,
    /// What it admits at most.
    pub admits: Admits,
    /// What a refusal tells.
    pub refusal: Refusal,
    /// What happens without the store.
    pub gone: Gone,
}

/// Explains every rule of a policy, the fallback last.
pub fn explain(policy: &Policy) -> Vec<ExplainedRule<'_>> {
    policy.rules.iter().chain(&policy.fallback).map(|rule| explain_rule(policy, rule)).collect()
}

fn explain_rule<'p>(policy: &'p Policy, rule: &'p Rule) -> ExplainedRule<'p> {
    let terms = rule.limits.iter().flat_map(|limit| {
        limit.variants().map(move |(whose, terms)| Explained {
            limit,
            whose,
            terms,
            words: canonical(limit, terms),
            admits: Admits::of(&terms.quota),
            refusal: Refusal::of(policy, rule, limit, terms),
            gone: Gone::of(policy, rule, limit, terms),
        })
    });
    let code = rule.guesses.as_ref().and_then(|name| policy.codes.iter().find(|code| code.name == *name));
    ExplainedRule { rule, applies: rule.matches.iter().map(applies).collect(), code, limits: terms.collect() }
}

impl Explained<'_> {
    /// Returns the limit's name, with the plan or the key whose terms are told: a key by the beginning of its digest, since
    /// what is explained may be read by more people than the policy.
    pub fn name(&self) -> String {
        let name = &self.limit.name;
        match (self.whose, self.whose.shown()) {
            (Whose::Everybody, _) | (_, None) => name.clone(),
            (Whose::Plan(plan), _) => format!("{name}, {plan}"),
            (Whose::Key(_), Some(digest)) => format!("{name}, for {}…", digest.get(..15).unwrap_or(&digest)),
        }
    }

    /// Returns the algorithm with its numbers as the file writes them: `token_bucket: capacity 4, refill 1 per 10s`.
    pub fn numbers(&self) -> String {
        format!("{}: {}", self.terms.quota.algorithm(), self.terms.numbers)
    }

    /// Returns what is counted: `every request`, `5 units a request`, `failures only`, in cents.
    pub fn counts(&self) -> String {
        let which = match &self.limit.count {
            Count::Every => "every request".to_owned(),
            Count::Failures { success, .. } => format!("requests whose answer is not {success}"),
        };
        let cost = match &self.limit.cost {
            Cost::Units(1) => String::new(),
            Cost::Units(units) => format!(", as {units} units each"),
            cost => format!(", by {cost}"),
        };
        let unit = self.limit.unit.as_ref().map(|unit| format!(", in {unit}")).unwrap_or_default();
        format!("{which}{cost}{unit}")
    }

    /// Returns whether a request takes one unit, whatever it is.
    pub fn takes_one(&self) -> bool {
        self.limit.cost == Cost::Units(1)
    }

    /// Returns whether refusals of the limit are carried out.
    pub fn is_enforced(&self) -> bool {
        self.limit.mode == Mode::Enforce
    }
}

impl ExplainedRule<'_> {
    /// Returns the code that is guessed at, in words: `otp: 6 digits, 3 valid at once`.
    pub fn guesses(&self) -> Option<String> {
        let code = self.code?;
        let size = match Guess::of(code) {
            Ok(guess) => guess.to_string(),
            Err(error) => error.to_string(),
        };
        let ends = code.attempts.map(|attempts| {
            let again = if code.carry_over {
                "also counted on with the next code"
            } else {
                "counted anew with each code"
            };
            format!(", ended by {attempts} wrong tries, {again}")
        });
        Some(format!("{}: {size}{}", code.name, ends.unwrap_or_default()))
    }
}

/// Returns a limit in the words that Tidegate would choose.
fn canonical(limit: &Limit, terms: &Terms) -> String {
    words::canonical(&limit.meaning(terms))
}

/// Writes what a rule applies to: `POST /otp/verify`, `GET, HEAD /a, /b at example.org`, `domain shop, descriptor (path)`.
fn applies(matcher: &Matcher) -> String {
    if matcher.descriptor.is_some() {
        return matcher.to_string();
    }
    let paths: Vec<String> = matcher.paths.iter().map(ToString::to_string).collect();
    let hosts: Vec<String> = matcher.hosts.iter().map(ToString::to_string).collect();
    let methods =
        if matcher.methods.is_empty() { String::new() } else { format!("{} ", matcher.methods.join(", ")) };
    let paths = if paths.is_empty() { "any path".to_owned() } else { paths.join(", ") };
    let hosts = if hosts.is_empty() { String::new() } else { format!(" at {}", hosts.join(", ")) };
    format!("{methods}{paths}{hosts}")
}

#[cfg(test)]
mod tests;
