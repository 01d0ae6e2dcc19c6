//! The states of one limit and one algorithm in one shard.

use tidegate_algorithms::{Change, Log, Quota, State, Timestamp, carry, keep_until};

use super::logs::Logs;
use super::pack;
use super::quotas::{QuotaId, Quotas};
use super::room::Account;
use super::table::Table;
use crate::check::{Algorithm, KeyDigest};
use crate::plans::Held;

#[derive(Debug)]
pub(super) struct States {
    algorithm: Algorithm,
    pub(super) table: Table,
    pub(super) quotas: Quotas,
    logs: Logs,
    /// The bytes the account counts for this.
    counted: usize,
    /// The places claimed and not yet taken.
    claimed: usize,
    /// The bytes claimed for what goes into them.
    claimed_bytes: usize,
    /// Where the clock hand of forgetting stands.
    pub(super) hand: usize,
}

impl States {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            table: Table::default(),
            quotas: Quotas::default(),
            logs: Logs::default(),
            counted: 0,
            claimed: 0,
            claimed_bytes: 0,
            hand: 0,
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the slot of a key whose state was last written under this very quota.
    #[inline]
    pub(super) fn find(&self, key: KeyDigest, quota: &Quota) -> Option<usize> {
        self.table.find(key).filter(|slot| self.is_under(*slot, quota))
    }

    /// Returns whether the state in a slot was last written under this very quota.
    #[inline]
    pub(super) fn is_under(&self, slot: usize, quota: &Quota) -> bool {
        self.quota(slot) == Some(quota)
    }

    /// Returns the slot of a key, unless its state is one to forget.
    pub(super) fn find_live(&self, key: KeyDigest, now: Timestamp) -> Option<usize> {
        self.table.find(key).filter(|slot| !self.is_forgotten(*slot, now))
    }

    /// Returns the slot of a key, whatever its state.
    pub(super) fn find_any(&self, key: KeyDigest) -> Option<usize> {
        self.table.find(key)
    }

    /// Returns the state in a slot; one that is packed is laid out in `scratch`.
    #[inline]
    pub(super) fn read<'a>(&'a self, slot: usize, scratch: &'a mut Option<State>) -> Option<&'a State> {
        let (_, word) = self.table.at(slot)?;
        if self.algorithm == Algorithm::Log {
            return self.logs.get(pack::log_of(word));
        }
        *scratch = pack::unpack(self.algorithm, word, self.quotas.get(pack::quota_of(word)));
        scratch.as_ref()
    }

    /// Returns the state in a slot carried over to a quota.
    pub(super) fn carry(&self, slot: usize, quota: &Quota, now: Timestamp) -> Option<State> {
        let mut scratch = None;
        let state = self.read(slot, &mut scratch)?;
        match self.quota(slot) {
            Some(from) => carry(from, state, quota, now),
            // Its numbers are lost: it is held against the new ones as it stands, across algorithms as if it had been
            // written under the numbers known longest.
            None if self.algorithm == Algorithm::of(quota) => Some(state.clone()),
            None => carry(self.quotas.get(QuotaId(0))?, state, quota, now),
        }
    }

    /// Returns a copy of the state in a slot and the quota it was last written under, if that is known.
    pub(super) fn held(&self, slot: usize) -> Option<Held> {
        Some((self.read(slot, &mut None)?.clone(), *self.quota(slot)?))
    }

    /// Returns the quotas that states may have been written under.
    pub(super) fn quotas(&self) -> &[Quota] {
        self.quotas.all()
    }

    /// Returns the quota that the state in a slot was last written under.
    #[inline]
    fn quota(&self, slot: usize) -> Option<&Quota> {
        let (_, word) = self.table.at(slot)?;
        self.quotas.get(pack::quota_of(word))
    }

    /// Returns whether the state in a slot cannot be told from a fresh one, now or later.
    pub(super) fn is_forgotten(&self, slot: usize, now: Timestamp) -> bool {
        let mut scratch = None;
        match (self.quota(slot), self.read(slot, &mut scratch)) {
            (Some(quota), Some(state)) => keep_until(quota, state, now) <= now,
            _ => false,
        }
    }

    /// Writes a change to the state in a slot, which was last written under this quota.
    #[inline]
    pub(super) fn write(&mut self, slot: usize, quota: &Quota, change: &Change, account: &Account) {
        let Some((_, word)) = self.table.at(slot) else { return };
        match change {
            Change::Keep => {}
            Change::Put(state) => {
                let id = self.quotas.id(quota, pack::quota_of(word));
                self.table.set(slot, pack::pack(state, id));
            }
            Change::Edit(edit) => {
                let id = self.quotas.id(quota, pack::quota_of(word));
                let log = pack::log_of(word);
                let may_grow = self.claim(self.logs.bytes_to_edit(log, edit), account);
                self.logs.edit(log, edit, may_grow);
                self.table.set(slot, pack::pack_log(log, id));
                self.correct(account);
            }
        }
    }

    /// Returns the log in a slot.
    pub(super) fn log(&self, word: u128) -> Option<&Log> {
        match self.logs.get(pack::log_of(word)) {
            Some(State::Log(log)) => Some(log),
            _ => None,
        }
    }

    /// Returns the bytes of a table of so many keys that a snapshot brings back, without what their logs hold.
    pub(super) fn bytes_for(algorithm: Algorithm, keys: usize) -> usize {
        let places = if algorithm == Algorithm::Log { keys } else { 0 };
        Table::bytes_for(Table::homes_for(keys)) + Logs::bytes_of_places(places)
    }

    /// Makes an empty table ready for so many keys, for which the account counts so many bytes already.
    pub(super) fn reserve(&mut self, keys: usize, counted: usize) {
        self.table.rebuild(Table::homes_for(keys));
        if self.algorithm == Algorithm::Log {
            self.logs.reserve(keys);
        }
        self.counted = counted;
    }

