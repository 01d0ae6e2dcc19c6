//! The memory of refusals, so that a flood on one key does not reach the store.
//!
//! What a store refused it goes on refusing until the wait is over, so nobody has to ask again for as much or more. A
//! refusal is remembered for its wait, and for at most a cap that bounds how long a key stays refused here after it was
//! reset elsewhere. It is counted from when the question was sent, so it ends no later than the wait does. Nothing is ever
//! admitted by it; where it is full it forgets the oldest.
//!
//! When the cap is over and the wait is not, one request asks whether the key is still refused, and the others wait for
//! its answer ([`Inquiry`]): they are neither refused longer than the cap allows nor all sent to the store at once.

#[cfg(test)]
mod flood;
mod inquiry;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidegate_algorithms::{Answer, Decision, Retry, Span, Timestamp};
use tidegate_store::Check;

pub(crate) use inquiry::{Inquiry, Outcome, Word};

use crate::observe::lock;

/// How long a refusal is remembered at most, unless said.
pub(crate) const CAP: Duration = Duration::from_millis(500);
/// And at most, whatever is said: longer a key must not stay refused that was reset elsewhere.
pub(crate) const LONGEST: Duration = Duration::from_mins(1);
const SHARDS: usize = 16;
/// The most refusals of a generation of a shard; 100,000 in all.
const GENERATION: usize = 100_000 / SHARDS / 2;

/// What a limit refused to a key under a quota: 128 bits of keyed hashes. None is zero, so that a decision without a name
/// takes no more room than one with it.
pub(crate) type Name = NonZero<u128>;

/// The refusals of the last moments.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    hashers: [RandomState; 2],
    shards: [Mutex<Shard>; SHARDS],
    hits: AtomicU64,
}

/// Some of the refusals: those that were remembered last, and those before them.
///
/// When the young are as many as may be, the old are dropped and the young grow old: whatever is dropped is older than a
/// whole generation, and a refusal costs the same however many there are.
#[derive(Debug, Default)]
struct Shard {
    young: HashMap<Name, Denied>,
    old: HashMap<Name, Denied>,
}

/// A refusal.
#[derive(Debug, Clone)]
struct Denied {
    cost: u32,
    max_delay: Span,
    decision: Decision,
    at: Timestamp,
    /// Until when it is in force.
    until: Instant,
    /// When its wait is over, and asking may well be admitted; `None` for never.
    over: Option<Instant>,
    /// When it was known here; the wait is counted from then, so that nobody is told to come too early.
    known: Instant,
    /// What tells of the one who asks whether it still holds.
    inquiry: Option<Word>,
}

/// When a store was asked and when its answer was there, and how long that may be remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) sent: Instant,
    pub(crate) known: Instant,
    pub(crate) cap: Duration,
}

/// What is remembered of a check.
#[derive(Debug)]
pub(crate) enum Found {
    /// As much was refused: the decision with its times as they are by now, and the instant by the store's clock.
    Refused(Decision, Timestamp),
    /// As much was, and somebody is asking whether it still is.
    Asking(Word),
    /// Nothing that counts any more.
    Nothing,
}

/// Whose turn it is to ask whether a refusal still holds.
#[derive(Debug)]
pub(crate) enum Turn<'d> {
    /// The caller's.
    Ours(Inquiry<'d>),
    /// That of somebody who began meanwhile.
    Anothers(Word),
    /// Nobody's: nothing is remembered that may still hold.
    Nobodys,
}

impl Denials {
    /// Returns the name of what a check asks.
    pub(crate) fn name(&self, check: &Check<'_>) -> Name {
        let whole = (check.limit, check.key, check.quota);
        let [high, low] = &self.hashers;
        let bits = (u128::from(high.hash_one(whole)) << 64) | u128::from(low.hash_one(whole));
        Name::new(bits).unwrap_or(Name::MIN)
    }

    /// Returns what is remembered of a check.
    pub(crate) fn find(&self, name: Name, check: &Check<'_>, now: Instant) -> Found {
        let Some(shard) = self.shard(name) else { return Found::Nothing };
        let shard = lock(shard);
        let Some(denied) = shard.get(name).filter(|denied| denied.covers(check)) else {
            return Found::Nothing;
        };
        if now < denied.until {
            let passed = now.saturating_duration_since(denied.known);
            let passed = Span::from_micros(u64::try_from(passed.as_micros()).unwrap_or(u64::MAX));
            return Found::Refused(later(denied.decision, passed), denied.at.saturating_add(passed));
        }
        match &denied.inquiry {
            Some(word) if denied.still_waits(now) => Found::Asking(word.clone()),
            _ => Found::Nothing,
        }
    }

