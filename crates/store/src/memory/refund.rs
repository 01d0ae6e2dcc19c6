//! Giving charges back to where they were made.

use tidegate_algorithms::{Timestamp, refund};
use tidegate_shards::Indices;

use super::MemoryStore;
use super::overflow::Newcomer;
use crate::check::{Give, Refund};

impl MemoryStore {
    /// Gives each charge back to the state that was charged, as far as its algorithm can, if that was last written under
    /// the quota of the refund.
    ///
    /// A charge to a shared state is given back there. If its key has since got a state of its own, the copy that it
    /// started from keeps the charge: less is given back than could be, never more.
    pub(super) fn give_back(&self, refunds: &[Refund<'_>], at: Option<Timestamp>) {
        let homes = refunds.iter().map(|refund| self.home(refund.receipt.key()));
        let mut locks = self.shards.lock_many(&homes.clone().map(|home| home.shard).collect::<Indices>());
        let now = self.instant(at, &mut locks);
        for (Refund { receipt, quota, give }, home) in refunds.iter().zip(homes) {
            if *give == Give::All {
                let shard = locks.shard(home.shard);
                if let Some(limit) = shard.and_then(|shard| shard.limit(receipt.limit())) {
                    limit.forget(home.key);
                }
            }
            if !receipt.is_of(quota) {
                continue;
            }
            if receipt.is_shared() {
                locks.last();
            }
            let (shard, overflow) = locks.both(home.shard);
            let Some((states, account)) = shard.and_then(|shard| shard.get(receipt.limit(), quota)) else {
                continue;
            };
            if receipt.is_shared() {
                let newcomer = Newcomer { limit: receipt.limit(), quota, now };
                if let Some(overflow) = overflow
                    && let Some(state) = overflow.own_state(newcomer)
                {
                    let change = refund(quota, Some(state), receipt.receipt(), now);
                    overflow.write(newcomer, &change, account);
                }
            } else if let Some(slot) = states.find(home.key, quota) {
                let mut scratch = None;
                let change = refund(quota, states.read(slot, &mut scratch), receipt.receipt(), now);
                states.write(slot, quota, &change, account);
            }
        }
    }
}
