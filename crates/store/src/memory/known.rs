//! The short way for the most frequent questions: of keys that are known, each on the plan it was on.
//!
//! Nothing can be in the way of such a batch but a refusal: no room has to be found, no state carried over, and no check
//! sees what another does. So each state is judged where it lies, without being laid out, and what follows is kept until
//! it is sure whether the batch is charged. Everything else is for [`Batch`](super::batch::Batch), which finds nothing
//! written.

#![allow(
    clippy::inline_always,
    reason = "in pieces that call each other, states and outcomes go through memory, which takes longer than all else"
)]

use parking_lot::MutexGuard;
use tidegate_algorithms::{
    Answer, Ask, Change, Decision, LogEdit, Quota, Receipt, Retry, Ruling, Span, Timestamp, decide, settle,
};

use super::MemoryStore;
use super::batch::{Home, Locks};
use super::pack::{self, Packed};
use super::room::Account;
use super::shard::Shard;
use super::states::States;
use crate::check::{ChargeReceipt, Check, CheckOutcome, Decided, KeyDigest, Outcomes};

/// What a state tells of a check, and what is due if the check counts.
type Judged = (Decision, Option<Receipt>, Due);

/// What is to be written for a check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    slot: usize,
    write: Write,
}

#[derive(Debug, Clone, Copy)]
enum Write {
    Keep,
    Word(u128),
    Edit(LogEdit),
}

/// What a check has before it is judged.
pub(super) const NOTHING: (CheckOutcome, Due) = (
    CheckOutcome {
        decision: Decision {
            answer: Answer::Refuse(Retry::Never),
            limit: 0,
            remaining: 0,
            next_unit: Span::MAX,
            reset_after: Span::MAX,
        },
        receipt: None,
    },
    Due { slot: 0, write: Write::Keep },
);

/// Shards whose locks are held: that of the one key of a batch, or those of all.
trait Behind {
    fn shard(&mut self, index: usize) -> Option<&mut Shard>;
}

impl Behind for MutexGuard<'_, Shard> {
    #[inline]
    fn shard(&mut self, _: usize) -> Option<&mut Shard> {
        Some(self)
    }
}

impl Behind for Locks<'_> {
    #[inline]
    fn shard(&mut self, index: usize) -> Option<&mut Shard> {
        self.shard(index)
    }
}

/// Runs one piece of code with the numbers of a quota, whatever its algorithm but a log's.
macro_rules! each {
    ($quota:expr, log => $with_log:expr, $compact:ident => $with_compact:expr) => {
        match *$quota {
            Quota::SlidingLog(_) => $with_log,
            Quota::FixedWindow($compact) => $with_compact,
            Quota::SlidingCounter($compact) => $with_compact,
            Quota::TokenBucket($compact) => $with_compact,
            Quota::LeakyBucket($compact) => $with_compact,
            Quota::Lockout($compact) => $with_compact,
        }
    };
}

impl MemoryStore {
    /// Decides one check of a key that has a state last written under the same quota; `None` when it has none, and
    /// nothing was written.
    #[inline(always)]
    pub(super) fn decide_known(
        &self,
        check: &Check<'_>,
        home: Home,
        at: Option<Timestamp>,
    ) -> Option<Decided> {
        // Read before the lock, so that two threads on one key wait the shorter for each other. If another was asked
        // something later meanwhile, its instant is this one's as well.
        let told = at.unwrap_or_else(|| self.clock.now());
        let mut shard = self.shards.lock_one(home.shard)?;
        let now = at.unwrap_or_else(|| shard.instant(told));
        let (states, account) = shard.get(check.limit, check.quota)?;
        let (mut outcome, mut due) = NOTHING;
        states.judge(check, home.key, now, (&mut outcome, &mut due))?;
        states.carry_out(&due, check.quota, account);
        let admitted = check.shadow || outcome.decision.is_admitted();
        Some(Decided { admitted, at: now, outcomes: Outcomes::from_slice(&[outcome]) })
    }

