//! The rules of a policy, with the index that finds those that may apply.

use std::ops::Deref;
use std::sync::Arc;

use crate::index::{Candidates, Index};
use crate::limit::Limit;
use crate::request::Seen;
use crate::rule::Rule;

/// The rules of a policy in the order of the file, read as a slice.
///
/// They cannot be exchanged one by one: what finds them for a request is made once, when the policy is.
#[derive(Debug, Clone)]
pub struct Rules {
    list: Vec<Rule>,
    index: Arc<Index>,
    reads_body: bool,
}

impl Rules {
    /// Takes the rules of a policy.
    pub(crate) fn new(list: Vec<Rule>) -> Self {
        let index = Arc::new(Index::of(&list));
        let reads_body = list.iter().any(Rule::needs_body);
        Self { list, index, reads_body }
    }

    /// Returns the numbers of all rules that apply, and of few that do not, in order.
    pub(crate) fn candidates(&self, seen: &Seen<'_>) -> Candidates {
        self.index.candidates(seen)
    }

    /// Returns whether any rule has a limit that reads the body.
    pub(crate) fn read_body(&self) -> bool {
        self.reads_body
    }

    /// Returns the limits, for whoever changes their numbers: what a limit reads of a request has to stay.
    pub(crate) fn limits_mut(&mut self) -> impl Iterator<Item = &mut Limit> {
        self.list.iter_mut().flat_map(|rule| &mut rule.limits)
    }
}

impl Deref for Rules {
    type Target = [Rule];

    fn deref(&self) -> &[Rule] {
        &self.list
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl<'a> IntoIterator for &'a Rules {
    type Item = &'a Rule;
    type IntoIter = std::slice::Iter<'a, Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
