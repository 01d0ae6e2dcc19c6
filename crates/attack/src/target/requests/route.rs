//! Methods, hosts and paths that a rule may apply to.

use tidegate_policy::{HostPattern, Matcher, Policy, Rule};

/// The most requests that are tried for a rule.
const MOST: usize = 512;
/// The most hosts that are tried where a rule names none.
const MOST_HOSTS: usize = 8;
/// What stands in a path where anything may.
const ANYTHING: &str = "1";

/// A path whose segments are given or may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) segments: Vec<Segment>,
    slash: bool,
}

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// As it is sent.
    Literal(String),
    /// Anything.
    Free,
}

/// What a request begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) method: String,
    pub(super) host: Option<String>,
    pub(super) path: Path,
}

impl Path {
    /// Reads a pattern as a policy writes it; what it leaves open becomes so many segments.
    fn of(pattern: &str, tail: usize) -> Self {
        let bare = pattern.strip_suffix("**").unwrap_or(pattern);
        let segments = segments(bare).map(|segment| match parameter(segment) {
            Some(_) => Segment::Free,
            None => Segment::Literal(ascii(segment)),
        });
        let segments: Vec<Segment> = segments.chain(std::iter::repeat_n(Segment::Free, tail)).collect();
        let slash = bare.len() == pattern.len() && bare.ends_with('/') && !segments.is_empty();
        Self { segments, slash }
    }

    /// Writes the path, with a text for some of the segments that may be anything.
    pub(super) fn write<'t>(&self, text: impl Fn(usize) -> Option<&'t str>) -> String {
        let mut out = String::new();
        for (index, segment) in self.segments.iter().enumerate() {
            out.push('/');
            match segment {
                Segment::Literal(literal) => out.push_str(literal),
                Segment::Free => encode(text(index).unwrap_or(ANYTHING), "-._~;=", &mut out),
            }
        }
        if self.slash || out.is_empty() {
            out.push('/');
        }
        out
    }
}

/// Returns the number of the segment that a parameter of a pattern is.
pub(super) fn position(pattern: &str, name: &str) -> Option<usize> {
    segments(pattern).position(|segment| parameter(segment) == Some(name))
}

fn segments(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('/').filter(|segment| !segment.is_empty())
}

fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn ascii(segment: &str) -> String {
    let mut out = String::new();
    for letter in segment.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            encode(letter.encode_utf8(&mut [0; 4]), "", &mut out);
        }
    }
    out
}

/// Appends a text percent-encoded, but for letters, digits and the signs that are named.
pub(super) fn encode(text: &str, plain: &str, out: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// Returns what requests that a rule may apply to begin with, the plainest first. The fallback has no matches, and any
/// request may be its.
pub(super) fn starts(policy: &Policy, rule: &Rule) -> Vec<Start> {
    let any = [Matcher::ANY];
    let matchers = if rule.matches.is_empty() { &any[..] } else { &rule.matches };
    let needs_body = rule.limits.iter().any(tidegate_policy::Limit::needs_body);
    let mut starts = Vec::new();
    for matcher in matchers {
        let (methods, hosts) = (methods(matcher, needs_body), hosts(policy, matcher));
        for path in paths(matcher) {
            for host in &hosts {
                for method in &methods {
                    starts.push(Start { method: method.clone(), host: host.clone(), path: path.clone() });
                }
            }
        }
    }
    starts.truncate(MOST);
    starts
}

fn methods(matcher: &Matcher, needs_body: bool) -> Vec<String> {
    let usual = if needs_body { ["POST", "PUT", "GET"] } else { ["GET", "POST", "PUT"] };
    if matcher.methods.is_empty() { usual.map(str::to_owned).to_vec() } else { matcher.methods.clone() }
}

fn hosts(policy: &Policy, matcher: &Matcher) -> Vec<Option<String>> {
    if !matcher.hosts.is_empty() {
        return matcher.hosts.iter().map(|host| Some(written(host))).collect();
    }
    let named = policy.rules.iter().flat_map(|rule| {
        let excepted = rule.except.iter().map(|except| &except.matcher);
        excepted.chain(&rule.matches).flat_map(|matcher| &matcher.hosts)
    });
    // Any name will do, unless others than some are turned away.
    let mut hosts = vec![None];
    for host in named.map(written).chain(["tidegate.example".to_owned()]) {
        if hosts.len() < MOST_HOSTS && !hosts.iter().flatten().any(|known| *known == host) {
            hosts.push(Some(host));
        }
    }
    hosts
}

fn written(host: &HostPattern) -> String {
    match host {
        HostPattern::Exact(name) if name.contains(':') => format!("[{name}]"),
        HostPattern::Exact(name) => name.clone(),
        HostPattern::Below(suffix) => format!("a{suffix}"),
    }
}

fn paths(matcher: &Matcher) -> Vec<Path> {
    if matcher.paths.is_empty() {
        return [0, 1, 2].map(|tail| Path::of("/**", tail)).to_vec();
    }
    let tails = |pattern: &str| match pattern {
        "/**" => vec![0, 1, 2],
        open if open.ends_with("/**") => vec![1, 0, 2],
        _ => vec![0],
    };
    let texts = matcher.paths.iter().map(tidegate_policy::Pattern::text);
    texts.flat_map(|text| tails(text).into_iter().map(move |tail| Path::of(text, tail))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards requests against paths that a pattern does not match, and parameters against being looked for elsewhere.
    #[test]
    fn a_path_is_written_from_its_pattern() {
        for (pattern, tail, path) in [
            ("/**", 0, "/"),
            ("/**", 2, "/1/1"),
            ("/a/{id}/b", 0, "/a/x%20y/b"),
            ("/a/", 0, "/a/"),
            ("/a/**", 1, "/a/x%20y"),
            ("/a%20b/é", 0, "/a%20b/%C3%A9"),
        ] {
            let text = |index| (index == 1 && tail < 2).then_some("x y");
            assert_eq!(Path::of(pattern, tail).write(text), path, "{pattern}");
        }
        assert_eq!(position("/a/{id}/b/{to}", "to"), Some(3));
        assert_eq!(position("/a/id", "id"), None);
    }
}
