//! The memory of refusals, so that a flood on one key does not reach the store.
//!
//! What a store refused it goes on refusing until the wait is over, so nobody has to ask again for as much or more. A
//! refusal is remembered for its wait, and for at most a cap that bounds how long a key stays refused here after it was
//! reset elsewhere. It is counted from when the question was sent, so it ends no later than the wait does. Nothing is ever
//! admitted by it; where it is full it forgets.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidegate_algorithms::{Answer, Decision, Retry, Span, Timestamp};
use tidegate_store::Check;

use crate::observe::lock;

/// How long a refusal is remembered at most, unless said.
pub(crate) const CAP: Duration = Duration::from_millis(500);
const SHARDS: usize = 16;
/// The most refusals of a shard; 100,000 in all.
const MOST: usize = 100_000 / SHARDS;

/// What a limit refused to a key under a quota: 128 bits of keyed hashes.
pub(crate) type Name = u128;

/// The refusals of the last moments.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    hashers: [RandomState; 2],
    shards: [Mutex<HashMap<Name, Denied>>; SHARDS],
    hits: AtomicU64,
}

/// A refusal.
#[derive(Debug, Clone, Copy)]
struct Denied {
    cost: u32,
    max_delay: Span,
    decision: Decision,
    at: Timestamp,
    /// Until when it is sure.
    until: Instant,
    /// When it was known here; the wait is counted from then, so that nobody is told to come too early.
    known: Instant,
}

/// When a store was asked and when its answer was there, and how long that may be remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) sent: Instant,
    pub(crate) known: Instant,
    pub(crate) cap: Duration,
}

impl Denials {
    /// Returns the name of what a check asks.
    pub(crate) fn name(&self, check: &Check<'_>) -> Name {
        let whole = (check.limit, check.key, check.quota);
        let [high, low] = &self.hashers;
        (u128::from(high.hash_one(whole)) << 64) | u128::from(low.hash_one(whole))
    }