    /// Puts a key back that the account counts already. `oldest` is the quota that was known longest where it was.
    pub(super) fn put_back(
        &mut self,
        key: KeyDigest,
        (quota, oldest): (Option<&Quota>, &Quota),
        state: State,
    ) {
        let known = self.quotas.id(quota.unwrap_or(oldest), QuotaId(0));
        let id = if quota.is_some() { known } else { QuotaId::UNKNOWN };
        let word = match state {
            State::Log(mut log) => {
                log.fit();
                self.logs.add(log).map(|index| pack::pack_log(index, id))
            }
            state => Some(pack::pack(&state, id)),
        };
        if let Some(word) = word {
            self.table.insert(key, word);
        }
    }

    /// Settles the account with what is held.
    pub(super) fn balance(&mut self, account: &Account) {
        self.correct(account);
    }

    /// Claims room for one more key whose log, if it has one, begins with `seed` bytes.
    pub(super) fn claim_place(&mut self, seed: usize, account: &Account) -> bool {
        if self.quotas.is_exhausted() || !account.claim_key() {
            return false;
        }
        let claimed = self.claimed + 1;
        let homes = self.table.wants_homes(claimed);
        let table = homes.map_or(0, |homes| Table::bytes_for(homes).saturating_sub(self.table.bytes()));
        let (log, places) = match self.algorithm {
            Algorithm::Log => (Logs::bytes_of_a_new_one() + seed, self.logs.bytes_to_grow(claimed)),
            _ => (0, 0),
        };
        if !self.claim(table + places + log, account) {
            account.release_key();
            return false;
        }
        if let Some(homes) = homes {
            self.resize(homes);
        }
        if places > 0 {
            self.logs.grow(claimed);
        }
        self.claimed = claimed;
        self.claimed_bytes += log;
        true
    }

    /// Claims a place for a key that the account counts already.
    pub(super) fn adopt_place(&mut self) {
        self.claimed += 1;
        if self.algorithm == Algorithm::Log {
            self.claimed_bytes += Logs::bytes_of_a_new_one();
        }
    }

    /// Gives a place back that was claimed.
    pub(super) fn release_place(&mut self, account: &Account) {
        self.cede_claim(account);
        account.release_key();
    }

    /// Gives up a place that was claimed, for a key that the account still counts.
    pub(super) fn cede_claim(&mut self, account: &Account) {
        self.end_claim();
        self.correct(account);
    }

    /// Puts a key in the place claimed for it, with the state that `change` makes of `seed`.
    pub(super) fn insert(&mut self, entry: Entry<'_>, change: &Change, account: &Account) {
        let Entry { key, quota, seed } = entry;
        let mut state = if let Change::Put(_) = change { None } else { seed.cloned() };
        change.clone().apply(&mut state);
        let id = self.quotas.id(quota, QuotaId(0));
        let word = match state {
            Some(State::Log(log)) => self.logs.add(log).map(|index| pack::pack_log(index, id)),
            Some(state) => Some(pack::pack(&state, id)),
            None => None,
        };
        self.end_claim();
        match word {
            Some(word) => self.table.insert(key, word),
            None => account.release_key(),
        }
        self.correct(account);
    }

    /// Keeps the state of a key under another name, in place of what is there.
    pub(super) fn rename(&mut self, key: KeyDigest, name: KeyDigest, account: &Account) {
        if let Some(slot) = self.table.find(name) {
            self.remove(slot, account);
        }
        let Some(slot) = self.table.find(key) else { return };
        if let Some((_, word)) = self.table.at(slot) {
            self.table.remove(slot);
            self.table.insert(name, word);
        }
        self.correct(account);
    }

    /// Empties a slot.
    pub(super) fn remove(&mut self, slot: usize, account: &Account) {
        if self.cede(slot, account) {
            account.release_key();
        }
    }

    /// Empties a slot whose key the account still counts; tells whether it held one.
    pub(super) fn cede(&mut self, slot: usize, account: &Account) -> bool {
        let Some((_, word)) = self.table.at(slot) else { return false };
        if self.algorithm == Algorithm::Log {
            self.logs.remove(pack::log_of(word));
        }
        self.table.remove(slot);
        if self.table.len() == 0 {
            self.quotas.clear();
        }
        if let Some(homes) = self.table.wants_fewer_homes() {
            self.resize(homes);
        }
        self.correct(account);
        true
    }

    /// Ends the claim of one place. Who claimed how much is not kept: each has the same share.
    fn end_claim(&mut self) {
        self.claimed_bytes -= self.claimed_bytes.checked_div(self.claimed).unwrap_or(0);
        self.claimed = self.claimed.saturating_sub(1);
    }

    /// Settles the account with what is really held or still claimed; gives back what a claim took and nothing used.
    fn correct(&mut self, account: &Account) {
        let actual = self.table.bytes() + self.logs.bytes() + self.claimed_bytes;
        account.correct_bytes(self.counted, actual);
        self.counted = actual;
    }

    fn claim(&mut self, bytes: usize, account: &Account) -> bool {
        let claimed = account.claim_bytes(bytes);
        if claimed {
            self.counted += bytes;
        }
        claimed
    }

    /// Rebuilds the table; the hand stays where it was in the round.
    fn resize(&mut self, homes: usize) {
        let before = self.table.slots();
        self.table.rebuild(homes);
        self.hand = (self.hand * self.table.slots()).checked_div(before).unwrap_or(0);
    }
}

/// A key to insert.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) key: KeyDigest,
    pub(super) quota: &'a Quota,
    /// The state it starts from.
    pub(super) seed: Option<&'a State>,
}
