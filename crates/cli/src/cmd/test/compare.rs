//! What was expected against what came: a difference for each expectation that does not hold.

use tidegate::policy_file::Place;
use tidegate::policy_file::suite::{Expect, Expectation, Named};
use tidegate::why::{LimitWhy, Looked, Why};
use tidegate::{Limit, LimitDecision, Retry, Ruling, Span, Verdict};

use http::StatusCode;

use super::call::Behind;

/// An expectation that does not hold.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) place: Place,
    pub(super) field: String,
    pub(super) expected: String,
    pub(super) got: String,
}

/// Returns the expectations that do not hold of a verdict; `answer` is what the service behind answers.
pub(super) fn differences(expect: &Expect, behind: &Behind, answer: StatusCode) -> Vec<Difference> {
    let mut list = Vec::new();
    for (place, expectation) in &expect.list {
        let mut differ = |field: String, (expected, got): (String, String)| {
            if expected != got {
                list.push(Difference { place: *place, field, expected, got });
            }
        };
        let name = expectation.name();
        match expectation {
            Expectation::Remaining(each) => {
                for (limit, units) in each {
                    let left = match behind {
                        Behind::Request(why) => remaining(why, limit),
                        Behind::Call(told) => told.remaining(&limit.name),
                    };
                    differ(of(name, limit), (units.to_string(), left));
                }
            }
            Expectation::Descriptors(each) => {
                if let Behind::Call(told) = behind {
                    list.extend(told.differences(each));
                }
            }
            Expectation::Cost(each) => {
                for (limit, units) in each {
                    differ(of(name, limit), (units.to_string(), of_request(behind, |why| cost(why, limit))));
                }
            }
            Expectation::Plan(each) => {
                for (limit, wanted) in each {
                    let wanted = wanted.as_deref().unwrap_or("none").to_owned();
                    differ(of(name, limit), (wanted, of_request(behind, |why| plan(why, limit))));
                }
            }
            Expectation::Keys(each) => {
                for (key, wanted) in each {
                    let wanted = wanted.as_ref().map_or_else(|| MISSING.to_owned(), |text| quoted(text));
                    differ(of(name, key), (wanted, of_request(behind, |why| value(why, key))));
                }
            }
            one => differ(name.to_owned(), single(one, behind, answer)),
        }
    }
    list
}

/// Returns the difference in how many of a step's requests pass.
pub(super) fn admitted(expect: &Expect, expected: u32, got: u32) -> Vec<Difference> {
    let place = expect.list.first().map_or(Place::START, |(place, _)| *place);
    let field = "admitted".to_owned();
    vec![Difference { place, field, expected: expected.to_string(), got: got.to_string() }]
}

const MISSING: &str = "nothing there";

fn of(name: &str, what: &Named) -> String {
    format!("{name} {}", what.name)
}

/// Returns what is expected and what came of an expectation about the verdict as a whole.
fn single(expectation: &Expectation, behind: &Behind, answer: StatusCode) -> (String, String) {
    let verdict = behind.verdict();
    let limits = |limits: Vec<&str>| listed(limits.into_iter());
    match expectation {
        Expectation::Allowed(wanted) => (wanted.to_string(), verdict.is_allowed().to_string()),
        Expectation::Status(wanted) => (wanted.as_u16().to_string(), status(verdict, answer).to_string()),
        Expectation::Limit(wanted) => {
            let wanted = wanted.as_ref().map_or("none", |named| &named.name);
            (wanted.to_owned(), verdict.deciding().map_or("none", |by| by.limit.name()).to_owned())
        }
        Expectation::Says(wanted) => {
            (wanted.clone(), verdict.deciding().map_or("", |by| by.limit.words()).to_owned())
        }
        Expectation::RetryAfter(wanted) => {
            let wanted = wanted.map_or(Retry::Never, Retry::After);
            (retry(Some(wanted), verdict), retry(verdict.retry(), verdict))
        }
        Expectation::Delay(wanted) => (span(*wanted), span(verdict.delay())),
        Expectation::Because(wanted) => (wanted.clone(), because(verdict)),
        Expectation::Matches(wanted) => (names(wanted), listed(behind.applying().into_iter())),
        Expectation::RefusedBy(wanted) => (names(wanted), limits(verdict.violated().map(limit_of).collect())),
        Expectation::WouldRefuse(wanted) => {
            (names(wanted), limits(verdict.would_refuse().map(limit_of).collect()))
        }
        Expectation::Skipped(wanted) => {
            (names(wanted), limits(verdict.skipped().iter().map(Limit::name).collect()))
        }
        // Those that speak of several things, or of several requests, are compared elsewhere.
        Expectation::Admitted(_)
        | Expectation::Remaining(_)
        | Expectation::Cost(_)
        | Expectation::Plan(_)
        | Expectation::Keys(_)
        | Expectation::Descriptors(_) => Default::default(),
    }
}