    /// Returns the decision on a check that was refused as much already, with its times as they are by now, and the
    /// instant by the store's clock.
    pub(crate) fn find(&self, name: Name, check: &Check<'_>, now: Instant) -> Option<(Decision, Timestamp)> {
        let denied = *lock(self.shard(name)?).get(&name)?;
        let as_much = check.ask.cost() >= denied.cost && check.ask.max_delay() <= denied.max_delay;
        if !as_much || now >= denied.until {
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        let passed = now.saturating_duration_since(denied.known);
        let passed = Span::from_micros(u64::try_from(passed.as_micros()).unwrap_or(u64::MAX));
        Some((later(denied.decision, passed), denied.at.saturating_add(passed)))
    }

    /// Remembers a refusal of a check that was sent and answered at these instants.
    pub(crate) fn remember(
        &self,
        (name, check): (Name, &Check<'_>),
        (decision, at): (Decision, Timestamp),
        Asked { sent, known, cap }: Asked,
    ) {
        let Answer::Refuse(retry) = decision.answer else { return };
        let wait = retry.wait().map_or(cap, |wait| Duration::from_micros(wait.as_micros()).min(cap));
        let until = sent + wait;
        let (cost, max_delay) = (check.ask.cost(), check.ask.max_delay());
        let Some(shard) = self.shard(name) else { return };
        let mut shard = lock(shard);
        if shard.len() >= MOST && !shard.contains_key(&name) {
            shard.retain(|_, denied| denied.until > known);
            if shard.len() >= MOST {
                return;
            }
        }
        shard.insert(name, Denied { cost, max_delay, decision, at, until, known });
    }

    /// Forgets a refusal.
    pub(crate) fn forget(&self, name: Name) {
        if let Some(shard) = self.shard(name) {
            lock(shard).remove(&name);
        }
    }

    /// Forgets all of them.
    #[cfg_attr(not(feature = "policy"), allow(dead_code, reason = "a reload is a policy's"))]
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).clear());
    }

    /// Returns how many checks were refused from memory.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    fn shard(&self, name: Name) -> Option<&Mutex<HashMap<Name, Denied>>> {
        let shards = u128::try_from(SHARDS).ok()?;
        self.shards.get(usize::try_from(name % shards).ok()?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_algorithms::{Ask, Quota, decide};
    use tidegate_store::LimitId;

    const SECOND: Duration = Duration::from_secs(1);

    fn quota() -> Quota {
        Quota::sliding_log(3, Span::from_secs(60)).unwrap()
    }

    fn check<'a>(key: &'a [u8], quota: &'a Quota, cost: u32) -> Check<'a> {
        Check { limit: LimitId::from_index(0), key, quota, ask: Ask::units(cost), shadow: false }
    }

    /// The refusal of so many units to a key that has used two.
    fn refused(quota: &Quota, cost: u32) -> (Decision, Timestamp) {
        let now = Timestamp::from_micros(1_700_000_000_000_000).unwrap();
        let mut state = None;
        decide(quota, None, Ask::units(2), now).change.apply(&mut state);
        (decide(quota, state.as_ref(), Ask::units(cost), now).decision, now)
    }

    /// Forgetting that fewer units may still pass would refuse what the store admits.
    #[test]
    fn as_much_and_more_is_refused_and_less_is_not() {
        let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
        let asked = check(b"ada", &quota, 2);
        let name = denials.name(&asked);
        denials.remember((name, &asked), refused(&quota, 2), Asked { sent: now, known: now, cap: CAP });
        let find = |cost, at| denials.find(name, &check(b"ada", &quota, cost), at);
        assert!(find(2, now).is_some() && find(3, now).is_some());
        assert!(find(1, now).is_none(), "one unit is left");
        let before = CAP.saturating_sub(Duration::from_micros(1));
        assert!(find(2, now + before).is_some());
        assert!(find(2, now + CAP).is_none(), "it ends with the cap");
        assert_eq!(denials.hits(), 3);
        let delays = Check { ask: Ask::units(2).within(Span::ZERO), ..asked };
        denials.remember((name, &delays), refused(&quota, 2), Asked { sent: now, known: now, cap: CAP });
        assert!(find(2, now).is_none(), "who bears more delay may pass");
    }

    /// A key that is refused here longer than in the store would be locked out by our own memory.
    #[test]
    fn it_ends_no_later_than_the_wait_counted_from_the_sending() {
        let (denials, quota, sent) = (Denials::default(), quota(), Instant::now());
        let asked = check(b"ada", &quota, 2);
        let name = denials.name(&asked);
        let known = sent + SECOND;
        denials.remember((name, &asked), refused(&quota, 2), Asked { sent, known, cap: SECOND * 3_600 });
        let find = |at| denials.find(name, &asked, at);
        let (decision, _) = find(known + SECOND).unwrap();
        assert_eq!(
            decision.retry(),
            Some(Retry::After(Span::from_secs(59))),
            "counted from when it was known"
        );
        assert!(find(sent + SECOND * 60).is_none());
        let before = (SECOND * 60).saturating_sub(Duration::from_micros(1));
        assert!(find(sent + before).is_some());
    }

    #[test]
    fn other_numbers_keys_and_limits_are_others() {
        let (denials, quota) = (Denials::default(), quota());
        let other = Quota::sliding_log(4, Span::from_secs(60)).unwrap();
        let one = check(b"ada", &quota, 1);
        let names = [
            one,
            check(b"ad", &quota, 1),
            check(b"ada", &other, 1),
            Check { limit: LimitId::from_index(1), ..one },
        ];
        let names: std::collections::HashSet<Name> = names.iter().map(|it| denials.name(it)).collect();
        assert_eq!(names.len(), 4);
    }

    /// A flood of keys must not make the memory grow.
    #[test]
    fn it_forgets_rather_than_grow() {
        let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
        let refused = refused(&quota, 2);
        for key in 0..150_000_u32 {
            let key = key.to_be_bytes();
            let asked = check(&key, &quota, 2);
            denials.remember(
                (denials.name(&asked), &asked),
                refused,
                Asked { sent: now, known: now, cap: CAP },
            );
        }
        let held: usize = denials.shards.iter().map(|shard| lock(shard).len()).sum();
        assert!(held <= 100_000, "{held}");
        denials.clear();
        assert!(denials.shards.iter().all(|shard| lock(shard).is_empty()));
    }
}
