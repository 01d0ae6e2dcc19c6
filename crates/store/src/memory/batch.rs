//! A batch under its locks: seat every check, evaluate, then charge all of them or none.
//!
//! Nothing is written before every check has been evaluated, so a refusal has nothing to undo. Only room is taken
//! beforehand, because whether a newcomer has a state of its own decides what it is held against.

use parking_lot::Mutex;
use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Change, Decision, Outcome, State, Timestamp, decide, settle};
use tidegate_shards::Held;

use super::forget::make_room;
use super::limits::Limits;
use super::overflow::{Newcomer, Overflow, prolonged};
use super::shard::{LimitStates, Shard};
use super::states::Entry;
use crate::check::{ChargeReceipt, Check, CheckOutcome, Decided, KeyDigest, Outcomes};
use crate::error::StoreError;
use crate::plans::Plans;

/// The locks a batch holds.
pub(super) type Locks<'a> = Held<'a, Mutex<Shard>, Mutex<Overflow>>;

/// Where a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) shard: usize,
    pub(super) key: KeyDigest,
}

/// A check with the state it is held against and what became of it.
struct Seat<'a> {
    check: &'a Check<'a>,
    home: Home,
    base: Base,
    outcome: Outcome,
}

/// Which state a check is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The key's own: in this slot, and last written under the quota of the check, while nothing of the batch moves any.
    Own { slot: Option<usize> },
    /// None yet, with a place to put one; it starts as a copy of the shared one when that matters still.
    New { seeded: bool, claimed: bool },
    /// The one that newcomers share.
    Shared,
}

/// A batch that holds its locks.
pub(super) struct Batch<'a, 'l> {
    limits: &'l Limits,
    locks: Locks<'l>,
    now: Timestamp,
    seats: SmallVec<[Seat<'a>; 4]>,
    /// Whether a newcomer has made slots move, or a state that is carried over may.
    moved: bool,
    /// Whether nothing is to be written.
    peek: bool,
}

impl<'a, 'l> Batch<'a, 'l> {
    pub(super) fn new(limits: &'l Limits, locks: Locks<'l>, now: Timestamp) -> Self {
        Self { limits, locks, now, seats: SmallVec::new(), moved: false, peek: false }
    }

    /// Evaluates a batch and, unless it is only a peek, writes what follows.
    ///
    /// # Errors
    /// When a limit is none of this store's; nothing was written then.
    pub(super) fn run(
        mut self,
        checks: impl Iterator<Item = (&'a Check<'a>, Home)>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        self.peek = peek;
        for (check, home) in checks {
            if let Err(error) = self.take_seat(check, home) {
                self.refuse(true);
                return Err(error);
            }
        }
        let admitted = self.seats.iter().all(|seat| seat.check.shadow || seat.outcome.decision.is_admitted());
        let outcomes = if admitted && !peek { self.charge() } else { self.refuse(peek) };
        Ok(Decided { admitted, at: self.now, outcomes })
    }

    fn take_seat(&mut self, check: &'a Check<'a>, home: Home) -> Result<(), StoreError> {
        let base = self.base(check, home)?;
        if base == Base::Shared {
            self.locks.last().count_check();
        }
        let outcome = self.evaluate(check, (home, base), self.seats.len(), check.ask);
        self.seats.push(Seat { check, home, base, outcome });
        Ok(())
    }

    /// Finds which state a check is held against; for a newcomer this takes room.
    fn base(&mut self, check: &Check<'_>, home: Home) -> Result<Base, StoreError> {
        let Some(shard) = self.locks.shard(home.shard) else { return Ok(Base::Shared) };
        match shard.get(check.limit, check.quota) {
            Some((states, _)) => {
                let slot = states.find_live(home.key, self.now);
                let slot = slot.filter(|slot| states.is_under(*slot, check.quota));
                if slot.is_some() {
                    return Ok(Base::Own { slot });
                }
            }
            None => shard.open(check.limit, check.quota, &self.limits.account(check.limit)?),
        }
        let limit = shard.limit(check.limit);
        if limit.is_some_and(|limit| limit.has_live(home.key, newcomer_of(check, self.now))) {
            // A state that is carried over takes another slot, and others may move.
            self.moved = true;
            return Ok(Base::Own { slot: None });
        }
        Ok(match self.seats.iter().find(|seat| seat.has_key(check, home)).map(|twin| twin.base) {
            Some(Base::New { seeded, .. }) => Base::New { seeded, claimed: false },
            Some(base) => base,
            None => self.newcomer(check, home),
        })
    }

