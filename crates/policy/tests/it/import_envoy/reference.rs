//! The matching of envoyproxy/ratelimit, written once more and by itself: a walk down a tree.

use std::fmt::Write as _;

use proptest::prelude::*;

/// What a descriptor meets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limited {
    /// `None` when it is unlimited.
    pub(super) numbers: Option<String>,
    /// The values that are counted on, each with a tag and its length.
    pub(super) key: Vec<u8>,
    pub(super) label: String,
    pub(super) shadow: bool,
    pub(super) quota: bool,
    /// How many entries stand in its metric.
    pub(super) metric: usize,
    /// The labels of the limits that it replaces.
    pub(super) replaces: Vec<String>,
}

/// A level of a configuration.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    key: &'static str,
    value: Option<&'static str>,
    limit: Option<Allowed>,
    flags: [bool; 5],
    children: Vec<Tree>,
}

#[derive(Debug, Clone)]
struct Allowed {
    /// `None` for unlimited.
    requests: Option<u32>,
    name: &'static str,
    replaces: Option<&'static str>,
}

const KEYS: [&str; 3] = ["a", "b", "a-1"];
const VALUES: [&str; 9] = ["x", "y", "xy", "x*", "*x", "*", "x*y", "*y*", "x**"];
const NAMES: [&str; 4] = ["", "one", "two", "three"];

/// Draws a domain.
pub(super) fn tree() -> impl Strategy<Value = Tree> {
    let leaf = level().prop_map(|(key, value, limit, flags)| Tree {
        key,
        value,
        limit,
        flags,
        children: Vec::new(),
    });
    let nested = leaf.prop_recursive(3, 24, 5, |below| {
        (level(), prop::collection::vec(below, 0..5)).prop_map(|((key, value, limit, flags), children)| {
            Tree { key, value, limit, flags, children: unique(children) }
        })
    });
    prop::collection::vec(nested, 1..6).prop_map(|children| Tree {
        key: "",
        value: None,
        limit: None,
        flags: [false; 5],
        children: unique(children),
    })
}

type Level = (&'static str, Option<&'static str>, Option<Allowed>, [bool; 5]);

fn level() -> impl Strategy<Value = Level> {
    let value = prop::option::weighted(0.7, prop::sample::select(&VALUES[..]));
    let requests = prop::option::weighted(0.8, 0..1000_u32);
    let allowed = (
        requests,
        prop::sample::select(&NAMES[..]),
        prop::option::weighted(0.3, prop::sample::select(&NAMES[1..])),
    );
    let allowed = allowed.prop_map(|(requests, name, replaces)| Allowed {
        requests,
        name,
        replaces: replaces.filter(|replaced| *replaced != name),
    });
    (prop::sample::select(&KEYS[..]), value, prop::option::weighted(0.7, allowed), any::<[bool; 5]>())
}

/// Leaves out levels that stand beside their like.
fn unique(levels: Vec<Tree>) -> Vec<Tree> {
    let mut out: Vec<Tree> = Vec::new();
    for level in levels {
        if out.iter().all(|other| (other.key, other.value) != (level.key, level.value)) {
            out.push(level);
        }
    }
    out
}

/// Draws a descriptor, close to what trees have.
pub(super) fn descriptor() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let value = prop_oneof![
        3 => prop::sample::select(&["x", "y", "xy", "xzy", "z", "yx", "x*"][..]).prop_map(str::to_owned),
        1 => "[xyz]{1,4}",
    ];
    // A value that is a pattern of the file itself is taken by that pattern there, whatever stands before it.
    let value = value.prop_map(|value| value.replace('*', "z"));
    prop::collection::vec((prop::sample::select(&KEYS[..]), value), 1..4)
}

impl Tree {
    /// Writes the configuration.
    pub(super) fn text(&self) -> String {
        let mut out = "domain: d\n".to_owned();
        self.write_children(0, &mut out);
        out
    }

