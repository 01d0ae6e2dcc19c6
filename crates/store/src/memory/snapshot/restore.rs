//! A store built from what another one held.

use std::collections::HashMap;

use tidegate_algorithms::{Ask, Log, Quota, State, Timestamp, keep_until, peek};

use super::super::digest::LEFT;
use super::super::overflow::Newcomer;
use super::super::plans::left_name;
use super::super::states::States;
use super::super::{MemoryOptions, MemoryStore};
use super::read::{Contents, Saved, Slot, read};
use super::{Restored, SnapshotError};
use crate::check::{Algorithm, KeyDigest, LimitId};

/// What is said of a snapshot that names a key twice.
const TWICE: SnapshotError = SnapshotError::Malformed("a key of it is there twice");
/// What is said of one with a limit that it does not name.
const NAMELESS: SnapshotError = SnapshotError::Malformed("a limit of it has no name");

impl MemoryStore {
    /// Builds a store that goes on where a snapshot's left off, with its secret; at `at`, or at the clock's instant.
    ///
    /// A state that means nothing any more is left out, and nothing else: with at least the room of the snapshot's store
    /// each has its place again. With less, those with the least left have theirs first, and the others join the state that
    /// newcomers share. That then lets nobody do what any of them could not; the smaller the room, the more it costs all.
    ///
    /// # Errors
    /// When the bytes are not a whole snapshot of a format that is read; none of them was used then.
    pub fn restore(
        options: MemoryOptions,
        bytes: &[u8],
        at: Option<Timestamp>,
    ) -> Result<(Self, Restored), SnapshotError> {
        let contents = read(bytes)?;
        let store = Self::with_secret(options, contents.secret);
        let now = at.unwrap_or_else(|| store.clock.now());
        for name in &contents.names {
            store.limits.id(name);
        }
        let taken_at = contents.taken_at;
        let mut restored = Restored { taken_at, now, kept: 0, joined: 0, forgotten: 0 };
        let fits = |bound: usize, before: u64| u64::try_from(bound).is_ok_and(|bound| bound >= before);
        let bounded =
            !fits(options.max_keys, contents.max_keys) || !fits(options.max_bytes, contents.max_bytes);
        let ranked = ranked(&contents, &mut restored);
        for (limit, quota, state) in &contents.shared {
            let account = store.limits.account(*limit).map_err(|_| NAMELESS)?;
            let newcomer = Newcomer { limit: *limit, quota, now };
            store.shards.lock_last().put_back(newcomer, state.clone(), &account);
        }
        Filling { store: &store, contents: &contents, bounded, rooms: HashMap::new() }
            .fill(ranked, &mut restored)?;
        Ok((store, restored))
    }
}

/// A state that means something, and how much it leaves.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    /// The share that remains, in 2^32ths; those that are locked or used up come first.
    left: u32,
    table: usize,
    slot: usize,
}

/// Returns all states that mean something, those that leave least first.
fn ranked(contents: &Contents<'_>, restored: &mut Restored) -> Vec<Ranked> {
    let count = contents.tables.iter().map(Saved::len).sum();
    let (mut ranked, now) = (Vec::with_capacity(count), restored.now);
    for (table, saved) in contents.tables.iter().enumerate() {
        for slot in 0..saved.len() {
            let Some(Slot { quota, state, .. }) = saved.slot(slot) else { continue };
            let left = match quota {
                None => Some(0),
                Some(quota) => {
                    (keep_until(&quota, &state, now) > now).then(|| share_left(&quota, &state, now))
                }
            };
            match left {
                Some(left) => ranked.push(Ranked { left, table, slot }),
                None => restored.forgotten += 1,
            }
        }
    }
    ranked.sort_unstable_by_key(|one| one.left);
    ranked
}

fn share_left(quota: &Quota, state: &State, now: Timestamp) -> u32 {
    let remaining = u64::from(peek(quota, Some(state), Ask::units(0), now).remaining);
    let share = (remaining << 32).checked_div(u64::from(quota.nominal())).unwrap_or(0);
    u32::try_from(share).unwrap_or(u32::MAX)
}

/// A table to be filled.
type Target = (usize, LimitId, Algorithm);

/// What goes into a table: how many states, and how many bytes with what their logs hold.
#[derive(Debug, Clone, Copy, Default)]
struct Planned {
    keys: usize,
    logs: usize,
    bytes: usize,
}

struct Filling<'s, 'c> {
    store: &'s MemoryStore,
    contents: &'c Contents<'c>,
    /// Whether there is less room than there was.
    bounded: bool,
    rooms: HashMap<Target, Planned>,
}

