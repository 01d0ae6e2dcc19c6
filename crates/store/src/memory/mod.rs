//! The memory store: everything in this process, bounded, forgotten as soon as it means nothing.
//!
//! A key is a keyed hash of 128 bits ([`digest`]). It picks one of the locks, and behind it, in the table of its
//! limit and algorithm, a slot of 32 bytes ([`table`], [`pack`]). A batch takes the locks of all its keys in one order,
//! evaluates, and writes all or nothing ([`batch`]). Newcomers make a clock hand forget what is as good as fresh
//! ([`forget`]); when there is no room all the same ([`room`]), they share one state ([`overflow`]). A key that comes with
//! another quota than before takes its state along ([`plans`]).

mod batch;
mod clock;
mod digest;
mod forget;
mod known;
mod limits;
mod logs;
mod notes;
mod overflow;
mod pack;
mod plans;
mod quotas;
mod refund;
mod room;
mod shard;
mod snapshot;
mod states;
mod table;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tidegate_algorithms::{State, Timestamp};
use tidegate_shards::Shards;

use crate::check::{Check, Decided, KeyDigest, LimitId, Outcomes, Refund};
use crate::error::StoreError;
use crate::notes::Notes;
use crate::reply::Reply;
use crate::store::Store;
use batch::{Batch, Home, Locks};
use clock::Clock;
use digest::Digester;
use known::NOTHING;
use limits::Limits;
use notes::Board;
use overflow::Overflow;
use room::Ledger;
use shard::Shard;
pub use snapshot::{Restored, Snapshot, SnapshotError};

/// How much a memory store may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryOptions {
    /// The most keys, over all limits; a million unless said. Limits named while the room is full already have theirs
    /// all the same, up to a quarter more together.
    pub max_keys: usize,
    /// The most bytes of tables and logs, with the same exception; 256 MiB unless said. A key takes about 45, one of a
    /// sliding log about 170 and, past the first four, 16 to 32 for each instant in the window at which something was
    /// admitted.
    pub max_bytes: usize,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self { max_keys: 1_000_000, max_bytes: 256 << 20 }
    }
}

/// How full a memory store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The keys that have a state of their own.
    pub keys: usize,
    /// The bytes of tables and logs.
    pub bytes: usize,
    /// The checks so far, peeks among them, that were held against a state that newcomers share for want of room.
    pub shared_checks: u64,
}

/// A store in the memory of this process.
///
/// What is kept is bounded by [`MemoryOptions`]. A quarter of the room is split evenly among the limits, so that a
/// flood of one cannot take it from another; the rest is lent to whoever needs it, most to those who hold least. A key
/// without room is never let through uncounted and never pushes another out: it shares one state with all others of
/// its limit in that situation, until there is room for a state of its own, which starts as a copy of the shared one.
/// Resetting such a key does nothing, since what it shares is also others'.
///
/// A key has a second place while a plan that it left says more than the one it is on. Without room for both it has one,
/// and what the plan it is on cannot hold is forgotten.
///
/// A sliding log that would need more memory than is left does not grow: its newest entry takes the new units in and
/// the new date on, so that they leave later than they would have, never earlier.
pub struct MemoryStore {
    clock: Clock,
    digester: Digester,
    ledger: Arc<Ledger>,
    limits: Limits,
    shards: Shards<Mutex<Shard>, Mutex<Overflow>>,
    board: Board,
}

/// The most locks; more bring nothing on machines of today.
const MOST_SHARDS: usize = 64;
/// A shard for fewer keys than this would leave much of its tables empty.
const FEWEST_KEYS_A_SHARD: usize = 4096;

