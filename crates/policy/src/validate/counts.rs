//! Limits that count failures: what a success looks like, and what it does.

use std::ops::RangeInclusive;

use http::HeaderName;

use super::proxies::header_name;
use crate::count::{Count, OnSuccess, Success};
use crate::file::{Fields, Node, Report, Value, one_or_more};

/// Statuses of answers.
const STATUSES: RangeInclusive<u16> = 100..=599;
/// Statuses that refuse whoever is limited: nobody means them by success.
const REFUSALS: [(u16, &str); 3] = [
    (401, "is how a wrong password is answered"),
    (403, "is how somebody is turned away"),
    (429, "is how one too many is answered"),
];

/// Reads what a limit counts.
pub(super) fn read(node: &Node, report: &mut Report) -> Option<Count> {
    if node.scalar().is_some() {
        let remedy =
            "write { failures: true, success: { status: 200 } }, or remove it to count every request";
        report.add(node.place, "count has to be a mapping, and this is a single value", remedy);
        return None;
    }
    let mut fields = Fields::open(node, "count", report)?;
    let failures = fields.need("failures", "true");
    let failures = failures.and_then(|node| {
        let said = node.boolean("failures", report)?;
        if !said {
            report.add(
                node.place,
                "`failures: false` counts nothing of its own",
                "remove `count`: a limit counts every request unless said",
            );
        }
        said.then_some(())
    });
    let success = fields.need("success", "{ status: 200 }").and_then(|node| success(node, report));
    let on_success = on_success(&mut fields, report);
    fields.finish(&[], report);
    failures?;
    Some(Count::Failures { success: success?, on_success: on_success? })
}

fn on_success(fields: &mut Fields<'_>, report: &mut Report) -> Option<OnSuccess> {
    const WORDS: [(OnSuccess, &str); 2] = [(OnSuccess::Refund, "refund"), (OnSuccess::Reset, "reset")];
    fields.get("on_success").map_or(Some(OnSuccess::Refund), |node| node.choice("on_success", &WORDS, report))
}

fn success(node: &Node, report: &mut Report) -> Option<Success> {
    let bare: Option<Vec<&str>> = one_or_more(node).iter().map(Node::scalar).collect();
    if let Some(bare) = bare.filter(|bare| !bare.is_empty() && bare.iter().all(|text| status(text).is_ok())) {
        let bare =
            if let [one] = bare.as_slice() { (*one).to_owned() } else { format!("[{}]", bare.join(", ")) };
        report.add(node.place, "success has to say what it looks at", format!("write {{ status: {bare} }}"));
        return None;
    }
    let mut fields = Fields::open(node, "success", report)?;
    let statuses = fields.get("status").map(|node| statuses(node, report));
    let header = fields.get("header").map(|node| header(node, report));
    // Beside a field that tells a success, any status may be one.
    if let (Some(Some(statuses)), None) = (&statuses, &header) {
        check_statuses(fields.get("status"), statuses, report);
    }
    if statuses.is_none() && header.is_none() {
        let remedy = "write `status: 200`, `header: { name: x-outcome, value: ok }`, or both";
        fields.lack_source(&["status", "header"], "success says neither status nor header", remedy);
    }
    let said = statuses.is_some() || header.is_some();
    fields.finish(&[], report);
    let header = header.map_or(Some(None), |header| header.map(Some))?;
    said.then_some(Success { statuses: statuses.unwrap_or(Some(Vec::new()))?, header })
}

/// Reads `200`, `2xx`, `200-299`, or a list of them; `None` when one could not be read.
fn statuses(node: &Node, report: &mut Report) -> Option<Vec<RangeInclusive<u16>>> {
    let items = one_or_more(node);
    if items.is_empty() {
        report.add(
            node.place,
            "status is an empty list, which no answer is in",
            "list what a success answers",
        );
    }
    let read: Vec<_> = items.iter().filter_map(|item| one_status(item, report)).collect();
    (read.len() == items.len() && !read.is_empty()).then_some(read)
}

