//! How much may be kept, and how limits share it.
//!
//! A quarter of the room is reserved, split evenly among the limits: no flood of another takes it. The rest is lent:
//! a limit may go on taking while it holds less than twice what is left. So one limit alone may borrow half of all
//! room, a second a third of what is left then, and something always is left. The only limit of a store has it all.
//! A limit that is named later has its reserve at once, past the whole while others hold that (by another quarter at
//! most, all such limits together); what the others hold above theirs shrinks as it is forgotten. A limit that is no
//! longer in force has no reserve: what it holds is borrowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// One kind of room: keys or bytes.
#[derive(Debug)]
struct Room {
    total: usize,
    used: AtomicUsize,
}

impl Room {
    fn new(total: usize) -> Self {
        Self { total, used: AtomicUsize::new(0) }
    }

    /// Takes `amount` for a limit that holds `held`, or nothing. The reserve is split among `limits`, zero when the
    /// limit itself has none.
    fn claim(&self, held: &AtomicUsize, amount: usize, limits: usize) -> bool {
        // Each claim counts itself before it looks, so that two at once cannot both take the last place.
        let own = held.fetch_add(amount, Ordering::Relaxed).saturating_add(amount);
        let used = self.used.fetch_add(amount, Ordering::Relaxed).saturating_add(amount);
        let fits = if limits == 1 {
            used <= self.total
        } else {
            let lent = self.total - self.total / 4;
            let reserve = (self.total / 4).checked_div(limits).unwrap_or(0);
            (own <= reserve && used <= self.total.saturating_add(self.total / 4))
                || lent.checked_sub(used).is_some_and(|left| own <= left.saturating_mul(2))
        };
        if !fits {
            self.release(held, amount);
        }
        fits
    }

    /// Takes `amount` for what a snapshot brings back, or nothing: up to the whole, and a limit's reserve past it.
    fn claim_again(&self, held: &AtomicUsize, amount: usize, limits: usize) -> bool {
        self.force(held, amount);
        let (own, used) = (held.load(Ordering::Relaxed), self.used());
        let reserve = (self.total / 4).checked_div(limits).unwrap_or(0);
        let fits =
            used <= self.total || (own <= reserve && used <= self.total.saturating_add(self.total / 4));
        if !fits {
            self.release(held, amount);
        }
        fits
    }

    /// Takes `amount` whether or not there is room.
    fn force(&self, held: &AtomicUsize, amount: usize) {
        held.fetch_add(amount, Ordering::Relaxed);
        self.used.fetch_add(amount, Ordering::Relaxed);
    }