    fn newcomer(&mut self, check: &Check<'_>, home: Home) -> Base {
        let newcomer = newcomer_of(check, self.now);
        let peek = self.peek;
        self.moved = true;
        let Some(limit) = self.limit(check, home) else { return Base::Shared };
        if peek && limit.find_any(home.key).is_some() {
            // Whoever passes instants may look ahead, and ask about an earlier one afterwards: what is dead there lives here.
            return Base::New { seeded: false, claimed: false };
        }
        if limit.keep_place(home.key, check.quota) {
            // Who has a place has not been charged with those who share, and keeps it.
            return Base::New { seeded: false, claimed: true };
        }
        let seeded = limit.account.shared_until() > newcomer.now.as_micros();
        if seeded {
            self.locks.last();
        }
        let (shard, overflow) = self.locks.both(home.shard);
        let Some(shard) = shard else { return Base::Shared };
        let mut scratch = None;
        let seed = match overflow.and_then(|overflow| overflow.state(newcomer, &mut scratch)) {
            Some(State::Log(log)) if seeded => log.heap_bytes(),
            _ => 0,
        };
        if make_room(shard, newcomer, seed) { Base::New { seeded, claimed: true } } else { Base::Shared }
    }

    fn limit(&mut self, check: &Check<'_>, home: Home) -> Option<&mut LimitStates> {
        self.locks.shard(home.shard)?.limit(check.limit)
    }

    /// Runs `ask` on the state a check is held against, after what earlier checks of the batch would do to it.
    fn evaluate(&mut self, check: &Check<'_>, at: (Home, Base), earlier: usize, ask: Ask) -> Outcome {
        let mut scratch = None;
        let (at, now) = (self.unless_moved(at), self.now);
        let copied = at.1 == Base::Shared || matches!(at.1, Base::New { seeded: true, .. });
        let judge = |state: Option<&State>| {
            let outcome = decide(check.quota, state, ask, now);
            let charged = state.filter(|_| copied && outcome.receipt.is_some());
            match charged.and_then(|state| prolonged(check.quota, state, now)) {
                Some(state) => decide(check.quota, Some(&state), ask, now),
                None => outcome,
            }
        };
        let mut before = self.seats.iter().take(earlier);
        if before.any(|seat| seat.shares(check, at) && !seat.leaves_nothing()) {
            return judge(self.replay(check, at, earlier).as_ref());
        }
        judge(state(&mut self.locks, newcomer_of(check, now), at, &mut scratch))
    }

