//! Giving back without a receipt: receipts for units that a state holds, made from the state itself.
//!
//! Whoever says that so many units were not used has not kept what he was charged with, so the newest charges stand in
//! for his. What is made here goes through [`refund`](crate::refund) like any other receipt: it takes no more out of a
//! state than the state holds, and nothing where the charge can no longer be told apart, as when others changed the state
//! in between. Two algorithms give less than they hold:
//!
//! - A leaky bucket has promised every slot but the first to somebody who waits for it. Whose the tail is nobody can tell
//!   without a receipt; given to a newcomer, it would have two start at once. So it gives back the unit that is being
//!   served, and that only while nobody waits.
//! - A lockout that has locked gives nothing. A lock is undone by the receipt of a charge that led to it, or by an
//!   operator's reset, not by somebody's word for another attempt.

use crate::algorithm::peek;
use crate::decision::{Ask, Place, Receipt};
use crate::fixed_window::Window;
use crate::quota::{Anchor, Quota, SlidingCounter};
use crate::sliding_counter::Counter;
use crate::sliding_log::Log;
use crate::state::State;
use crate::time::{Span, Timestamp};
use crate::{leaky_bucket, lockout};

/// Returns receipts for at most so many units that a state holds at an instant, the newest first; each is good for one
/// refund under this quota, at that instant or later.
///
/// Refunded with them, a state admits at most so many units more than it did, and never more than a fresh one. What a
/// sliding counter holds of the window before frees only what it still weighs. Nothing is given of a state of another
/// algorithm.
pub fn give_back_receipts(quota: &Quota, state: &State, units: u32, now: Timestamp) -> Vec<Receipt> {
    if units == 0 {
        return Vec::new();
    }
    match (quota, state) {
        (Quota::FixedWindow(quota), State::ClockWindow(window)) if quota.anchor() != Anchor::FirstHit => {
            let (units, closes_at) = (units.min(window.count), window.ends_at);
            let is_open = closes_at > now.as_micros() && units > 0;
            let place = Place::ClockWindow { closes_at };
            is_open.then_some(Receipt { charged_at: now, units, place }).into_iter().collect()
        }
        (Quota::FixedWindow(quota), State::HitWindow(window)) if quota.anchor() == Anchor::FirstHit => {
            let place = |closes_at, opened| Place::HitWindow { closes_at, opened };
            of_hits(*window, quota.window(), units, now, place)
        }
        (Quota::SlidingLog(quota), State::Log(log)) => of_log(log, quota.window(), units, now),
        (Quota::SlidingCounter(quota), State::Counter(counter)) => of_counter(*counter, *quota, units, now),
        (Quota::TokenBucket(bucket), State::Credit(_)) => {
            let credit = peek(quota, Some(state), Ask::units(0), now).remaining;
            let units = units.min(bucket.capacity().saturating_sub(credit));
            let receipt = Receipt { charged_at: now, units, place: Place::ByInstant };
            (units > 0).then_some(receipt).into_iter().collect()
        }
        (Quota::LeakyBucket(quota), State::Backlog(level)) => {
            let receipt = Receipt { charged_at: now, units: 1, place: Place::Tail(*level) };
            leaky_bucket::only_serves(*quota, *level, now).then_some(receipt).into_iter().collect()
        }
        (Quota::Lockout(quota), State::Lock(lock)) if lock.locked_until == 0 => {
            let place = |closes_at, opened| Place::Attempt { closes_at, opened };
            of_hits(lockout::window(*lock), quota.within(), units, now, place)
        }
        _ => Vec::new(),
    }
}

/// Receipts of a window that its first hit opened: of the charges after its end was put off, then of those before. The
/// opener is the oldest, so it is given back with the last of them alone.
fn of_hits(
    window: Window,
    length: Span,
    units: u32,
    now: Timestamp,
    place: impl Fn(u64, bool) -> Place,
) -> Vec<Receipt> {
    if window.ends_at <= now.as_micros() {
        return Vec::new();
    }
    let end_set_at = window.ends_at.saturating_sub(length.as_micros());
    let all = units >= window.count;
    let early = window.early.min(window.count);
    let late = units.min(window.count.saturating_sub(early));
    let charge = |units, charged_at, opened| Receipt {
        charged_at: Timestamp::saturating_from_micros(charged_at),
        units,
        place: place(window.ends_at, opened),
    };
    let late_one = charge(late, end_set_at.saturating_add(1), all && early == 0);
    let early_one = charge(early.min(units.saturating_sub(late)), end_set_at, false);
    [late_one, early_one].into_iter().filter(|receipt| receipt.units > 0).collect()
}

fn of_log(log: &Log, window: Span, units: u32, now: Timestamp) -> Vec<Receipt> {
    let mut left = units;
    let mut receipts = Vec::new();
    for stamp in log.stamps().rev() {
        if left == 0 || stamp.at.saturating_add(window.as_micros()) <= now.as_micros() {
            break;
        }
        let units = left.min(stamp.units);
        left = left.saturating_sub(units);
        let charged_at = Timestamp::saturating_from_micros(stamp.at);
        receipts.push(Receipt { charged_at, units, place: Place::ByInstant });
    }
    receipts
}

fn of_counter(counter: Counter, quota: SlidingCounter, units: u32, now: Timestamp) -> Vec<Receipt> {
    let window = quota.window().as_micros();
    let index = |micros: u64| micros.checked_div(window).unwrap_or(0);
    let behind = index(now.as_micros()).checked_sub(index(counter.charged_at));
    let current = if behind.is_some_and(|behind| behind <= 1) { units.min(counter.current) } else { 0 };
    let weighs = behind == Some(0);
    let previous = if weighs { units.saturating_sub(current).min(counter.previous) } else { 0 };
    let charge = |units, charged_at| Receipt {
        charged_at: Timestamp::saturating_from_micros(charged_at),
        units,
        place: Place::ByInstant,
    };
    let before = counter.charged_at.checked_sub(window).map(|at| charge(previous, at));
    std::iter::once(charge(current, counter.charged_at))
        .chain(before)
        .filter(|receipt| receipt.units > 0)
        .collect()
}
