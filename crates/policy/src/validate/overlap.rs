//! Whether two rules can apply to one request.
//!
//! A request that waits in two queues waits for the slower one, and its place in the faster is lost: two leaky
//! buckets on one request are refused. Rules are apart only when that can be shown: by methods, by hosts, or by a
//! segment of their paths that cannot be the same. Exceptions are not counted on, since they may depend on who
//! asks.

use tidegate_algorithms::Quota;

use super::rules::{LimitPlaces, PlacedRule};
use crate::descriptor::DescriptorPattern;
use crate::file::Report;
use crate::matcher::{HostPattern, Matcher, Pattern, Segment};
use crate::problem::Place;
use crate::rule::Rule;

/// Two queues on one request are refused.
pub(super) fn check_queues(rules: &[PlacedRule], report: &mut Report) {
    let mut queues: Vec<(&Rule, &str, Place)> = Vec::new();
    for placed in rules {
        for (limit, LimitPlaces { limit: place, .. }) in placed.rule.limits.iter().zip(&placed.limits) {
            if !limit.variants().any(|(_, terms)| matches!(terms.quota, Quota::LeakyBucket(_))) {
                continue;
            }
            let meets = |(rule, _, _): &&(&Rule, &str, Place)| {
                rule.name == placed.rule.name || may_meet(&rule.matches, &placed.rule.matches)
            };
            if let Some((rule, first, _)) = queues.iter().find(meets) {
                let message = format!("{} and {first} can both hold back one request", limit.name);
                let remedy = if rule.name == placed.rule.name {
                    "keep one leaky_bucket, and take another algorithm for the other limit"
                } else {
                    "keep one leaky_bucket, or make their matches different in method, host or path"
                };
                report.add(*place, message, remedy);
            }
            queues.push((&placed.rule, &limit.name, *place));
        }
    }
}

/// Returns whether some request may match both lists; an empty list matches everything.
fn may_meet(a: &[Matcher], b: &[Matcher]) -> bool {
    a.is_empty() || b.is_empty() || a.iter().any(|left| b.iter().any(|right| matchers_meet(left, right)))
}

fn matchers_meet(a: &Matcher, b: &Matcher) -> bool {
    descriptors_meet(a.descriptor.as_ref(), b.descriptor.as_ref())
        && any_pair(&a.methods, &b.methods, |left, right| methods_meet(left, right))
        && any_pair(&a.hosts, &b.hosts, hosts_meet)
        && any_pair(&a.paths, &b.paths, |left, right| paths_meet(left, right, a.loose || b.loose))
}

/// Returns whether all that a matcher can match lies within one of a scope's.
pub(crate) fn lies_within(matcher: &Matcher, scope: &[Matcher]) -> bool {
    let about = |outer: &&Matcher| {
        covers(&outer.methods, &matcher.methods, |outer, inner| {
            outer == inner || (outer == "GET" && inner == "HEAD")
        }) && covers(&outer.hosts, &matcher.hosts, host_covers)
            && descriptor_covers(outer.descriptor.as_ref(), matcher.descriptor.as_ref())
    };
    // Which of them are about its methods and hosts is asked once, not for each of its paths.
    let outers: Vec<&Matcher> = scope.iter().filter(about).collect();
    if outers.iter().any(|outer| outer.paths.is_empty()) {
        return true;
    }
    let wide = || outers.iter().flat_map(|outer| &outer.paths);
    let lies = |path: &Pattern| wide().any(|wide| path_covers(wide, path, matcher.loose));
    !matcher.paths.is_empty() && matcher.paths.iter().all(lies)
}

/// Returns whether each of the inner ones is covered by one of the outer ones; an empty list is everything.
fn covers<T>(outer: &[T], inner: &[T], cover: impl Fn(&T, &T) -> bool) -> bool {
    let each = inner.iter().all(|inner| outer.iter().any(|outer| cover(outer, inner)));
    outer.is_empty() || (!inner.is_empty() && each)
}

fn host_covers(outer: &HostPattern, inner: &HostPattern) -> bool {
    match (outer, inner) {
        (HostPattern::Exact(outer), HostPattern::Exact(inner)) => outer == inner,
        (HostPattern::Exact(_), HostPattern::Below(_)) => false,
        (HostPattern::Below(suffix), HostPattern::Exact(inner) | HostPattern::Below(inner)) => {
            inner.ends_with(suffix.as_str())
        }
    }
}

/// A scope is read as its rule's class reads paths: where the rule ignores case, so does the scope.
fn path_covers(outer: &Pattern, inner: &Pattern, loose: bool) -> bool {
    let lengths = match inner.segments.len().cmp(&outer.segments.len()) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => outer.open || !inner.open,
        std::cmp::Ordering::Greater => outer.open,
    };
    lengths
        && outer.segments.iter().zip(&inner.segments).all(|pair| match pair {
            (Segment::Param(_), _) => true,
            (Segment::Literal { loose: a, .. }, Segment::Literal { loose: b, .. }) if loose => a == b,
            (Segment::Literal { strict: a, .. }, Segment::Literal { strict: b, .. }) => a == b,
            (Segment::Literal { .. }, Segment::Param(_)) => false,
        })
}

/// Returns whether one descriptor may be what both ask for; whoever asks for none is about requests.
fn descriptors_meet(a: Option<&DescriptorPattern>, b: Option<&DescriptorPattern>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.meets(b),
        (None, None) => true,
        _ => false,
    }
}

/// Returns whether every descriptor that the inner one asks for is one for the outer as well.
fn descriptor_covers(outer: Option<&DescriptorPattern>, inner: Option<&DescriptorPattern>) -> bool {
    match (outer, inner) {
        (Some(outer), Some(inner)) => outer.covers(inner),
        (None, None) => true,
        _ => false,
    }
}

/// Returns whether any pair meets; an empty list meets everything.
fn any_pair<T>(a: &[T], b: &[T], meet: impl Fn(&T, &T) -> bool) -> bool {
    a.is_empty() || b.is_empty() || a.iter().any(|left| b.iter().any(|right| meet(left, right)))
}

fn methods_meet(a: &str, b: &str) -> bool {
    a == b || matches!((a, b), ("GET", "HEAD") | ("HEAD", "GET"))
}

fn hosts_meet(a: &HostPattern, b: &HostPattern) -> bool {
    match (a, b) {
        (HostPattern::Exact(a), HostPattern::Exact(b)) => a == b,
        (HostPattern::Exact(name), HostPattern::Below(suffix))
        | (HostPattern::Below(suffix), HostPattern::Exact(name)) => name.ends_with(suffix.as_str()),
        (HostPattern::Below(a), HostPattern::Below(b)) => a.ends_with(b.as_str()) || b.ends_with(a.as_str()),
    }
}

fn paths_meet(a: &Pattern, b: &Pattern, loose: bool) -> bool {
    let same = a.segments.iter().zip(&b.segments).all(|pair| match pair {
        (Segment::Literal { loose: a, .. }, Segment::Literal { loose: b, .. }) if loose => a == b,
        (Segment::Literal { strict: a, .. }, Segment::Literal { strict: b, .. }) => a == b,
        _ => true,
    });
    let lengths = match a.segments.len().cmp(&b.segments.len()) {
        std::cmp::Ordering::Equal => true,
        std::cmp::Ordering::Less => a.open,
        std::cmp::Ordering::Greater => b.open,
    };
    same && lengths
}