    /// Returns the state a check is held against after what the first `earlier` checks of the batch would do to it.
    #[cold]
    fn replay(&mut self, check: &Check<'_>, at: (Home, Base), earlier: usize) -> Option<State> {
        let earlier = self.seats.iter().take(earlier).filter(|seat| seat.shares(check, at));
        let earlier: SmallVec<[&Seat<'_>; 4]> = earlier.skip_while(|seat| seat.leaves_nothing()).collect();
        let mut plans = Plans::default();
        for quota in earlier.iter().map(|seat| seat.check.quota).chain([check.quota]) {
            load(&mut self.locks, Newcomer { quota, ..newcomer_of(check, self.now) }, at, &mut plans);
        }
        for seat in earlier {
            plans.change(seat.check.quota, &seat.outcome.change, self.now);
        }
        plans.state(check.quota, self.now)
    }

    /// Forgets the slot when it is no longer sure.
    fn unless_moved(&self, (home, base): (Home, Base)) -> (Home, Base) {
        match base {
            Base::Own { .. } if self.moved => (home, Base::Own { slot: None }),
            base => (home, base),
        }
    }

    /// Writes what every check would: charges, and new dates of shadow checks that refuse.
    fn charge(&mut self) -> Outcomes {
        self.hand_over_places();
        // Shared states last: what starts as a copy of one was evaluated on what it was before the batch.
        for shared in [false, true] {
            for seat in self.seats.iter().filter(|seat| (seat.base == Base::Shared) == shared) {
                let Seat { check, home, base, outcome } = seat;
                let at = self.unless_moved((*home, *base));
                let charged = outcome.receipt.is_some();
                write(&mut self.locks, newcomer_of(check, self.now), at, &outcome.change, charged);
            }
        }
        self.seats.iter().map(Seat::charged).collect()
    }

    /// Tells each check's answer beside the numbers of its untouched state; unless it is a peek, states dated after
    /// now are re-dated.
    fn refuse(&mut self, peek: bool) -> Outcomes {
        let mut outcomes = Outcomes::new();
        for at in 0..self.seats.len() {
            let Some(seat) = self.seats.get(at) else { break };
            let (check, home, base) = (seat.check, seat.home, seat.base);
            let answer = seat.outcome.decision.answer;
            let untouched = self.evaluate(check, (home, base), 0, Ask::units(0)).decision;
            outcomes.push(CheckOutcome { decision: Decision { answer, ..untouched }, receipt: None });
        }
        for seat in &self.seats {
            let newcomer = newcomer_of(seat.check, self.now);
            let at = self.unless_moved((seat.home, seat.base));
            if !peek {
                let change = settlement(&mut self.locks, newcomer, at);
                write(&mut self.locks, newcomer, at, &change, false);
            } else if let Base::New { claimed: true, .. } = seat.base {
                write(&mut self.locks, newcomer, at, &Change::Keep, false);
            }
        }
        outcomes
    }

    /// Hands the place of a newcomer that only watched and was refused to a twin that is charged.
    fn hand_over_places(&mut self) {
        for at in 0..self.seats.len() {
            let Some((seat, rest)) = self.seats.get_mut(at..).and_then(<[Seat<'_>]>::split_first_mut) else {
                return;
            };
            let Base::New { seeded, claimed: true } = seat.base else { continue };
            if seat.outcome.receipt.is_some() {
                continue;
            }
            let mut twins = rest.iter_mut().filter(|twin| twin.has_key(seat.check, seat.home));
            // One that came back to a state it had left has a place.
            let Some(twin) =
                twins.find(|twin| matches!(twin.base, Base::New { .. }) && twin.outcome.receipt.is_some())
            else {
                continue;
            };
            (seat.base, twin.base) =
                (Base::New { seeded, claimed: false }, Base::New { seeded, claimed: true });
            let limit = self.locks.shard(seat.home.shard).and_then(|shard| shard.limit(seat.check.limit));
            if let Some(limit) = limit {
                limit.hand_over(seat.check.quota, twin.check.quota);
            }
        }
    }
}

fn newcomer_of<'c>(check: &Check<'c>, now: Timestamp) -> Newcomer<'c> {
    Newcomer { limit: check.limit, quota: check.quota, now }
}

/// Returns the state a check is held against, as it is before the batch.
fn state<'s>(
    locks: &'s mut Locks<'_>,
    newcomer: Newcomer<'_>,
    (home, base): (Home, Base),
    scratch: &'s mut Option<State>,
) -> Option<&'s State> {
    let (shard, overflow) = locks.both(home.shard);
    match base {
        Base::Own { slot: Some(slot) } => shard?.get(newcomer.limit, newcomer.quota)?.0.read(slot, scratch),
        Base::Own { slot: None } => {
            *scratch = shard?.limit(newcomer.limit)?.state(home.key, newcomer);
            scratch.as_ref()
        }
        Base::New { seeded: false, .. } => None,
        Base::New { .. } | Base::Shared => overflow?.state(newcomer, scratch),
    }
}