/// Returns what only a request tells; a test file that asks it of a call is not read.
fn of_request(behind: &Behind, tell: impl Fn(&Why) -> String) -> String {
    match behind {
        Behind::Request(why) => tell(why),
        Behind::Call(_) => "it is not told of a call".to_owned(),
    }
}

fn limit_of(decision: &LimitDecision) -> &str {
    decision.limit.name()
}

fn names(named: &[Named]) -> String {
    listed(named.iter().map(|named| named.name.as_str()))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the status a client gets, the service's behind for a request that passes.
pub(crate) fn status(verdict: &Verdict, answer: StatusCode) -> u16 {
    match verdict.ruling() {
        Ruling::Allow { .. } | Ruling::Uncounted => answer.as_u16(),
        Ruling::Refuse { .. } => 429,
        Ruling::BadRequest(_) => 400,
        Ruling::Denied(denial) => denial.status,
        Ruling::StoreDown => 503,
    }
}

fn retry(retry: Option<Retry>, verdict: &Verdict) -> String {
    match retry {
        Some(Retry::After(wait)) => span(wait),
        Some(Retry::Never) => "never".to_owned(),
        None if verdict.is_allowed() => "it was allowed".to_owned(),
        None => "no wait: it was turned away, and not as one too many".to_owned(),
    }
}

/// Writes a span as test files do.
pub(super) fn span(span: Span) -> String {
    if span == Span::ZERO { "0s".to_owned() } else { span.to_string() }
}

fn because(verdict: &Verdict) -> String {
    match verdict.ruling() {
        Ruling::Denied(denial) => denial.because.to_string(),
        Ruling::BadRequest(bad) => bad.to_string(),
        _ => verdict.explain(),
    }
}

fn find<'a>(why: &'a Why, limit: &Named) -> Option<&'a LimitWhy> {
    why.limits().find(|one| one.name == limit.name)
}

/// Returns what there is to say of a limit by `asked`, or why there is nothing.
fn asked(why: &Why, limit: &Named, asked: impl Fn(&LimitWhy) -> Option<String>) -> String {
    let Some(found) = find(why, limit) else { return "its rule does not apply".to_owned() };
    match &found.looked {
        Looked::Skipped => "it did not look, for want of its key".to_owned(),
        Looked::Unreadable(bad) => format!("it could not look: {bad}"),
        Looked::Asked { .. } => asked(found).unwrap_or_else(|| "it was not asked".to_owned()),
    }
}

fn remaining(why: &Why, limit: &Named) -> String {
    asked(why, limit, |found| Some(found.decision()?.decision.remaining.to_string()))
}

fn cost(why: &Why, limit: &Named) -> String {
    asked(why, limit, |found| match &found.looked {
        Looked::Asked { units, .. } => Some(units.to_string()),
        _ => None,
    })
}

fn plan(why: &Why, limit: &Named) -> String {
    asked(why, limit, |found| match &found.looked {
        Looked::Asked { terms, .. } => {
            Some(terms.as_ref().map_or_else(|| "none".to_owned(), |terms| terms.name.clone()))
        }
        _ => None,
    })
}

/// Returns what was read for a key: by the first limit that counts on it, or beside them.
fn value(why: &Why, key: &Named) -> String {
    let part = why.limits().flat_map(|limit| &limit.key).chain(&why.keys).find(|part| part.name == key.name);
    match part {
        None if why.applying().next().is_none() => "no rule applies".to_owned(),
        None => "it cannot be read in one way only, or no limit that applies reads it".to_owned(),
        Some(part) => part.value.as_ref().map_or_else(|| MISSING.to_owned(), |text| quoted(text)),
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
