//! What changes in how answers look.

use super::Change;
use super::settings::told;
use crate::answer::{HeaderStyle, ProblemTemplate, ResetUnit, Template};
use crate::matcher::joined;
use crate::policy::Policy;

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(told("headers", headers(&old.headers), headers(&new.headers)));
    let (before, after) = (members(&old.problem), members(&new.problem));
    for (what, new) in &after {
        let old = before.iter().find(|(known, _)| known == what);
        changes.extend(told(what, old.map_or("as usual", |(_, value)| value), new));
    }
    for (what, old) in before.iter().filter(|(what, _)| !after.iter().any(|(known, _)| known == what)) {
        changes.extend(told(what, old, "as usual"));
    }
    changes
}

fn headers(styles: &[HeaderStyle]) -> String {
    let style = |style: &HeaderStyle| match style {
        HeaderStyle::Ietf => "ietf",
        HeaderStyle::Draft03 => "draft-03",
        HeaderStyle::XRateLimit(ResetUnit::Delta) => "x-ratelimit in delta",
        HeaderStyle::XRateLimit(ResetUnit::EpochSeconds) => "x-ratelimit in epoch-seconds",
        HeaderStyle::XRateLimit(ResetUnit::EpochMilliseconds) => "x-ratelimit in epoch-milliseconds",
        HeaderStyle::XRateLimit(ResetUnit::ResetOn) => "x-ratelimit with ResetOn",
    };
    let names: Vec<&str> = styles.iter().map(style).collect();
    if names.is_empty() { "none".to_owned() } else { joined(&names) }
}

/// Returns what a file says of the body of a refusal, member by member.
fn members(problem: &ProblemTemplate) -> Vec<(String, String)> {
    let member = |name: &str, value: String| (format!("problem.{name}"), value);
    match problem {
        ProblemTemplate::Problem { type_uri, title, detail, members } => {
            let usual = [
                type_uri.clone().map(|uri| member("type", uri)),
                title.as_ref().map(|title| member("title", written(title))),
                detail.as_ref().map(|detail| member("detail", written(detail))),
            ];
            let further =
                members.iter().map(|(name, value)| member(&format!("members.{name}"), value.to_string()));
            usual.into_iter().flatten().chain(further).collect()
        }
        ProblemTemplate::Own { content_type, text } => {
            vec![member("content_type", content_type.clone()), member("body", written(text))]
        }
    }
}

/// Returns a template as the file writes it, on one line.
fn written(template: &Template) -> String {
    template.to_string().replace('\n', "\\n")
}
