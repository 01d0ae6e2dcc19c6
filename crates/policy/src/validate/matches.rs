//! What rules apply to: methods, hosts, paths and exceptions.

mod path;

use super::descriptors;
use crate::file::{Fields, Node, Report, Value, nearest, one_or_more};
use crate::matcher::{Except, HostPattern, Matcher};

pub(crate) use path::read_pattern;

/// The conditions of a match, of which one has to be there.
const CONDITIONS: [&str; 3] = ["method", "path", "host"];
/// The methods of HTTP itself: one that is nearly one of them is a slip.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
/// The most conditions of a team's scope, since each of the team's own is held against them.
const MAX_SCOPE: usize = 256;
pub(super) const NAME_ONE: &str = "name a method, path or host";

/// Reads `match`: a mapping, or a list of them. `loose` says how the rule's class compares paths.
pub(super) fn read(node: &Node, loose: bool, report: &mut Report) -> Vec<Matcher> {
    one_or_more(node).iter().filter_map(|item| matcher(item, loose, report)).collect()
}

/// Reads `except`: a mapping, or a list of them.
pub(super) fn except(node: &Node, report: &mut Report) -> Vec<Except> {
    one_or_more(node).iter().filter_map(|item| exception(item, report)).collect()
}

/// Reads the `match` of a team: methods, hosts and paths only; nothing when any of it cannot be read.
pub(super) fn scope(node: &Node, report: &mut Report) -> Vec<Matcher> {
    let items = one_or_more(node);
    let read: Vec<Matcher> = items.iter().filter_map(|item| scope_entry(item, report)).collect();
    if items.is_empty() {
        report.add(node.place, "match is an empty list, which matches nothing", NAME_ONE);
    }
    let size = |matcher: &Matcher| {
        matcher.methods.len().saturating_add(matcher.paths.len()).saturating_add(matcher.hosts.len())
    };
    if read.iter().map(size).fold(0, usize::saturating_add) > MAX_SCOPE {
        let message = format!("match names more than {MAX_SCOPE} methods, paths and hosts");
        report.add(node.place, message, "widen some of them, such as /team/**");
        return Vec::new();
    }
    if read.len() == items.len() { read } else { Vec::new() }
}

fn scope_entry(node: &Node, report: &mut Report) -> Option<Matcher> {
    let mut fields = Fields::open(node, "match", report)?;
    let conditions = conditions(&mut fields, report);
    if !conditions.said {
        fields.lack_source(&CONDITIONS, "match says nothing", "write `path: /team/**`, or leave it out");
    }
    fields.finish(&[], report);
    conditions.matcher.filter(|_| conditions.said)
}

fn matcher(node: &Node, loose: bool, report: &mut Report) -> Option<Matcher> {
    const CASES: [(bool, &str); 2] = [(true, "ignore"), (false, "sensitive")];
    const SLASHES: [(bool, &str); 2] = [(false, "ignore"), (true, "keep")];
    if as_text(node, "match", report) {
        return None;
    }
    let mut fields = Fields::open(node, "match", report)?;
    if descriptors::is_one(&fields) {
        let matcher = descriptors::matcher(&mut fields, report);
        fields.finish(&[], report);
        return matcher;
    }
    let conditions = conditions(&mut fields, report);
    // Known, so that a slip in their names is seen.
    fields.among(&descriptors::MEMBERS);
    let case = fields.get("case").and_then(|node| node.choice("case", &CASES, report));
    let slash = fields.get("trailing_slash").and_then(|node| node.choice("trailing_slash", &SLASHES, report));
    if !conditions.said {
        let keys = [&CONDITIONS[..], &descriptors::MEMBERS].concat();
        fields.lack_source(&keys, "match says nothing", "write `path: /**` for every request");
    }
    fields.finish(&["header", "query"], report);
    if !conditions.said {
        return None;
    }
    let matcher = conditions.matcher?;
    Some(Matcher { loose: case.unwrap_or(loose), strict_slash: slash.unwrap_or(false), ..matcher })
}

/// Reports a condition that stands alone, without the member it belongs to.
fn as_text(node: &Node, what: &str, report: &mut Report) -> bool {
    let Some(text) = node.scalar() else { return false };
    let remedy = match text.split_once(' ') {
        _ if text.starts_with('/') => format!("write {{ path: {text} }}"),
        _ if what == "match" && matches!(text, "*" | "**" | "all" | "any") => {
            "write { path: /** }".to_owned()
        }
        Some((method, path)) if path.starts_with('/') => {
            format!("write {{ method: {method}, path: {path} }}")
        }
        _ if what == "except" && text.parse::<ipnet::IpNet>().is_ok() => {
            format!("write {{ client: {text} }}")
        }
        _ => "write { path: /a/b }".to_owned(),
    };
    report.add(node.place, format!("{what} has to be a mapping, and this is a single value"), remedy);
    true
}

fn exception(node: &Node, report: &mut Report) -> Option<Except> {
    if as_text(node, "except", report) {
        return None;
    }
    let mut fields = Fields::open(node, "except", report)?;
    let client = fields.get("client");
    let conditions = conditions(&mut fields, report);
    let is_empty = !conditions.said && client.is_none();
    if is_empty {
        let keys = [&CONDITIONS[..], &["client"]].concat();
        let message = "except says nothing, so it would leave out everything";
        fields.lack_source(&keys, message, "name a client, path, method or host");
    }
    fields.finish(&["header", "query"], report);
    if is_empty {
        return None;
    }
    let items = client.map(one_or_more).unwrap_or_default();
    let clients: Vec<_> = items.iter().filter_map(|item| super::trusted::network(item, report)).collect();
    if client.is_some() && items.is_empty() {
        report.add(node.place, "except names no client's network", "write one such as 192.0.2.0/24");
    }
    // With fewer networks than are written it would leave out more, or everyone.
    if clients.len() < items.len() || (client.is_some() && items.is_empty()) {
        return None;
    }
    Some(Except { clients, matcher: conditions.matcher? })
}

