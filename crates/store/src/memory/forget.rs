//! Forgetting: what cannot be told from fresh goes, a few slots at a time.
//!
//! Every newcomer moves a clock hand over a couple of slots and drops what it finds fresh. A table that grows by one
//! key is thus looked over at twice the speed it grows, nothing ever scans it whole, and a key is dropped for one
//! reason only: no later answer would differ. A flood finds no place rather than somebody's refusal.

use tidegate_algorithms::Timestamp;

use super::room::Account;
use super::states::States;

/// Slots looked at for each newcomer: two, so that the hand goes round before the table has doubled.
const STEPS: usize = 2;
/// Slots looked at when there is no room.
const STEPS_WHEN_FULL: usize = 16;

/// Claims a place for a newcomer, forgetting on the way; `false` when there is none.
pub(super) fn make_room(states: &mut States, seed: usize, account: &Account, now: Timestamp) -> bool {
    sweep(states, STEPS, account, now);
    states.claim_place(seed, account)
        || (sweep(states, STEPS_WHEN_FULL, account, now) && states.claim_place(seed, account))
}

/// Looks at some slots; tells whether anything was forgotten.
fn sweep(states: &mut States, steps: usize, account: &Account, now: Timestamp) -> bool {
    let mut forgot = false;
    for _ in 0..steps {
        if states.hand >= states.table.slots() {
            states.hand = 0;
        }
        if states.is_forgotten(states.hand, now) {
            // The next key may have moved into this slot, so the hand stays.
            states.remove(states.hand, account);
            forgot = true;
        } else {
            states.hand += 1;
        }
    }
    forgot
}