    /// Decides some such checks, and tells whether they are admitted and when.
    #[inline]
    pub(super) fn decide_all_known<const N: usize>(
        &self,
        checks: &[Check<'_>; N],
        at: Option<Timestamp>,
        outcomes: &mut [CheckOutcome; N],
    ) -> Option<(bool, Timestamp)> {
        let first = checks.first()?.key;
        let home = self.home(self.digester.digest(first));
        // Several limits on one key are the rule.
        if checks.iter().all(|check| check.key == first) {
            // Before the lock, as for one check.
            let told = at.unwrap_or_else(|| self.clock.now());
            let mut shard = self.shards.lock_one(home.shard)?;
            let now = at.unwrap_or_else(|| shard.instant(told));
            return Some((decide_together(&mut shard, (checks, &[home; N]), now, outcomes)?, now));
        }
        let homes = checks.each_ref().map(|check| self.home(self.digester.digest(check.key)));
        let mut locks = self.shards.lock_many(&homes.iter().map(|home| home.shard).collect());
        let now = self.instant(at, &mut locks);
        Some((decide_together(&mut locks, (checks, &homes), now, outcomes)?, now))
    }
}

/// Decides such checks under their locks, and tells whether they are admitted.
#[inline]
fn decide_together<const N: usize>(
    shards: &mut impl Behind,
    (checks, homes): (&[Check<'_>; N], &[Home; N]),
    now: Timestamp,
    outcomes: &mut [CheckOutcome; N],
) -> Option<bool> {
    if has_twins(checks, homes) {
        return None;
    }
    let seats = || checks.iter().zip(homes);
    let mut dues = [NOTHING.1; N];
    for ((check, home), seat) in seats().zip(outcomes.iter_mut().zip(&mut dues)) {
        let (states, _) = shards.shard(home.shard)?.get(check.limit, check.quota)?;
        states.judge_apart(check, home.key, now, seat)?;
    }
    let admits = |outcome: &CheckOutcome| outcome.decision.is_admitted();
    let admitted = checks.iter().zip(&*outcomes).all(|(check, outcome)| check.shadow || admits(outcome));
    for ((check, home), (outcome, due)) in seats().zip(outcomes.iter_mut().zip(&dues)) {
        let (states, account) = shards.shard(home.shard)?.get(check.limit, check.quota)?;
        if admitted || !admits(outcome) {
            states.carry_out(due, check.quota, account);
        } else {
            let redated = states.withdraw(due.slot, check.quota, now, outcome);
            states.write(due.slot, check.quota, &redated, account);
        }
    }
    Some(admitted)
}

/// Returns whether two checks are of the same limit and key.
fn has_twins(checks: &[Check<'_>], homes: &[Home]) -> bool {
    let seats = || checks.iter().zip(homes);
    let same = |one: (&Check<'_>, &Home), other: (&Check<'_>, &Home)| {
        one.0.limit == other.0.limit && one.1.key == other.1.key
    };
    seats().enumerate().any(|(index, one)| seats().take(index).any(|other| same(one, other)))
}

impl States {
    /// Judges a check and tells what is due if it counts; `None` where no state was last written under its quota.
    #[inline(always)]
    fn judge(
        &self,
        check: &Check<'_>,
        key: KeyDigest,
        now: Timestamp,
        (outcome, due): (&mut CheckOutcome, &mut Due),
    ) -> Option<()> {
        let judged = each!(check.quota,
            log => self.judge_log(check, key, now)?,
            numbers => self.judge_packed(numbers, (key, check.ask), now)?);
        let receipt = judged.1.map(|it| ChargeReceipt::new(check.limit, key, check.quota, it));
        *outcome = CheckOutcome { decision: judged.0, receipt };
        *due = judged.2;
        Some(())
    }

    /// The same, as a function of its own.
    #[inline(never)]
    fn judge_apart(
        &self,
        check: &Check<'_>,
        key: KeyDigest,
        now: Timestamp,
        seat: (&mut CheckOutcome, &mut Due),
    ) -> Option<()> {
        self.judge(check, key, now, seat)
    }

    #[inline(always)]
    fn judge_packed<Q: Packed>(
        &self,
        quota: Q,
        (key, ask): (KeyDigest, Ask),
        now: Timestamp,
    ) -> Option<Judged> {
        let (slot, word) = self.table.find_word(key)?;
        let id = pack::quota_of(word);
        if Q::of(self.quotas.get(id)?)? != quota {
            return None;
        }
        let Ruling { decision, put, receipt } = quota.rule(Some(quota.unpack(word)), ask, now);
        let write = put.map_or(Write::Keep, |state| Write::Word(Q::pack(state, id)));
        Some((decision, receipt, Due { slot, write }))
    }

    #[inline(never)]
    fn judge_log(&self, check: &Check<'_>, key: KeyDigest, now: Timestamp) -> Option<Judged> {
        let slot = self.find(key, check.quota)?;
        let mut scratch = None;
        let outcome = decide(check.quota, self.read(slot, &mut scratch), check.ask, now);
        let write = if let Change::Edit(edit) = outcome.change { Write::Edit(edit) } else { Write::Keep };
        Some((outcome.decision, outcome.receipt, Due { slot, write }))
    }

    /// Turns the outcome of a check that is not charged after all into one of its untouched state, and tells what is
    /// written all the same: a new date, if any.
    #[inline(never)]
    fn withdraw(&self, slot: usize, quota: &Quota, now: Timestamp, outcome: &mut CheckOutcome) -> Change {
        let mut scratch = None;
        let state = self.read(slot, &mut scratch);
        let untouched = decide(quota, state, Ask::units(0), now).decision;
        let answer = outcome.decision.answer;
        *outcome = CheckOutcome { decision: Decision { answer, ..untouched }, receipt: None };
        settle(quota, state, now)
    }

    #[inline]
    fn carry_out(&mut self, due: &Due, quota: &Quota, account: &Account) {
        match due.write {
            Write::Keep => {}
            Write::Word(word) => self.table.set(due.slot, word),
            Write::Edit(edit) => self.write(due.slot, quota, &Change::Edit(edit), account),
        }
    }
}

#[cfg(test)]
mod tests;
