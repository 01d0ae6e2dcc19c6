//! A tree of texts, step by step, with the numbers of rules at its leaves.
//!
//! What leads from a node to the next is found by a digest of the text alone. Two texts with one digest would lead to one
//! place, and the rules there would be looked at for both: that costs a look and changes no answer, so that nobody gains
//! by finding such texts. Nothing of a request ever gets into the table.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::ops::Bound;

use foldhash::fast::FixedState;
use smallvec::SmallVec;

/// A place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node(usize);

/// What a step has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// This text.
    Text(&'a str),
    /// A text that begins so.
    Beginning(&'a str),
    /// Any text.
    Any,
}

/// Where steps end: at a node, or at it and anywhere below.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    node: Node,
    is_open: bool,
}

/// What stands at an end.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    rules: SmallVec<[usize; 2]>,
    /// The root of the hosts that further rules are for.
    hosts: Option<Node>,
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    /// From a node and the digest of a text to the next node.
    texts: HashMap<(Node, u64), Node, FixedState>,
    branches: Vec<Branch>,
}

/// What is known of a node.
#[derive(Debug, Default)]
struct Branch {
    at: Leaf,
    below: Leaf,
    any: Option<Node>,
    beginnings: Beginnings,
}

/// Nodes by the text that a step begins with.
#[derive(Debug, Default)]
struct Beginnings(BTreeMap<Box<str>, Beginning>);

#[derive(Debug)]
struct Beginning {
    node: Node,
    /// The next shorter text that this one begins with.
    shorter: Option<Box<str>>,
}

impl End {
    pub(super) fn at(node: Node) -> Self {
        Self { node, is_open: false }
    }

    pub(super) fn below(node: Node) -> Self {
        Self { node, is_open: true }
    }
}

impl Leaf {
    pub(super) fn rules(&self) -> &[usize] {
        &self.rules
    }

    pub(super) fn hosts(&self) -> Option<Node> {
        self.hosts
    }
}

impl Tree {
    /// Adds a node that no step leads to.
    pub(super) fn root(&mut self) -> Node {
        let node = Node(self.branches.len());
        self.branches.push(Branch::default());
        node
    }

    /// Returns where steps lead, after adding what is not there yet.
    pub(super) fn grow<'s>(&mut self, from: Node, steps: impl IntoIterator<Item = Step<'s>>) -> Node {
        steps.into_iter().fold(from, |node, step| self.next(node, step))
    }

    fn next(&mut self, from: Node, step: Step<'_>) -> Node {
        let new = Node(self.branches.len());
        let branch = self.branches.get_mut(from.0);
        let node = match (step, branch) {
            (Step::Text(text), _) => *self.texts.entry((from, digest(text))).or_insert(new),
            (Step::Any, Some(branch)) => *branch.any.get_or_insert(new),
            (Step::Beginning(text), Some(branch)) => branch.beginnings.entry(text, new),
            (_, None) => from,
        };
        if node == new {
            self.branches.push(Branch::default());
        }
        node
    }

    /// Returns how many places there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.branches.len()
    }

    /// Adds a rule at an end. Rules come in their order, each perhaps several times.
    pub(super) fn add(&mut self, end: End, rule: usize) {
        if let Some(leaf) = self.leaf(end)
            && leaf.rules.last() != Some(&rule)
        {
            leaf.rules.push(rule);
        }
    }

    /// Returns the root of the hosts at an end.
    pub(super) fn hosts(&mut self, end: End) -> Node {
        if let Some(hosts) = self.leaf(end).and_then(|leaf| leaf.hosts) {
            return hosts;
        }
        let root = self.root();
        if let Some(leaf) = self.leaf(end) {
            leaf.hosts = Some(root);
        }
        root
    }

    fn leaf(&mut self, end: End) -> Option<&mut Leaf> {
        let branch = self.branches.get_mut(end.node.0)?;
        Some(if end.is_open { &mut branch.below } else { &mut branch.at })
    }

    /// Makes what has been added ready for [`Tree::walk`].
    pub(super) fn finish(&mut self) {
        self.texts.shrink_to_fit();
        self.branches.shrink_to_fit();
        self.branches.iter_mut().for_each(|branch| branch.beginnings.link());
    }

    /// Calls back with every leaf whose steps these texts are, a node's open one first.
    pub(super) fn walk<'t, 's>(
        &'t self,
        from: Node,
        steps: impl IntoIterator<Item = &'s str>,
        mut found: impl FnMut(&'t Leaf),
    ) {
        let mut steps = steps.into_iter();
        let mut here: SmallVec<[Node; 8]> = SmallVec::from_slice(&[from]);
        let mut there = SmallVec::new();
        while !here.is_empty() {
            let step = steps.next();
            let digest = step.map(digest);
            for node in here.iter().copied() {
                let Some(branch) = self.branches.get(node.0) else { continue };
                found(&branch.below);
                let (Some(text), Some(digest)) = (step, digest) else {
                    found(&branch.at);
                    continue;
                };
                if let Some(next) = self.texts.get(&(node, digest)) {
                    there.push(*next);
                }
                if let Some(next) = branch.any {
                    there.push(next);
                }
                branch.beginnings.each(text, |node| there.push(node));
            }
            std::mem::swap(&mut here, &mut there);
            there.clear();
        }
    }
}

fn digest(text: &str) -> u64 {
    FixedState::with_seed(0).hash_one(text)
}

impl Beginnings {
    fn entry(&mut self, text: &str, new: Node) -> Node {
        self.0.entry(text.into()).or_insert(Beginning { node: new, shorter: None }).node
    }

    /// Tells every text which shorter one it begins with: in their order, a text follows all that it begins with.
    fn link(&mut self) {
        let mut outer: Vec<&Box<str>> = Vec::new();
        for (text, beginning) in &mut self.0 {
            while outer.last().is_some_and(|last| !text.starts_with(&***last)) {
                outer.pop();
            }
            beginning.shorter = outer.last().map(|last| (*last).clone());
            outer.push(text);
        }
    }

    /// Calls back for every text that a value begins with. The last text that is not above the value begins with all of
    /// them.
    fn each(&self, value: &str, mut found: impl FnMut(Node)) {
        if self.0.is_empty() {
            return;
        }
        let mut next = self.0.range::<str, _>((Bound::Unbounded, Bound::Included(value))).next_back();
        while let Some((text, beginning)) = next {
            if value.starts_with(&**text) {
                found(beginning.node);
            }
            next = beginning.shorter.as_deref().and_then(|shorter| self.0.get_key_value(shorter));
        }
    }
}
