//! Sentences held against the limits they stand beside.
//!
//! The files under `tests/words` say what is to come of each sentence. A line is `QUOTA | KEY | SENTENCE`; behind the key
//! may stand more members of the limit: `; unit: cents`, `; cost: items`, `; count: failures`.

mod corpus;
mod mutations;
mod policies;

use std::fs;
use std::path::Path;

use tidegate_policy::words::{Reading, read};
use tidegate_policy::{Limit, parse_embedded};

/// The files with sentences that agree.
const AGREEING: [&str; 2] = ["stranger.txt", "ours.txt"];

/// A sentence and the limit it stands beside, as a line has them.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Which outcome is expected: `agrees`, `contradicts` or `unclear`.
    pub(crate) outcome: String,
    pub(crate) quota: String,
    pub(crate) key: String,
    pub(crate) members: Vec<(String, String)>,
    pub(crate) sentence: String,
}

impl Line {
    /// Builds the limit of the line; the error says what is wrong with it.
    pub(crate) fn limit(&self) -> Result<Limit, String> {
        let text = self.policy();
        let policy = parse_embedded("line", &text).map_err(|problems| format!("{problems}\n{text}"))?;
        Ok(policy.rules[0].limits[0].clone())
    }

    /// Returns what comes of reading the sentence.
    pub(crate) fn read(&self) -> Reading {
        let limit = self.limit().unwrap();
        read(&self.sentence, &limit.meaning(&limit.terms))
    }

    fn policy(&self) -> String {
        let mut declared = String::new();
        let mut names = Vec::new();
        for key in split(&self.key) {
            let (name, called) = match key.split_once('(') {
                Some((name, called)) => (name, format!(", called: [{}]", called.trim_end_matches(')'))),
                None => (key.as_str(), String::new()),
            };
            let source = match name {
                "client" => "client_ip: { ipv4: 32, ipv6: 64 }".to_owned(),
                _ => format!("header: x-{}", name.replace('_', "-")),
            };
            if !matches!(name, "route" | "global" | "client_ip") {
                declared.extend(["  ", name, ": { ", &source, &called, " }\n"]);
            }
            names.push(name.to_owned());
        }
        let mut members = String::new();
        for (member, value) in &self.members {
            let value = match (member.as_str(), value.as_str()) {
                ("cost", "items") => "{ items: /items }",
                ("cost", "weight") => "{ header: x-weight, from: trusted_proxies, default: 1 }",
                ("count", "failures") => "{ failures: true, success: { status: [200] } }",
                (_, value) => value,
            };
            if (member.as_str(), value) != ("count", "every") {
                members.extend([", ", member, ": ", value]);
            }
        }
        let keys = if declared.is_empty() { String::new() } else { format!("keys:\n{declared}") };
        format!(
            "tidegate: 1\ntrusted_proxies: [192.0.2.0/24]\n{keys}rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      \
             - {{ name: l, says: Unread words, key: [{}], {}{members} }}\n",
            names.join(", "),
            self.quota
        )
    }
}

/// Splits at the commas that stand outside parentheses.
pub(crate) fn split(keys: &str) -> Vec<String> {
    keys.split(',').map(|key| key.trim().to_owned()).collect()
}

/// Reads a file of sentences; those of a file that is not `refused` agree.
///
/// The lockouts of the strangers' files count failures, as a lockout does that locks nobody for signing in.
pub(crate) fn lines(name: &str) -> Vec<Line> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words").join(name);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(line).collect()
}

fn line(text: &str) -> Line {
    let mut fields: Vec<&str> = text.split(" | ").map(str::trim).collect();
    let outcome = match fields[0] {
        outcome @ ("agrees" | "contradicts" | "unclear") => {
            fields.remove(0);
            outcome
        }
        _ => "agrees",
    };
    let [quota, key, sentence, ..] = fields.as_slice() else { panic!("not a line: {text}") };
    let mut parts = key.split(';').map(str::trim);
    let key = parts.next().unwrap_or_default().to_owned();
    let member = |part: &str| {
        let (member, value) = part.split_once(": ").unwrap_or_else(|| panic!("not a member: {text}"));
        (member.to_owned(), value.to_owned())
    };
    let mut members: Vec<(String, String)> = parts.map(member).collect();
    if quota.starts_with("lockout") && !members.iter().any(|(member, _)| member == "count") {
        members.push(("count".to_owned(), "failures".to_owned()));
    }
    Line {
        outcome: outcome.to_owned(),
        quota: (*quota).to_owned(),
        key,
        members,
        sentence: (*sentence).to_owned(),
    }
}

/// Returns the name of an outcome, and what there is to say about it.
pub(crate) fn outcome(reading: &Reading) -> (&'static str, String) {
    match reading {
        Reading::Agrees { .. } => ("agrees", String::new()),
        Reading::Contradicts(all) => {
            let told = all.iter().map(|one| format!("\"{}\": {}; {}", one.claim, one.fact, one.numbers));
            ("contradicts", told.collect::<Vec<_>>().join(" / "))
        }
        Reading::Unclear(unclear) => ("unclear", format!("{:?}: {}", unclear.place, unclear.why)),
    }
}