    fn write_children(&self, depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth);
        if !self.children.is_empty() {
            writeln!(out, "{pad}descriptors:").unwrap();
        }
        for child in &self.children {
            writeln!(out, "{pad}- key: {}", child.key).unwrap();
            if let Some(value) = child.value {
                writeln!(out, "{pad}  value: \"{value}\"").unwrap();
            }
            let names =
                ["shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold"];
            for (name, is_set) in names.iter().zip(child.flags()) {
                if is_set {
                    writeln!(out, "{pad}  {name}: true").unwrap();
                }
            }
            if let Some(Allowed { requests, name, replaces }) = &child.limit {
                let amount = match requests {
                    Some(requests) => format!("unit: HOUR, requests_per_unit: {requests}"),
                    None => "unlimited: true".to_owned(),
                };
                let replaces =
                    replaces.map(|name| format!(", replaces: [{{ name: {name} }}]")).unwrap_or_default();
                writeln!(out, "{pad}  rate_limit: {{ {amount}, name: \"{name}\"{replaces} }}").unwrap();
            }
            child.write_children(depth + 1, out);
        }
    }

    fn is_pattern(&self) -> bool {
        self.value.is_some_and(|value| value.contains('*'))
    }

    /// Only a pattern can share its threshold.
    fn flags(&self) -> [bool; 5] {
        let [shadow, quota, detailed, to_metric, share] = self.flags;
        [shadow, quota, detailed, to_metric, share && self.is_pattern()]
    }

    pub(super) fn has_limit(&self) -> bool {
        self.limit.is_some() || self.children.iter().any(Self::has_limit)
    }

    /// Returns the names of all limits.
    fn names(&self) -> Vec<&str> {
        let own = self.limit.iter().map(|limit| limit.name);
        own.chain(self.children.iter().flat_map(Self::names)).collect()
    }

    /// Goes down from level to level, and never back: the value itself, the first pattern that fits, any value.
    pub(super) fn walk(root: &Self, entries: &[(&str, &str)]) -> Option<Limited> {
        let mut level = root;
        let mut path = Vec::new();
        for (key, value) in entries {
            let all = || level.children.iter().filter(|child| child.key == *key);
            let exact = all().find(|child| child.value == Some(*value) && !child.is_pattern());
            let first = || all().find(|child| child.is_pattern() && fits(child.value.unwrap(), value));
            let any = || all().find(|child| child.value.is_none());
            level = exact.or_else(first).or_else(any)?;
            path.push((level, *value));
        }
        let limit = level.limit.as_ref()?;
        let [shadow, quota, detailed, ..] = level.flags();
        let mut key = Vec::new();
        for (level, value) in &path {
            let [.., share] = level.flags();
            if level.value.is_none() || level.is_pattern() && !share {
                key.push(1);
                key.extend_from_slice(&u32::try_from(value.len()).unwrap().to_le_bytes());
                key.extend_from_slice(value.as_bytes());
            }
        }
        let is_limited = limit.requests.is_some();
        let replaces = limit.replaces.filter(|name| root.names().contains(name));
        Some(Limited {
            numbers: limit.requests.map(|requests| format!("limit {requests}, window 1h, anchor clock")),
            key: if is_limited { key } else { Vec::new() },
            label: limit.name.to_owned(),
            shadow: shadow && is_limited,
            quota: quota && is_limited,
            metric: path.iter().filter(|(level, _)| detailed || level.flags()[3]).count(),
            replaces: replaces.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Compares by trying every length that a star may stand for.
fn fits(pattern: &str, value: &str) -> bool {
    match pattern.split_at_checked(1) {
        None => value.is_empty(),
        Some(("*", rest)) => (0..=value.len()).any(|at| fits(rest, &value[at..])),
        Some((letter, rest)) => value.strip_prefix(letter).is_some_and(|value| fits(rest, value)),
    }
}
