//! What is told of tests that were run: to people, line by line; to programs, as JSON.

use serde_json::{Value, json};
use tidegate::why::{KeyWhy, Looked, Why};

use super::call::Behind;
use super::compare::span;
use super::run::{Miss, RanCase, RanFile};
use crate::cmd::why::shown_key;
use crate::output::Output;

/// A test file that cannot be used, or whose policy cannot.
pub(super) struct Unusable {
    pub(super) name: String,
    /// What is wrong, a line each.
    pub(super) errors: String,
}

/// Tells of a file's tests.
pub(super) fn file(file: &RanFile, out: &mut Output) {
    out.line(&format!("{}: {} of {}", file.name, count(file.cases.len(), "test"), file.policy));
    for case in &file.cases {
        let result = if case.misses.is_empty() { "ok    " } else { "FAILED" };
        out.line(&format!("  {result}  {}", case.name));
        for miss in &case.misses {
            for line in tell(file, miss) {
                out.line(&line);
            }
        }
    }
    if !file.never_matched.is_empty() {
        out.line(&format!("  never matched: {}", file.never_matched.join(", ")));
    }
}

/// Tells of all files together, and of how many could not be used.
pub(super) fn summary(files: &[RanFile], unusable: &[Unusable], out: &mut Output) {
    let left_out = match unusable.len() {
        0 => String::new(),
        _ => format!("{} cannot be used", count(unusable.len(), "file")),
    };
    if files.is_empty() && !unusable.is_empty() {
        return out.line(&format!("no test was run: {left_out}"));
    }
    let left_out = if left_out.is_empty() { left_out } else { format!("; {left_out}") };
    let cases: Vec<_> = files.iter().flat_map(|file| &file.cases).collect();
    let failed = cases.iter().filter(|case| !case.misses.is_empty()).count();
    let requests: u64 = cases.iter().map(|case| case.requests).sum();
    let ok = cases.len().saturating_sub(failed);
    let requests = if requests == 1 { "1 request".to_owned() } else { format!("{requests} requests") };
    out.line(&format!("{}, {requests}: {ok} ok, {failed} failed{left_out}", count(cases.len(), "test")));
}

fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns the lines about a step that went otherwise: where, the differences, the explanation, what applied.
fn tell(file: &RanFile, miss: &Miss) -> Vec<String> {
    let (nth, of) = miss.request;
    let which = if of > 1 { format!(", request {nth} of {of}") } else { String::new() };
    let when = if miss.after { "after " } else { "" };
    let (step, at, line) = (miss.step, span(miss.at), &miss.line);
    let mut lines =
        vec![format!("    {}:{}: {when}step {step} at {at}{which}: {line}", file.name, miss.place)];
    let width = miss.differences.iter().map(|one| one.field.chars().count()).max().unwrap_or(0);
    for one in &miss.differences {
        lines.push(format!("      {:width$}  expected  {}", one.field, one.expected));
        lines.push(format!("      {:width$}  got       {}", "", one.got));
    }
    lines.push(format!("      {}", miss.behind.verdict().explain()));
    let told = match &miss.behind {
        Behind::Request(why) => behind(why),
        Behind::Call(told) => told.lines(),
    };
    lines.extend(told.into_iter().map(|line| format!("      {line}")));
    lines
}

/// Returns a line for each rule, and one for each limit of those that apply.
fn behind(why: &Why) -> Vec<String> {
    let mut lines = Vec::new();
    if let Err(bad) = &why.path {
        lines.push(format!("no rule was asked: {bad}"));
    }
    for rule in &why.rules {
        lines.push(format!("{} {}", rule.name, rule.because));
        for limit in &rule.limits {
            let key: Vec<_> = limit.key.iter().map(shown_key).collect();
            let looked = match &limit.looked {
                Looked::Skipped => "did not look for want of its key".to_owned(),
                Looked::Unreadable(bad) => format!("could not look: {bad}"),
                Looked::Asked { decision: None, .. } => "was not asked".to_owned(),
                Looked::Asked { decision: Some(by), .. } => {
                    let (left, most) = (by.decision.remaining, by.decision.limit);
                    format!("{left} of {most} left")
                }
            };
            let key = if key.is_empty() { String::new() } else { format!("{}; ", key.join(", ")) };
            lines.push(format!("  {}: {key}{looked}", limit.name));
        }
    }
    lines
}

/// Returns everything as one JSON value.
pub(super) fn json(files: &[RanFile], unusable: &[Unusable]) -> Value {
    let unusable: Vec<_> = unusable
        .iter()
        .map(|one| json!({ "file": one.name, "errors": one.errors.lines().collect::<Vec<_>>() }))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|file| {
            let cases: Vec<_> = file.cases.iter().map(case).collect();
            json!({
                "file": file.name,
                "policy": file.policy,
                "failed": file.failed(),
                "never_matched": file.never_matched,
                "tests": cases,
            })
        })
        .collect();
    json!({ "files": files, "unusable": unusable })
}

fn case(case: &RanCase) -> Value {
    let misses: Vec<_> = case.misses.iter().map(self::miss).collect();
    json!({
        "name": case.name,
        "line": case.place.line,
        "ok": case.misses.is_empty(),
        "requests": case.requests,
        "misses": misses,
    })
}

fn miss(miss: &Miss) -> Value {
    let differences = miss.differences.iter().map(|one| {
        json!({
            "field": one.field, "expected": one.expected, "got": one.got,
            "line": one.place.line, "column": one.place.column,
        })
    });
    let (what, told) = match &miss.behind {
        Behind::Request(why) => ("rules", rules(why)),
        Behind::Call(told) => ("descriptors", told.json()),
    };
    json!({
        "step": miss.step,
        "line": miss.place.line,
        "at_micros": miss.at.as_micros(),
        "request": miss.request.0,
        "requests": miss.request.1,
        "after": miss.after,
        "asked": miss.line,
        "differences": differences.collect::<Vec<_>>(),
        "explain": miss.behind.verdict().explain(),
        (what): told,
    })
}

fn rules(why: &Why) -> Value {
    let keys = |key: &[KeyWhy]| {
        key.iter().map(|part| json!({ "name": part.name, "value": part.value })).collect::<Vec<_>>()
    };
    let rules = why.rules.iter().map(|rule| {
        let limits: Vec<_> =
            rule.limits.iter().map(|limit| json!({ "limit": limit.name, "key": keys(&limit.key) })).collect();
        json!({ "rule": rule.name, "applies": rule.applies, "because": rule.because, "limits": limits })
    });
    rules.collect()
}