impl MemoryStore {
    /// Builds an empty store with a secret of its own.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new(options: MemoryOptions) -> Result<Self, StoreError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|error| {
            StoreError::unavailable("no random bytes for the secret of keys").because(error)
        })?;
        Ok(Self::with_secret(options, secret))
    }

    /// Builds an empty store with a given secret, for tests and benchmarks that must repeat themselves. Whoever knows
    /// the secret can aim keys at each other.
    pub fn with_secret(options: MemoryOptions, secret: [u8; 16]) -> Self {
        let ledger = Ledger::new(options.max_keys, options.max_bytes);
        let count = (options.max_keys / FEWEST_KEYS_A_SHARD).clamp(1, MOST_SHARDS);
        Self {
            clock: Clock::start(),
            digester: Digester::new(&secret),
            limits: Limits::new(Arc::clone(&ledger)),
            ledger,
            shards: Shards::new(count, Shard::default, Overflow::default()),
            board: Board::default(),
        }
    }

    /// Returns how full the store is.
    pub fn usage(&self) -> Usage {
        let (keys, bytes) = self.ledger.used();
        Usage { keys, bytes, shared_checks: self.shards.lock_last().checks() }
    }

    /// Returns the instant the store's clock tells.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    #[inline]
    fn answer<'a>(&self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        if let [check] = checks {
            return self.answer_one(check, at);
        }
        if let Some(two) = checks.as_array::<2>() {
            return self.answer_some(two, at);
        }
        if let Some(three) = checks.as_array::<3>() {
            return self.answer_some(three, at);
        }
        Reply::ready(self.answer_batch(checks, at, false))
    }

    #[inline]
    fn answer_one<'a>(&self, check: &Check<'_>, at: Option<Timestamp>) -> Reply<'a, Decided> {
        let home = self.home(self.digester.digest(check.key));
        match self.decide_known(check, home, at) {
            Some(decided) => Reply::ready(Ok(decided)),
            None => Reply::ready(self.answer_batch(std::slice::from_ref(check), at, false)),
        }
    }

    #[inline(never)]
    fn answer_some<'a, const N: usize>(
        &self,
        checks: &[Check<'_>; N],
        at: Option<Timestamp>,
    ) -> Reply<'a, Decided> {
        let mut outcomes = [NOTHING.0; N];
        let Some((admitted, at)) = self.decide_all_known(checks, at, &mut outcomes) else {
            return Reply::ready(self.answer_batch(checks, at, false));
        };
        // Of an array, so that they are written where they are returned: a whole answer is too large to be moved.
        Reply::ready(Ok(Decided { admitted, at, outcomes: Outcomes::from_slice(&outcomes) }))
    }

    #[inline(never)]
    fn answer_batch(
        &self,
        checks: &[Check<'_>],
        at: Option<Timestamp>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        let homes = self.homes(checks);
        let mut locks = self.shards.lock_many(&homes.iter().map(|home| home.shard).collect());
        let now = self.instant(at, &mut locks);
        Batch::new(&self.limits, locks, now).run(checks.iter().zip(homes.iter().copied()), peek)
    }

    fn homes(&self, checks: &[Check<'_>]) -> SmallVec<[Home; 8]> {
        let mut homes: SmallVec<[Home; 8]> = SmallVec::new();
        for (index, check) in checks.iter().enumerate() {
            let before =
                index.checked_sub(1).and_then(|before| Some((checks.get(before)?, homes.get(before)?)));
            // Several limits on one key are the rule.
            let same = before.filter(|(before, _)| before.key == check.key).map(|(_, home)| *home);
            homes.push(same.unwrap_or_else(|| self.home(self.digester.digest(check.key))));
        }
        homes
    }

    /// Returns the instant of a batch: the caller's, or the clock's. To be asked once the batch holds its locks: it may meet
    /// the state that newcomers share, for which nothing but that keeps time from going back by as long as it waited.
    fn instant(&self, at: Option<Timestamp>, locks: &mut Locks<'_>) -> Timestamp {
        at.unwrap_or_else(|| {
            let now = locks.shards().fold(self.clock.now(), |now, shard| shard.instant(now));
            // The latest of them is the instant of all.
            locks.shards().fold(now, |now, shard| shard.instant(now))
        })
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the product's upper half is below the number of shards"
    )]
    fn home(&self, key: KeyDigest) -> Home {
        let shard = (u128::from(key.halves()[1]) * self.shards.count() as u128) >> 64;
        Home { shard: shard as usize, key }
    }

    fn with_limit<T>(
        &self,
        (limit, key): (LimitId, &[u8]),
        each: impl FnOnce(&mut shard::LimitStates, KeyDigest) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        self.limits.account(limit)?;
        let home = self.home(self.digester.digest(key));
        let Some(mut shard) = self.shards.lock_one(home.shard) else { return Ok(None) };
        Ok(shard.limit(limit).and_then(|limit| each(limit, home.key)))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, bytes) = self.ledger.used();
        f.debug_struct("MemoryStore").field("keys", &keys).field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn limit(&self, name: &str) -> LimitId {
        self.limits.id(name)
    }

    fn retain(&self, limits: &[LimitId]) {
        self.limits.retain(limits);
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        self.answer(checks, at)
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(self.answer_batch(checks, at, true))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        self.give_back(refunds, at);
        Reply::ready(Ok(()))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        let forget = |limit: &mut shard::LimitStates, key| -> Option<()> {
            limit.forget(key);
            None
        };
        Reply::ready(self.with_limit((limit, key), forget).map(|_| ()))
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        Reply::ready(self.with_limit((limit, key), |limit, key| limit.inspect(key)))
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(Ok(()))
    }

    fn digest(&self, _: LimitId, key: &[u8]) -> Option<KeyDigest> {
        Some(self.digester.digest(key))
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.clock.now())
    }
}