impl<'c> Filling<'_, 'c> {
    /// Puts each state where it belongs: first all room is shared out, so that every table is built once and no larger
    /// than it must be.
    fn fill(mut self, mut ranked: Vec<Ranked>, restored: &mut Restored) -> Result<(), SnapshotError> {
        let mut left_over = Vec::new();
        for one in std::mem::take(&mut ranked) {
            if self.claim(one)? { ranked.push(one) } else { left_over.push(one) }
        }
        self.open()?;
        for one in &ranked {
            self.put_back(*one)?;
        }
        self.balance()?;
        for one in &left_over {
            let (saved, slot) = self.slot(*one)?;
            if let Some(quota) = &slot.quota {
                let account = self.store.limits.account(saved.limit).map_err(|_| NAMELESS)?;
                let newcomer = Newcomer { limit: saved.limit, quota, now: restored.now };
                self.store.shards.lock_last().join(newcomer, &slot.state, &account);
            }
        }
        (restored.kept, restored.joined) = (ranked.len(), left_over.len());
        Ok(())
    }

    /// Claims room for a state; `false` when there is none.
    fn claim(&mut self, one: Ranked) -> Result<bool, SnapshotError> {
        let saved = self.saved(one)?;
        let (target, ..) = self.place(one)?;
        let account = self.store.limits.account(saved.limit).map_err(|_| NAMELESS)?;
        let log = match saved.algorithm {
            Algorithm::Log => Log::default().heap_bytes() + saved.stamps(one.slot) * STAMP_IN_MEMORY,
            _ => 0,
        };
        // Without its numbers it could join nothing.
        let bounded = self.bounded && saved.slot(one.slot).is_some_and(|slot| slot.quota.is_some());
        let planned = self.rooms.entry(target).or_default();
        let (keys, logs) = (planned.keys + 1, planned.logs + log);
        let bytes = States::bytes_for(saved.algorithm, keys) + logs;
        if !account.claim_again(bytes.saturating_sub(planned.bytes), bounded) {
            return Ok(false);
        }
        *planned = Planned { keys, logs, bytes };
        Ok(true)
    }

    /// Builds the tables.
    fn open(&self) -> Result<(), SnapshotError> {
        for ((shard, limit, algorithm), planned) in self.rooms.iter().filter(|(_, planned)| planned.keys > 0)
        {
            let account = self.store.limits.account(*limit).map_err(|_| NAMELESS)?;
            let mut shard = self.store.shards.lock_one(*shard).ok_or(TWICE)?;
            shard.open_of(*limit, *algorithm, &account).ok_or(TWICE)?.reserve(planned.keys, planned.bytes);
        }
        Ok(())
    }

    fn put_back(&self, one: Ranked) -> Result<(), SnapshotError> {
        let ((shard, ..), name, is_left) = self.place(one)?;
        let (saved, Slot { quota, state, .. }) = self.slot(one)?;
        let oldest = saved.oldest().ok_or(TWICE)?;
        let mut shard = self.store.shards.lock_one(shard).ok_or(TWICE)?;
        let limit = shard.limit(saved.limit).ok_or(TWICE)?;
        limit.changed |= is_left;
        let states = limit.states.iter_mut().find(|states| states.algorithm() == saved.algorithm);
        states.ok_or(TWICE)?.put_back(name, (quota.as_ref(), oldest), state);
        Ok(())
    }

    /// Settles what was planned with what is held.
    fn balance(&self) -> Result<(), SnapshotError> {
        for ((shard, limit, algorithm), planned) in self.rooms.iter().filter(|(_, planned)| planned.keys > 0)
        {
            let mut shard = self.store.shards.lock_one(*shard).ok_or(TWICE)?;
            let limit = shard.limit(*limit).ok_or(TWICE)?;
            let account = &limit.account;
            let states = limit.states.iter_mut().find(|states| states.algorithm() == *algorithm);
            let states = states.filter(|states| states.table.len() == planned.keys).ok_or(TWICE)?;
            states.balance(account);
        }
        Ok(())
    }

    /// Returns the table that a state belongs to, the name it has there, and whether it is one that was left beside its
    /// key's own.
    fn place(&self, one: Ranked) -> Result<(Target, KeyDigest, bool), SnapshotError> {
        let saved = self.saved(one)?;
        let name = saved.key(one.slot).ok_or(TWICE)?;
        let is_left = name.halves()[1] & LEFT != 0;
        let key = if is_left {
            let quota = saved.slot(one.slot).and_then(|slot| slot.quota).ok_or(TWICE)?;
            left_name(name, &quota)
        } else {
            name
        };
        Ok(((self.store.home(key).shard, saved.limit, saved.algorithm), name, is_left))
    }

    fn saved(&self, one: Ranked) -> Result<&'c Saved<'c>, SnapshotError> {
        self.contents.tables.get(one.table).ok_or(TWICE)
    }

    fn slot(&self, one: Ranked) -> Result<(&'c Saved<'c>, Slot), SnapshotError> {
        let saved = self.saved(one)?;
        Ok((saved, saved.slot(one.slot).ok_or(TWICE)?))
    }
}

/// The bytes of a stamp in memory.
const STAMP_IN_MEMORY: usize = size_of::<tidegate_algorithms::Stamp>();