/// Adds to `plans` what is held for the quota: the key's own states or, of a newcomer or those who share, what they share.
fn load(locks: &mut Locks<'_>, newcomer: Newcomer<'_>, (home, base): (Home, Base), plans: &mut Plans) {
    if base != Base::Shared
        && let Some(limit) = locks.shard(home.shard).and_then(|shard| shard.limit(newcomer.limit))
    {
        limit.load(home.key, newcomer, plans);
    }
    let copied = matches!(base, Base::Shared | Base::New { seeded: true, .. });
    if copied && plans.current.is_none() {
        let mut scratch = None;
        let shared = state(locks, newcomer, (home, base), &mut scratch);
        plans.current = shared.map(|state| (state.clone(), *newcomer.quota));
    }
}

/// Returns the change that re-dates a state dated after now.
fn settlement(locks: &mut Locks<'_>, newcomer: Newcomer<'_>, at: (Home, Base)) -> Change {
    if let Base::New { .. } = at.1 {
        return Change::Keep;
    }
    let mut scratch = None;
    settle(newcomer.quota, state(locks, newcomer, at, &mut scratch), newcomer.now)
}

/// Writes a change where it belongs. A newcomer that is not charged gives its place back.
fn write(
    locks: &mut Locks<'_>,
    newcomer: Newcomer<'_>,
    (home, base): (Home, Base),
    change: &Change,
    charged: bool,
) {
    let (shard, overflow) = locks.both(home.shard);
    let Some(limit) = shard.and_then(|shard| shard.limit(newcomer.limit)) else { return };
    let (seeded, claimed) = match base {
        Base::Shared => {
            if let Some(overflow) = overflow {
                overflow.write(newcomer, change, &limit.account);
            }
            return;
        }
        Base::Own { slot: Some(slot) } => {
            if let Some((states, account)) = limit.of(newcomer.quota) {
                states.write(slot, newcomer.quota, change, account);
            }
            return;
        }
        Base::Own { slot: None } => (false, false),
        Base::New { seeded, claimed } => (seeded, claimed),
    };
    let written = limit.rewrite(home.key, newcomer, change);
    let Some((states, account)) = limit.of(newcomer.quota).filter(|_| claimed) else { return };
    if written || !charged {
        return states.release_place(account);
    }
    let mut scratch = None;
    let seed = overflow.filter(|_| seeded).and_then(|overflow| overflow.state(newcomer, &mut scratch));
    states.insert(Entry { key: home.key, quota: newcomer.quota, seed }, change, account);
}

impl Seat<'_> {
    /// Tells the outcome of a batch that is charged.
    fn charged(&self) -> CheckOutcome {
        let receipt = self.outcome.receipt.map(|receipt| {
            let receipt = ChargeReceipt::new(self.check.limit, self.home.key, self.check.quota, receipt);
            if self.base == Base::Shared { receipt.to_shared() } else { receipt }
        });
        CheckOutcome { decision: self.outcome.decision, receipt }
    }

    /// Returns whether this seat is of the same limit and key.
    fn has_key(&self, check: &Check<'_>, home: Home) -> bool {
        self.home.key == home.key && self.check.limit == check.limit
    }

    /// Returns whether this seat leaves nothing while no other of its key is charged.
    fn leaves_nothing(&self) -> bool {
        matches!(self.base, Base::New { .. }) && self.outcome.receipt.is_none()
    }

    /// Returns whether this seat is held against the same state.
    fn shares(&self, check: &Check<'_>, (home, base): (Home, Base)) -> bool {
        match (self.base, base) {
            (Base::Shared, Base::Shared) => {
                self.check.limit == check.limit && self.check.quota == check.quota
            }
            (Base::Shared, _) | (_, Base::Shared) => false,
            _ => self.has_key(check, home),
        }
    }
}

#[cfg(test)]
mod tests;
