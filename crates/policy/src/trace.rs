//! Why a rule applies to a request or does not: the first condition that fails, or the exception that covers it.
//!
//! Whether a rule applies is asked of the same code that decides requests; only the reasons are found out here, of
//! rules that do not.

use std::fmt;

use crate::matcher::{Condition, Except, Matcher, bare_host, joined};
use crate::policy::Policy;
use crate::request::{Matched, Seen};
use crate::rule::Rule;

/// A rule, and whether it applies to a request.
#[derive(Debug)]
pub struct RuleTrace<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// Whether it applies, or why not.
    pub fit: Fit<'a>,
}

/// Whether a rule applies to a request, or why not.
///
/// It is displayed as the end of a sentence that begins with the rule.
#[derive(Debug)]
pub enum Fit<'a> {
    /// It applies.
    Applies(Matched<'a>),
    /// It would, but an exception leaves the request out.
    Excepted {
        /// The number of the exception in the rule, from 1.
        number: usize,
        /// The exception.
        except: &'a Except,
    },
    /// None of its matches holds: of each, the first condition that does not.
    Differs(Vec<Mismatch<'a>>),
}

/// A match that does not hold.
#[derive(Debug)]
pub struct Mismatch<'a> {
    /// The first condition that does not hold.
    pub condition: Condition,
    /// What was asked for.
    pub matcher: &'a Matcher,
    /// What the request has there: its method, its host without port (perhaps none), its normalised path. Of a descriptor
    /// what is otherwise, as the end of a sentence that begins with it.
    pub found: String,
    /// What would have to be read otherwise for the path to match, if that is all that is amiss.
    pub near: Option<Near>,
}

/// How a path comes close to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Near {
    /// Only letter case, or `;parameters`, differ.
    Case,
    /// Only the slash at the end differs.
    TrailingSlash,
}

impl Policy {
    /// Returns every rule in the order of the file, with whether it applies or why not; those that apply are those
    /// of [`Policy::matching`]. The fallback is not among them.
    pub fn trace<'a>(&'a self, seen: &'a Seen<'a>) -> Vec<RuleTrace<'a>> {
        let rules = self.rules.iter().enumerate();
        rules.map(|(index, rule)| RuleTrace { rule, fit: Fit::of(rule, index, seen) }).collect()
    }
}

impl<'a> Fit<'a> {
    fn of(rule: &'a Rule, index: usize, seen: &'a Seen<'a>) -> Self {
        if let Some(facts) = rule.facts(seen) {
            return Self::Applies(Matched { rule, index: Some(index), facts });
        }
        let mismatches: Option<Vec<_>> =
            rule.matches.iter().map(|matcher| Mismatch::of(matcher, seen)).collect();
        // A match that holds leaves an exception as the only reason.
        let covering = rule.except.iter().zip(1..).find(|(except, _)| except.covers(seen));
        match (mismatches, covering) {
            (None, Some((except, number))) => Self::Excepted { number, except },
            (mismatches, _) => Self::Differs(mismatches.unwrap_or_default()),
        }
    }

    /// Returns what the rule's keys are read from, if it applies.
    pub fn matched(&self) -> Option<&Matched<'a>> {
        match self {
            Self::Applies(matched) => Some(matched),
            _ => None,
        }
    }
}

impl<'a> Mismatch<'a> {
    /// Returns why a matcher does not hold; `None` when it does.
    fn of(matcher: &'a Matcher, seen: &Seen<'_>) -> Option<Self> {
        let condition = matcher.compare(seen).err()?;
        let request = seen.request();
        let (found, near) = match condition {
            Condition::Method => (request.method.to_owned(), None),
            Condition::Host => (bare_host(request.host.unwrap_or_default()).into_owned(), None),
            Condition::Path => (seen.path().to_owned(), near(matcher, seen)),
            Condition::Descriptor => (found_descriptor(matcher, seen), None),
        };
        Some(Self { condition, matcher, found, near })
    }
}

/// Returns what is otherwise in the descriptor that is decided; nothing for a request.
fn found_descriptor(matcher: &Matcher, seen: &Seen<'_>) -> String {
    match (&matcher.descriptor, seen.descriptor()) {
        (_, None) => String::new(),
        (None, Some(_)) => "is a descriptor of Envoy".to_owned(),
        (Some(pattern), Some(descriptor)) => pattern.mismatch(descriptor),
    }
}

/// Returns how close a path that does not match comes to a matcher's patterns.
fn near(matcher: &Matcher, seen: &Seen<'_>) -> Option<Near> {
    let as_asked = matcher.paths.iter().any(|pattern| pattern.matches(seen.normal(), matcher.loose));
    let loosely = matcher.paths.iter().any(|pattern| pattern.matches(seen.normal(), true));
    match (as_asked, loosely) {
        (true, _) => Some(Near::TrailingSlash),
        (false, true) => Some(Near::Case),
        (false, false) => None,
    }
}

impl fmt::Display for Fit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applies(matched) => match matched.facts.route() {
                "*" if let Some(pattern) = matched.facts.descriptor_pattern() => {
                    write!(f, "applies by {pattern}")
                }
                "*" => f.write_str("applies, whatever the path"),
                route => write!(f, "applies by {route}"),
            },
            Self::Excepted { number, except } => {
                write!(f, "leaves it out by exception {number}: {except}")
            }
            Self::Differs(mismatches) => {
                for (index, mismatch) in mismatches.iter().enumerate() {
                    write!(f, "{}{mismatch}", if index == 0 { "" } else { "; or " })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, matcher, found, near } = self;
        match condition {
            Condition::Method => write!(f, "is for {}, and this is {found}", matcher.methods.join(", ")),
            Condition::Host if found.is_empty() => {
                write!(f, "is for {}, and this names no host", joined(&matcher.hosts))
            }
            Condition::Host => write!(f, "is for {}, and this is for {found}", joined(&matcher.hosts)),
            Condition::Descriptor => match (&matcher.descriptor, found.as_str()) {
                (Some(pattern), "") => {
                    write!(f, "is for Envoy's descriptors ({pattern}), and this is a request")
                }
                (Some(pattern), found) => write!(f, "is for {pattern}, and this {found}"),
                (None, found) => write!(f, "is for requests, and this {found}"),
            },
            Condition::Path => {
                write!(f, "is for {}, and this is {found}", joined(&matcher.paths))?;
                match near {
                    None => Ok(()),
                    Some(Near::Case) => f.write_str("; only letter case or `;parameters` differ"),
                    Some(Near::TrailingSlash) => f.write_str("; only the slash at the end differs"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
