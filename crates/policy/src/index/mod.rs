//! Which rules may apply to a request, found without looking at the others.
//!
//! Whether a rule applies is decided by its matches alone. The index only spares looking at rules that certainly do not:
//! it knows the segments of their paths, the labels of their hosts, and the entries of their descriptors, as steps through
//! one [`Tree`]. What it leaves to the rule itself: methods, exceptions, the slash at the end, and in which reading a path
//! is compared. Paths are found by their loose reading, in which whatever is equal in the strict one is equal as well.
//!
//! A request takes one look at each of its steps for every beginning of a pattern that fits so far, and stops where none
//! does: neither a long path nor rules for other paths cost it anything.

mod tree;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::descriptor::{Descriptor, DescriptorPattern, ValuePattern};
use crate::matcher::{HostPattern, Matcher, Pattern, Segment, bare_host};
use crate::request::Seen;
use crate::rule::Rule;
use tree::{End, Leaf, Node, Step, Tree};

/// The numbers of rules that may apply, in order.
pub(crate) type Candidates = SmallVec<[usize; 16]>;

/// A match of several hosts and several paths stands once for each pair of them, up to so many times what it names.
/// Beyond, it stands under its paths alone, so that the index stays as long as the file.
const PAIRS: usize = 4;

/// Finds the rules that may apply to a request, or to a descriptor.
#[derive(Debug)]
pub(crate) struct Index {
    tree: Tree,
    requests: Node,
    descriptors: Node,
    /// Rules for whatever there is.
    always: Vec<usize>,
}

impl Index {
    /// Makes the index of rules.
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let mut tree = Tree::default();
        let (requests, descriptors) = (tree.root(), tree.root());
        let mut index = Self { tree, requests, descriptors, always: Vec::new() };
        for (number, rule) in rules.iter().enumerate() {
            if rule.matches.is_empty() {
                index.always.push(number);
            }
            for matcher in &rule.matches {
                index.add(number, matcher);
            }
        }
        index.tree.finish();
        index
    }

    fn add(&mut self, number: usize, matcher: &Matcher) {
        if let Some(descriptor) = &matcher.descriptor {
            let end = self.descriptor(descriptor);
            self.tree.add(end, number);
            return;
        }
        let paths: Vec<End> = matcher.paths.iter().map(|pattern| self.path(pattern)).collect();
        let paths = if paths.is_empty() { vec![End::below(self.requests)] } else { paths };
        let (written, pairs) = (
            paths.len().saturating_add(matcher.hosts.len()),
            paths.len().saturating_mul(matcher.hosts.len()),
        );
        for end in paths {
            if matcher.hosts.is_empty() || pairs > written.saturating_mul(PAIRS) {
                self.tree.add(end, number);
                continue;
            }
            let hosts = self.tree.hosts(end);
            for host in &matcher.hosts {
                let end = self.host(hosts, host);
                self.tree.add(end, number);
            }
        }
    }

    fn path(&mut self, pattern: &Pattern) -> End {
        let steps = pattern.segments.iter().map(|segment| match segment {
            Segment::Literal { loose, .. } => Step::Text(loose),
            Segment::Param(_) => Step::Any,
        });
        let node = self.tree.grow(self.requests, steps);
        if pattern.open { End::below(node) } else { End::at(node) }
    }

    fn host(&mut self, hosts: Node, pattern: &HostPattern) -> End {
        let (HostPattern::Exact(name) | HostPattern::Below(name)) = pattern;
        let name = name.to_ascii_lowercase();
        let labels = name.rsplit('.').map(Step::Text);
        match pattern {
            HostPattern::Exact(_) => End::at(self.tree.grow(hosts, labels)),
            // Such a name begins with a dot, before which there has to be something.
            HostPattern::Below(_) => {
                let count = name.split('.').count().saturating_sub(1);
                End::below(self.tree.grow(hosts, labels.take(count).chain([Step::Any])))
            }
        }
    }

    fn descriptor(&mut self, pattern: &DescriptorPattern) -> End {
        let domain = self.tree.grow(self.descriptors, [Step::Text(&pattern.domain)]);
        let Some(entries) = &pattern.entries else { return End::below(domain) };
        let steps = entries.iter().flat_map(|entry| [Step::Text(&entry.key), value_step(&entry.value)]);
        End::at(self.tree.grow(domain, steps))
    }

    /// Returns the numbers of all rules that apply to what is seen, and of few that do not, in order and each once.
    pub(crate) fn candidates(&self, seen: &Seen<'_>) -> Candidates {
        let mut found = Candidates::from_slice(&self.always);
        match seen.descriptor() {
            Some(descriptor) => self.of_descriptor(descriptor, &mut found),
            None => self.of_request(seen, &mut found),
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn of_request(&self, seen: &Seen<'_>, found: &mut Candidates) {
        let path = seen.normal().reading(true);
        let segments = (0..path.len()).map(|index| path.segment(index));
        let mut host: Option<Cow<'_, str>> = None;
        self.tree.walk(self.requests, segments, |leaf: &Leaf| {
            take(leaf, found);
            if let Some(hosts) = leaf.hosts() {
                let host = host.get_or_insert_with(|| lower_host(seen.request().host));
                self.tree.walk(hosts, host.rsplit('.'), |leaf| take(leaf, found));
            }
        });
    }

    fn of_descriptor(&self, descriptor: &Descriptor<'_>, found: &mut Candidates) {
        let entries = descriptor.entries.iter().flat_map(|(key, value)| [*key, *value]);
        let steps = std::iter::once(descriptor.domain).chain(entries);
        self.tree.walk(self.descriptors, steps, |leaf| take(leaf, found));
    }
}

/// Returns what is known of a value before it is compared: all of it, or what stands before the first star.
fn value_step(value: &ValuePattern) -> Step<'_> {
    match value {
        ValuePattern::Any => Step::Any,
        ValuePattern::Exact(text) => Step::Text(text),
        ValuePattern::Wild(pattern) => match pattern.split('*').next() {
            None | Some("") => Step::Any,
            Some(beginning) => Step::Beginning(beginning),
        },
    }
}

/// Takes the rules at a leaf, of which most have none and few have many.
fn take(leaf: &Leaf, found: &mut Candidates) {
    leaf.rules().iter().for_each(|rule| found.push(*rule));
}

fn lower_host(host: Option<&str>) -> Cow<'_, str> {
    let host = bare_host(host.unwrap_or_default());
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        host
    }
}
