//! Paths of a match: patterns, and what was meant by those that are none.

use crate::file::{Node, Report, Value};
use crate::matcher::{Pattern, Segment};
use crate::path;
use crate::policy::EncodedSlash;

/// Returns the path that a mapping of another product means: `{ prefix: /api }`, `{ type: PathPrefix, value: /api }`.
fn path_within(node: &Node) -> Option<String> {
    let Value::Map(entries) = &node.value else { return None };
    let path = entries.iter().find_map(|entry| entry.value.scalar().filter(|text| text.starts_with('/')))?;
    let says_prefix = |text: &str| text.to_ascii_lowercase().contains("prefix");
    let is_prefix =
        entries.iter().any(|entry| says_prefix(&entry.key) || entry.value.scalar().is_some_and(says_prefix));
    Some(if is_prefix { format!("{}/**", path.trim_end_matches('/')) } else { path.to_owned() })
}

/// Reads a path; what is wrong with it is reported.
pub(super) fn pattern(node: &Node, report: &mut Report) -> Option<Pattern> {
    if matches!(node.value, Value::Map(_)) {
        let path = path_within(node).unwrap_or_else(|| "/a/b, or /a/** with everything below".to_owned());
        report.add(
            node.place,
            "path has to be text, and this is a mapping",
            format!("write the path itself: {path}"),
        );
        return None;
    }
    let text = node.text("path", report)?;
    match read_pattern(text) {
        Ok(pattern) => Some(pattern),
        Err((message, remedy)) => {
            report.add(node.place, format!("the path \"{text}\" {message}"), remedy);
            None
        }
    }
}

const EXPRESSION: &str = "is a regular expression, which paths are not";
const INSTEAD: &str = "write /a/b, /a/{id} for one segment, or /a/** for everything below";

/// Reads a pattern; says what is wrong with it, and what to write.
pub(crate) fn read_pattern(text: &str) -> Result<Pattern, (&'static str, String)> {
    let Some(inner) = text.strip_prefix('/') else {
        return Err(without_slash(text));
    };
    if let Some(at) = text.find(['?', '#']) {
        let path = text.get(..at).unwrap_or_default();
        return Err(("has a query or fragment", format!("write the path only: {path}")));
    }
    if text.contains(['(', '[']) && text.contains(['*', '|', '+']) {
        return Err((EXPRESSION, INSTEAD.to_owned()));
    }
    // Neither stands in a path that is sent, and nobody means a path that nothing matches.
    if let Some(mark) = ["|", ", "].iter().find(|mark| text.contains(**mark)) {
        let paths: Vec<&str> = text.split(mark).map(str::trim).collect();
        return Err(("is more than one", format!("write a list: [{}]", paths.join(", "))));
    }
    let (inner, open) = match inner.strip_suffix("**") {
        Some(before) if before.is_empty() || before.ends_with('/') => (before, true),
        _ => (inner, false),
    };
    let trailing_slash = !open && inner.ends_with('/');
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let mut segments = Vec::new();
    for part in inner.split('/').filter(|_| !inner.is_empty()) {
        let segment = segment(part)?;
        let twice = matches!(&segment, Segment::Param(_)) && segments.contains(&segment);
        if twice {
            return Err(("names a parameter twice", "give each its own name".to_owned()));
        }
        segments.push(segment);
    }
    Ok(Pattern { text: text.to_owned(), segments, open, trailing_slash })
}

/// Says what a path without a slash at its beginning was meant to be.
fn without_slash(text: &str) -> (&'static str, String) {
    if let Some((_, rest)) = text.split_once("://") {
        let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
        return ("is a whole URL", format!("write {path}, and the host into `host`"));
    }
    if text.starts_with(['^', '~']) || text.contains('\\') {
        return (EXPRESSION, INSTEAD.to_owned());
    }
    if let Some(path) = text.strip_prefix('!') {
        let path = path.trim_start();
        return ("is turned round", format!("write what is left out under `except`: {{ path: {path} }}"));
    }
    if text == "*" || text == "**" {
        return ("does not begin with a slash", "write /** for every path".to_owned());
    }
    ("does not begin with a slash", format!("write /{text}"))
}

fn segment(part: &str) -> Result<Segment, (&'static str, String)> {
    let foreign = part.strip_prefix(':').or_else(|| part.strip_prefix('<')?.strip_suffix('>'));
    if let Some(name) = foreign.filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic())) {
        let name = name.rsplit(':').next().unwrap_or(name);
        return Err(("has a parameter of another notation", format!("write {{{name}}} for one segment")));
    }
    if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if let Some((name, _)) = name.split_once(':') {
            return Err((
                "has a pattern in a parameter",
                format!("write {{{name}}}, which takes any segment"),
            ));
        }
        if name.starts_with('*') || name.ends_with("...") || name.ends_with('+') {
            let remedy = "write /** at the end for everything below".to_owned();
            return Err(("has a parameter for more than one segment", remedy));
        }
        if name.is_empty() || !name.chars().all(plain) {
            let snake = name.replace(['-', '.', ' '], "_");
            let usable = !snake.is_empty() && snake.chars().all(plain);
            let example = if usable { snake.as_str() } else { "id" };
            return Err(("has a parameter without a plain name", format!("write one such as {{{example}}}")));
        }
        return Ok(Segment::Param(name.to_owned()));
    }
    if part.contains(['*', '{', '}']) {
        let remedy = "write {name} for one segment, and /** at the end for all below".to_owned();
        return Err(("has a wildcard inside", remedy));
    }
    let no_segment =
        || ("has an empty or dot segment, which no request keeps", "write the path it leads to".to_owned());
    if matches!(part, "" | "." | "..") {
        return Err(no_segment());
    }
    let sent = format!("/{part}");
    let normal = path::normalize(&sent, EncodedSlash::Keep).map_err(|error| {
        (error.why(), "write `%25` for a percent sign itself, and all else decoded".to_owned())
    })?;
    let bare = |path: &str| path.trim_start_matches('/').to_owned();
    let reading = |loose| bare(normal.reading(loose).text());
    // `%2e%2e` is as much a dot segment.
    if reading(false).is_empty() {
        return Err(no_segment());
    }
    Ok(Segment::Literal { strict: reading(false), loose: reading(true) })
}
