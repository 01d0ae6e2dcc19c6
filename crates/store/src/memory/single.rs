//! The short way for the most frequent question: one check of a key that is known and on the plan it was on.

use tidegate_algorithms::{Decision, Receipt, Timestamp, decide, peek};

use super::MemoryStore;
use super::batch::Home;
use crate::check::Check;

impl MemoryStore {
    /// Answers one check of a key that has a state last written under the same quota; `None` when it has none, and
    /// nothing was written.
    #[inline]
    pub(super) fn answer_known(
        &self,
        check: &Check<'_>,
        home: Home,
        at: Option<Timestamp>,
        only_peek: bool,
    ) -> Option<(Decision, Option<Receipt>, Timestamp)> {
        let mut shard = self.shards.lock_one(home.shard)?;
        let now = self.instant(at);
        let (states, account) = shard.get(check.limit, check.quota)?;
        let place = states.find(home.key, check.quota)?;
        let mut scratch = None;
        let state = states.read(place, &mut scratch);
        if only_peek {
            return Some((peek(check.quota, state, check.ask, now), None, now));
        }
        let outcome = decide(check.quota, state, check.ask, now);
        states.write(place, check.quota, &outcome.change, account);
        Some((outcome.decision, outcome.receipt, now))
    }
}
