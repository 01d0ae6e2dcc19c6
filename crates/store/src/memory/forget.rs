//! Forgetting: what cannot be told from fresh goes, a few slots at a time.
//!
//! Every newcomer makes a clock hand look at a few keys and drop those it finds as good as fresh. So nothing ever scans a
//! table whole, at most half as many dead keys lie about as there are living ones, and a key is dropped for one reason
//! only: no later answer would differ. A flood finds no place rather than somebody's refusal.

use tidegate_algorithms::Timestamp;

use super::overflow::Newcomer;
use super::room::Account;
use super::shard::{LimitStates, Shard};
use super::states::States;

/// Keys looked at for each newcomer. One would let the dead pile up as fast as they are found; with k, one in k of all
/// keys is dead where as many are found as come.
const KEYS: usize = 3;
/// Keys looked at when there is no room.
const KEYS_WHEN_FULL: usize = 16;
/// Slots passed over for each of these keys at most: in a table that is nearly empty, finding one takes long.
const SLOTS_A_KEY: usize = 4;

/// Claims a place for a newcomer, forgetting on the way; `false` when there is none.
///
/// It looks at all tables of its limit: those of an algorithm that no plan has any more get no newcomers of their own.
pub(super) fn make_room(shard: &mut Shard, newcomer: Newcomer<'_>, seed: usize) -> bool {
    let Newcomer { limit, quota, now } = newcomer;
    let claim = |states: &mut LimitStates| {
        states.of(quota).is_some_and(|(states, account)| states.claim_place(seed, account))
    };
    let Some(own) = shard.limit(limit) else { return false };
    sweep_all(own, KEYS, now);
    if claim(own) {
        return true;
    }
    let mut forgot = sweep_all(own, KEYS_WHEN_FULL, now);
    // The room may be full of the dead of a limit to which no newcomers come.
    if let Some(other) = shard.another(limit) {
        forgot |= sweep_all(other, KEYS_WHEN_FULL, now);
    }
    forgot && shard.limit(limit).is_some_and(claim)
}

/// Looks at some keys in each table of a limit; tells whether anything was forgotten.
fn sweep_all(limit: &mut LimitStates, keys: usize, now: Timestamp) -> bool {
    let LimitStates { account, states, .. } = limit;
    let mut forgot = false;
    for states in states {
        forgot |= sweep(states, keys, account, now);
    }
    forgot
}

/// Looks at some keys; tells whether anything was forgotten.
fn sweep(states: &mut States, keys: usize, account: &Account, now: Timestamp) -> bool {
    let (mut keys, mut slots, mut forgot) = (keys, keys * SLOTS_A_KEY, false);
    while keys > 0 && slots > 0 {
        if states.hand >= states.table.slots() {
            states.hand = 0;
        }
        if states.table.at(states.hand).is_none() {
            states.hand += 1;
            slots -= 1;
        } else if states.is_forgotten(states.hand, now) {
            // The next key may have moved into this slot, so the hand stays.
            states.remove(states.hand, account);
            forgot = true;
            keys -= 1;
        } else {
            states.hand += 1;
            keys -= 1;
        }
    }
    forgot
}
