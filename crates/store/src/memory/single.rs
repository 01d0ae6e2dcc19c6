//! The short way for the most frequent question: one check of a key that is known.

use smallvec::smallvec;
use tidegate_algorithms::{Timestamp, decide, peek};

use super::MemoryStore;
use super::batch::Home;
use crate::check::{ChargeReceipt, Check, CheckOutcome, Decided};

impl MemoryStore {
    /// Answers one check of a key that has a state; `None` when it has none, and nothing was written.
    pub(super) fn answer_known(
        &self,
        check: &Check<'_>,
        home: Home,
        now: Timestamp,
        only_peek: bool,
    ) -> Option<Decided> {
        let mut shard = self.shards.lock_one(home.shard)?;
        let (states, account) = shard.get(check.limit, check.quota)?;
        let slot = states.find(home.key, check.quota, now)?;
        let mut scratch = None;
        let state = states.read(slot, &mut scratch);
        let (decision, receipt) = if only_peek {
            (peek(check.quota, state, check.ask, now), None)
        } else {
            let outcome = decide(check.quota, state, check.ask, now);
            states.write(slot, check.quota, &outcome.change, account);
            let receipt = |receipt| ChargeReceipt::new(check.limit, home.key, check.quota, receipt);
            (outcome.decision, outcome.receipt.map(receipt))
        };
        let admitted = check.shadow || decision.is_admitted();
        Some(Decided { admitted, at: now, outcomes: smallvec![CheckOutcome { decision, receipt }] })
    }
}