/// What `method`, `path` and `host` say.
struct Conditions {
    /// Whether any of them is there.
    said: bool,
    /// `None` when one could not be read: less would match more.
    matcher: Option<Matcher>,
}

fn conditions(fields: &mut Fields<'_>, report: &mut Report) -> Conditions {
    let (method, path, host) = (fields.get("method"), fields.get("path"), fields.get("host"));
    let methods = each(method, "method", read_method, report);
    let paths = each(path, "path", path::pattern, report);
    let hosts = each(host, "host", read_host, report);
    let matcher = match (methods, paths, hosts) {
        (Some(methods), Some(paths), Some(hosts)) => Some(Matcher { methods, paths, hosts, ..Matcher::ANY }),
        _ => None,
    };
    Conditions { said: method.is_some() || path.is_some() || host.is_some(), matcher }
}

/// Reads each item of a value; nothing when one of them cannot be read, or an empty list is written.
fn each<T>(
    node: Option<&Node>,
    what: &str,
    read: fn(&Node, &mut Report) -> Option<T>,
    report: &mut Report,
) -> Option<Vec<T>> {
    let Some(node) = node else { return Some(Vec::new()) };
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        report.add(
            node.place,
            format!("{what} is an empty list, which matches nothing"),
            format!("name a {what}, or leave `{what}` out"),
        );
        return None;
    }
    let items = one_or_more(node);
    let read: Vec<T> = items.iter().filter_map(|item| read(item, report)).collect();
    (read.len() == items.len()).then_some(read)
}

fn read_method(node: &Node, report: &mut Report) -> Option<String> {
    let text = node.text("method", report)?;
    let upper = text.to_ascii_uppercase();
    let parts: Vec<&str> = text.split([',', '|', ' ', '/']).filter(|part| !part.is_empty()).collect();
    let remedy = if matches!(upper.as_str(), "*" | "ANY" | "ALL") {
        "leave method out: then every method matches".to_owned()
    } else if let Some((method, path)) = text.split_once(" /") {
        format!("write {{ method: {method}, path: /{path} }}")
    } else if parts.len() > 1 {
        format!("write a list: [{}]", parts.join(", "))
    } else if !upper.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        "write one such as POST".to_owned()
    } else {
        match nearest(&upper, METHODS) {
            Some(near) if near != upper => format!("did you mean {near}?"),
            _ => return Some(upper),
        }
    };
    report.add(node.place, format!("\"{text}\" is not a method"), remedy);
    None
}

fn read_host(node: &Node, report: &mut Report) -> Option<HostPattern> {
    let text = node.text("host", report)?;
    match host(text) {
        Ok(pattern) => Some(pattern),
        Err(remedy) => {
            report.add(node.place, format!("\"{text}\" is not a host"), remedy);
            None
        }
    }
}

/// Reads a host; says what to write instead of anything else.
fn host(text: &str) -> Result<HostPattern, String> {
    const EXAMPLES: &str = "write one such as api.example.com or *.example.com, without port";
    let lower = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let bracketed = lower.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    if let Ok(address) = bracketed.unwrap_or(&lower).parse::<std::net::IpAddr>() {
        return Ok(HostPattern::Exact(address.to_string()));
    }
    if lower.contains(',') {
        let hosts: Vec<&str> = lower.split(',').map(str::trim).collect();
        return Err(format!("write a list: [{}]", hosts.join(", ")));
    }
    if let Some((_, rest)) = lower.split_once("://") {
        return Err(format!("write the host only: {}", rest.split(['/', ':']).next().unwrap_or_default()));
    }
    if let Some((name, _)) = lower.split_once('/') {
        return Err(format!("write the host only: {name}; the path goes into `path`"));
    }
    if let Some((name, port)) = lower.rsplit_once(':')
        && port.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*')
    {
        return Err(format!("write it without port: {name}; every port of it matches"));
    }
    if lower == "*" {
        return Err("leave host out: then every host matches".to_owned());
    }
    let name = lower.strip_prefix("*.").unwrap_or(&lower);
    if let Some(below) = name.strip_prefix('.').filter(|below| is_domain(below)) {
        return Err(format!("write *.{below} for everything below it, {below} for itself"));
    }
    if name.contains('*') {
        return Err("a `*.` stands at the beginning only, for everything below: *.example.com".to_owned());
    }
    if !name.is_ascii() {
        return Err("write it as clients send it, in ASCII: labels that begin with xn--".to_owned());
    }
    if !is_domain(name) {
        return Err(EXAMPLES.to_owned());
    }
    Ok(if name.len() < lower.len() {
        HostPattern::Below(format!(".{name}"))
    } else {
        HostPattern::Exact(lower)
    })
}

/// Returns whether a text is a domain's name: labels of letters, digits, hyphens and underscores.
fn is_domain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.len() <= 253
        && name.split('.').all(|label| (1..=63).contains(&label.len()) && label.bytes().all(plain))
}