/// Reports successes that somebody means by failures.
fn check_statuses(node: Option<&Node>, read: &[RangeInclusive<u16>], report: &mut Report) {
    let Some(node) = node else { return };
    if read.iter().all(|range| *range.start() >= 400) {
        report.add(
            node.place,
            "success lists only errors, so that those would be given back and all else counted",
            "list what a success answers, such as 200; all else is a failure",
        );
        return;
    }
    for (item, range) in one_or_more(node).iter().zip(read) {
        if let Some((status, how)) = REFUSALS.iter().find(|(status, _)| range.contains(status)) {
            let message = if range.start() == range.end() {
                format!("status {status} {how}, and it would not count")
            } else {
                let given = item.scalar().unwrap_or_default();
                format!("status {given} holds {status}, which {how}, and it would not count")
            };
            report.add(item.place, message, "list what a success answers; all else is a failure");
        }
    }
}

fn one_status(node: &Node, report: &mut Report) -> Option<RangeInclusive<u16>> {
    let Some(given) = node.scalar() else {
        report.add(node.place, format!("a status has to be a number, and this is {}", node.kind()), EXAMPLES);
        return None;
    };
    match status(given) {
        Err(remedy) => {
            report.add(node.place, format!("status \"{given}\" is not a status"), remedy);
            None
        }
        Ok(range) => Some(range),
    }
}

const EXAMPLES: &str = "write 200, 2xx or 200-299";

/// Reads a status or a range of them; says what to write instead of anything else.
fn status(text: &str) -> Result<RangeInclusive<u16>, String> {
    if let Some(digit) = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX")) {
        return match digit.parse::<u16>() {
            Ok(class @ 1..=5) if text.ends_with("xx") => {
                let first = class.saturating_mul(100);
                Ok(first..=first.saturating_add(99))
            }
            Ok(class @ 1..=5) => Err(format!("did you mean {class}xx?")),
            _ => Err("write 1xx to 5xx".to_owned()),
        };
    }
    let number = |text: &str| {
        let status = text.parse::<u16>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let status = status.ok_or_else(|| EXAMPLES.to_owned())?;
        if STATUSES.contains(&status) {
            return Ok(status);
        }
        Err(format!("a status lies between {} and {}", STATUSES.start(), STATUSES.end()))
    };
    if text.contains(',') {
        return Err(format!(
            "write a list: [{}]",
            text.split(',').map(str::trim).collect::<Vec<_>>().join(", ")
        ));
    }
    let Some((first, last)) = text.split_once('-') else { return number(text).map(|one| one..=one) };
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    if first > last {
        return Err(format!("did you mean {last}-{first}?"));
    }
    Ok(first..=last)
}

/// Reads a header field of the answer, and the value it has to have, if one is said.
fn header(node: &Node, report: &mut Report) -> Option<(HeaderName, Option<String>)> {
    if let Some(name) = node.scalar() {
        let remedy = format!("write {{ name: {name}, value: … }}, or {{ name: {name} }} for any value");
        report.add(node.place, "header has to be a mapping, and this is a single value", remedy);
        return None;
    }
    let mut fields = Fields::open(node, "header", report)?;
    let name = fields.get("name");
    if name.is_none() {
        let meant = match &node.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key != "value"),
            _ => None,
        };
        let remedy = match meant.and_then(|entry| Some((&entry.key, entry.value.scalar()?))) {
            Some((name, value)) => format!("write {{ name: {name}, value: {value} }}"),
            None => "write `name: x-outcome`".to_owned(),
        };
        fields.lack_source(&["name"], "header has no `name`", remedy);
    }
    let name = name.and_then(|node| header_name(node, "x-outcome", report));
    let value = fields.get("value").map(|node| node.text("value", report).map(str::to_owned));
    fields.finish(&[], report);
    let value = value.map_or(Some(None), |value| value.map(Some))?;
    Some((name?, value))
}