    fn release(&self, held: &AtomicUsize, amount: usize) {
        held.fetch_sub(amount, Ordering::Relaxed);
        self.used.fetch_sub(amount, Ordering::Relaxed);
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// The room of a store.
#[derive(Debug)]
pub(super) struct Ledger {
    keys: Room,
    bytes: Room,
    /// How many limits are in force.
    limits: AtomicUsize,
}

impl Ledger {
    pub(super) fn new(max_keys: usize, max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { keys: Room::new(max_keys), bytes: Room::new(max_bytes), limits: AtomicUsize::new(0) })
    }

    /// Returns the most keys and bytes.
    pub(super) fn bounds(&self) -> (usize, usize) {
        (self.keys.total, self.bytes.total)
    }

    /// Returns the keys and the bytes that are held.
    pub(super) fn used(&self) -> (usize, usize) {
        (self.keys.used(), self.bytes.used())
    }
}

/// What one limit holds of the room, and until when its newcomers' shared state matters.
#[derive(Debug)]
pub(super) struct Account {
    ledger: Arc<Ledger>,
    keys: AtomicUsize,
    bytes: AtomicUsize,
    shared_until: AtomicU64,
    in_force: AtomicBool,
}

impl Account {
    /// Opens the account of one more limit.
    pub(super) fn open(ledger: &Arc<Ledger>) -> Arc<Self> {
        ledger.limits.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            ledger: Arc::clone(ledger),
            keys: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            shared_until: AtomicU64::new(0),
            in_force: AtomicBool::new(true),
        })
    }

    /// Gives the limit a reserve, or takes it back.
    pub(super) fn set_in_force(&self, in_force: bool) {
        match (self.in_force.swap(in_force, Ordering::Relaxed), in_force) {
            (false, true) => self.ledger.limits.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.ledger.limits.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// Returns among how many the reserve is split, zero when this limit has no part in it.
    fn sharers(&self) -> usize {
        let in_force = self.in_force.load(Ordering::Relaxed);
        if in_force { self.ledger.limits.load(Ordering::Relaxed) } else { 0 }
    }

    pub(super) fn claim_key(&self) -> bool {
        self.ledger.keys.claim(&self.keys, 1, self.sharers())
    }

    /// Claims room for a key, of so many bytes, that a snapshot brings back. Who borrowed how much when it was taken is not
    /// held against anybody, or the same room would not hold the same keys; without `bounded` there is room in any case.
    pub(super) fn claim_again(&self, bytes: usize, bounded: bool) -> bool {
        let Ledger { keys, bytes: room, .. } = &*self.ledger;
        if !bounded {
            keys.force(&self.keys, 1);
            room.force(&self.bytes, bytes);
            return true;
        }
        if !keys.claim_again(&self.keys, 1, self.sharers()) {
            return false;
        }
        let claimed = room.claim_again(&self.bytes, bytes, self.sharers());
        if !claimed {
            self.release_key();
        }
        claimed
    }

    pub(super) fn release_key(&self) {
        self.ledger.keys.release(&self.keys, 1);
    }

    pub(super) fn claim_bytes(&self, amount: usize) -> bool {
        amount == 0 || self.ledger.bytes.claim(&self.bytes, amount, self.sharers())
    }

    /// Corrects what is held from `counted` bytes to `actual`.
    pub(super) fn correct_bytes(&self, counted: usize, actual: usize) {
        match actual.checked_sub(counted) {
            Some(0) => {}
            Some(more) => self.ledger.bytes.force(&self.bytes, more),
            None => self.ledger.bytes.release(&self.bytes, counted - actual),
        }
    }

    /// Returns the instant from which the state that newcomers share cannot be told from a fresh one, zero when there
    /// is none.
    ///
    /// Read under the lock of the key in question: a charge of that key to the shared state was made under the same
    /// lock, and is therefore seen.
    #[inline]
    pub(super) fn shared_until(&self) -> u64 {
        self.shared_until.load(Ordering::Acquire)
    }

    /// Sets it; only under the last lock.
    pub(super) fn set_shared_until(&self, micros: u64) {
        self.shared_until.store(micros, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(account: &Account) -> usize {
        (0..5_000).take_while(|_| account.claim_key()).count()
    }

    #[test]
    fn the_only_limit_has_it_all_and_no_more() {
        let ledger = Ledger::new(1_000, 0);
        let account = Account::open(&ledger);
        assert_eq!(fill(&account), 1_000);
        account.release_key();
        assert_eq!(fill(&account), 1);
        assert!(!account.claim_bytes(1));
    }

    #[test]
    fn a_flood_leaves_every_other_limit_its_reserve_and_the_whole_is_never_passed() {
        let ledger = Ledger::new(1_000, 0);
        let accounts: Vec<_> = (0..5).map(|_| Account::open(&ledger)).collect();
        let taken: Vec<usize> = accounts.iter().map(|account| fill(account)).collect();
        assert_eq!(taken[0], 500, "half of all room");
        assert!(taken.iter().all(|taken| *taken >= 1_000 / 4 / 5), "{taken:?}");
        assert!(taken.iter().sum::<usize>() <= 1_000, "{taken:?}");
    }

    /// A limit that a reload brings amid a flood must be able to count, and a thousand of them must not add up.
    #[test]
    fn limits_named_while_the_room_is_full_have_a_quarter_more_together() {
        let ledger = Ledger::new(1_000, 0);
        assert_eq!(fill(&Account::open(&ledger)), 1_000);
        assert_eq!(fill(&Account::open(&ledger)), 1_000 / 4 / 2);
        for _ in 0..100 {
            fill(&Account::open(&ledger));
        }
        assert_eq!(ledger.used().0, 1_250);
    }

    /// A reserve that is kept for limits a reload dropped would be lost to the others with every reload.
    #[test]
    fn a_dropped_limit_gives_its_reserve_to_the_others_and_gets_one_again() {
        let ledger = Ledger::new(1_200, 0);
        let accounts: Vec<_> = (0..3).map(|_| Account::open(&ledger)).collect();
        let reserve_of = |limits: usize| 1_200 / 4 / limits;
        assert_eq!(fill(&accounts[0]), 600, "half of all room");
        for _ in 0..2 {
            accounts[2].set_in_force(false);
        }
        accounts[1].set_in_force(false);
        assert_eq!(fill(&accounts[0]), 600, "the only one in force has it all");
        assert_eq!((fill(&accounts[1]), fill(&accounts[2])), (0, 0), "nothing is left to lend");
        accounts[2].set_in_force(true);
        assert_eq!((fill(&accounts[1]), fill(&accounts[2])), (0, reserve_of(2)));
        accounts[1].set_in_force(true);
        assert_eq!((fill(&accounts[1]), fill(&accounts[2])), (reserve_of(3), 0));
    }

    /// A claim that looked before it counted itself would let two threads take the last place.
    #[test]
    fn claims_at_once_never_pass_the_whole_and_leave_the_books_straight() {
        const ROOM: usize = 1;
        for limits in [1, 3] {
            let ledger = Ledger::new(ROOM, 0);
            let accounts: Vec<_> = (0..limits).map(|_| Account::open(&ledger)).collect();
            let (start, held) = (std::sync::Barrier::new(4), AtomicUsize::new(0));
            let come_and_go = || {
                start.wait();
                let claimed = accounts.iter().cycle().take(1_000_000).filter(|account| account.claim_key());
                for account in claimed {
                    assert!(held.fetch_add(1, Ordering::SeqCst) < ROOM, "among {limits}");
                    held.fetch_sub(1, Ordering::SeqCst);
                    account.release_key();
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(come_and_go))));
            assert_eq!(ledger.used().0, 0);
        }
    }

    #[test]
    fn floods_in_any_order_never_pass_the_whole() {
        for limits in 2..20 {
            let ledger = Ledger::new(997, 0);
            let accounts: Vec<_> = (0..limits).map(|_| Account::open(&ledger)).collect();
            for round in 0..20_000_usize {
                let account = &accounts[round * round % 31 % limits];
                let _ = account.claim_key();
            }
            let taken: Vec<usize> = accounts.iter().map(|account| fill(account)).collect();
            assert!(ledger.used().0 <= 997, "{taken:?}");
        }
    }
}
