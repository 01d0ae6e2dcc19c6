//! The decisions of a verdict, in a buffer that a later verdict of the thread uses again.
//!
//! A decision is some two hundred bytes. Were they in place, every future that a verdict goes through would copy them all on
//! its way out. In a buffer of their own they stay where they are, and a check allocates nothing for them, since a buffer
//! goes from one verdict to the next.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use crate::verdict::LimitDecision;

/// Some decisions.
#[derive(Debug, Default)]
pub(crate) struct Decisions(Vec<LimitDecision>);

/// A buffer that grew larger for a request of many limits is not kept.
const MOST_KEPT: usize = 16;
/// As many buffers are kept a thread: requests that are under way at once hold one each.
const MOST_SPARE: usize = 32;

thread_local! {
    static SPARE: RefCell<Vec<Vec<LimitDecision>>> = const { RefCell::new(Vec::new()) };
}

impl Decisions {
    pub(crate) fn push(&mut self, decision: LimitDecision) {
        if self.0.capacity() == 0 {
            // A thread that is ending has no spare one.
            let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
            self.0 = spare.ok().flatten().unwrap_or_default();
        }
        self.0.push(decision);
    }
}

impl Drop for Decisions {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        if !(1..=MOST_KEPT).contains(&buffer.capacity()) {
            return;
        }
        buffer.clear();
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MOST_SPARE {
                spare.push(buffer);
            }
        });
    }
}

impl Clone for Decisions {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl FromIterator<LimitDecision> for Decisions {
    fn from_iter<I: IntoIterator<Item = LimitDecision>>(decisions: I) -> Self {
        let mut all = Self::default();
        decisions.into_iter().for_each(|decision| all.push(decision));
        all
    }
}

impl Deref for Decisions {
    type Target = [LimitDecision];

    fn deref(&self) -> &[LimitDecision] {
        &self.0
    }
}

impl DerefMut for Decisions {
    fn deref_mut(&mut self) -> &mut [LimitDecision] {
        &mut self.0
    }
}