    /// Makes the caller the one who asks whether a check is still refused, unless nobody has to, or somebody does.
    pub(crate) fn inquire(&self, name: Name, check: &Check<'_>, now: Instant) -> Turn<'_> {
        let Some(shard) = self.shard(name) else { return Turn::Nobodys };
        let mut shard = lock(shard);
        let denied = shard.get_mut(name).filter(|denied| denied.covers(check) && denied.still_waits(now));
        let Some(denied) = denied else { return Turn::Nobodys };
        if let Some(word) = &denied.inquiry {
            return Turn::Anothers(word.clone());
        }
        let (inquiry, word) = Inquiry::new(self, name);
        denied.inquiry = Some(word);
        Turn::Ours(inquiry)
    }

    /// Ends an inquiry: what it was about is forgotten when the store has answered and refuses it no more.
    fn end(&self, name: Name, word: &Word, answered: bool) {
        let Some(shard) = self.shard(name) else { return };
        let mut shard = lock(shard);
        let Some(denied) = shard.get_mut(name) else { return };
        if denied.inquiry.as_ref().is_none_or(|own| !own.same_channel(word)) {
            // Refused anew.
            return;
        }
        denied.inquiry = None;
        if answered {
            shard.remove(name);
        }
    }

    /// Remembers a refusal of a check that was sent and answered at these instants.
    pub(crate) fn remember(
        &self,
        (name, check): (Name, &Check<'_>),
        (decision, at): (Decision, Timestamp),
        Asked { sent, known, cap }: Asked,
    ) {
        let Answer::Refuse(retry) = decision.answer else { return };
        let wait = retry.wait().map(|wait| Duration::from_micros(wait.as_micros()));
        let until = sent + wait.map_or(cap, |wait| wait.min(cap));
        let over = wait.and_then(|wait| sent.checked_add(wait));
        let (cost, max_delay) = (check.ask.cost(), check.ask.max_delay());
        let Some(shard) = self.shard(name) else { return };
        let mut shard = lock(shard);
        if shard.get(name).is_some_and(|denied| denied.covers(check) && denied.until > until) {
            // An answer that was long on its way says less than one that overtook it.
            return;
        }
        shard.put(name, Denied { cost, max_delay, decision, at, until, over, known, inquiry: None });
    }

    /// Forgets a refusal.
    pub(crate) fn forget(&self, name: Name) {
        if let Some(shard) = self.shard(name) {
            lock(shard).remove(name);
        }
    }

    /// Forgets all of them.
    #[cfg_attr(not(feature = "policy"), allow(dead_code, reason = "a reload is a policy's"))]
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| *lock(shard) = Shard::default());
    }

    /// Counts a request that is refused by what is remembered, of however many of its limits that is.
    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many requests were refused from memory.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    fn shard(&self, name: Name) -> Option<&Mutex<Shard>> {
        let shards = u128::try_from(SHARDS).ok()?;
        self.shards.get(usize::try_from(name.get() % shards).ok()?)
    }
}

impl Shard {
    fn get(&self, name: Name) -> Option<&Denied> {
        self.young.get(&name).or_else(|| self.old.get(&name))
    }

    fn get_mut(&mut self, name: Name) -> Option<&mut Denied> {
        self.young.get_mut(&name).or_else(|| self.old.get_mut(&name))
    }

    fn put(&mut self, name: Name, denied: Denied) {
        if self.young.len() >= GENERATION && !self.young.contains_key(&name) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.old.remove(&name);
        self.young.insert(name, denied);
    }

    fn remove(&mut self, name: Name) {
        self.young.remove(&name);
        self.old.remove(&name);
    }
}

impl Denied {
    /// Returns whether a check asks for what was refused, or for more.
    fn covers(&self, check: &Check<'_>) -> bool {
        check.ask.cost() >= self.cost && check.ask.max_delay() <= self.max_delay
    }

    /// Returns whether it is no longer in force and its wait is not over, so that the store most likely refuses still.
    fn still_waits(&self, now: Instant) -> bool {
        now >= self.until && self.over.is_none_or(|over| now < over)
    }
}

/// Returns a decision as it is some time later, while nothing else happened.
fn later(decision: Decision, passed: Span) -> Decision {
    let less = |span: Span| match span {
        Span::MAX => Span::MAX,
        span => Span::from_micros(span.as_micros().saturating_sub(passed.as_micros())),
    };
    let answer = match decision.answer {
        // It is not over yet: at the least a microsecond is left.
        Answer::Refuse(Retry::After(wait)) => {
            Answer::Refuse(Retry::After(less(wait).max(Span::from_micros(1))))
        }
        answer => answer,
    };
    Decision {
        answer,
        next_unit: less(decision.next_unit),
        reset_after: less(decision.reset_after),
        ..decision
    }
}
