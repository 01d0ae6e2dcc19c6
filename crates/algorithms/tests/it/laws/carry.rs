//! A state carried to another quota: what is in use stays in use, whatever the pair.

use proptest::prelude::*;
use tidegate_algorithms::{
    Anchor, Answer, Ask, Quota, Rate, Span, State, Timestamp, carry, decide, keep_until, peek, settle,
};

use super::cases;
use super::time::full_wait;
use crate::play::{World, histories, jumps, quotas, starts};

fn remaining(quota: &Quota, state: Option<&State>, at: Timestamp) -> u32 {
    peek(quota, state, Ask::ONE, at).remaining
}

/// The most that may remain just after: the law.
fn most(from: &Quota, state: &State, to: &Quota, now: Timestamp) -> u32 {
    let left = remaining(from, Some(state), now);
    let used = from.nominal() - left;
    let locked = matches!((from, state), (Quota::Lockout(_), State::Lock(lock)) if lock.locked_until > now.as_micros());
    match (from, to) {
        _ if used == 0 => to.nominal(),
        // Credit is cut to a smaller capacity, and not raised to a larger.
        (Quota::TokenBucket(_), Quota::TokenBucket(_)) => left.min(to.nominal()),
        (Quota::Lockout(_), Quota::Lockout(_)) if locked => 0,
        (Quota::Lockout(_), Quota::Lockout(_)) => to.nominal().saturating_sub(used),
        // Who was not locked is not locked by this.
        (_, Quota::Lockout(to)) => to.attempts() - used.min(to.attempts() - 1),
        _ => to.nominal().saturating_sub(used),
    }
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn a_change_of_quota_leaves_what_is_in_use_and_refills_nothing(
        from in quotas(), to in quotas(), start in starts(), history in histories(10), wait in jumps(), later in histories(6),
    ) {
        let mut world = World::new(from, start);
        for a_move in history {
            world.go(a_move.jump);
            world.ask(a_move.ask(&from));
        }
        world.go(wait);
        let Some(state) = world.state.clone() else { return Ok(()) };
        let now = world.now;
        let carried = carry(&from, &state, &to, now);
        let after = remaining(&to, carried.as_ref(), now);
        let most = most(&from, &state, &to, now);
        prop_assert!(after <= most, "{after} remain, at most {most} may");
        if from.algorithm() != to.algorithm() {
            prop_assert_eq!(after, most, "another algorithm is charged what is in use, and no more");
        }
        // It tells itself from a fresh state, or is none; and no longer than a full wait.
        if let Some(carried) = &carried {
            let until = keep_until(&to, carried, now);
            prop_assert!(until > now || now == Timestamp::MAX);
            let promised = matches!((from, to), (Quota::LeakyBucket(_), Quota::LeakyBucket(_)));
            prop_assert!(promised || until <= now.saturating_add(full_wait(&to, to.nominal())));
        }
        // Nothing passes that a fresh state refuses.
        let (mut held, mut fresh) = (World::new(to, start), World::new(to, start));
        (held.state, held.now) = (carried, now);
        for a_move in later {
            held.go_on(a_move.jump);
            fresh.now = held.now;
            let left = remaining(&to, held.state.as_ref(), held.now);
            prop_assert!(left <= to.nominal());
            let ask = a_move.ask(&to);
            if held.ask(ask).decision.is_admitted() && fresh.state.is_none() {
                prop_assert!(fresh.ask(ask).decision.is_admitted());
                fresh.state = None;
            }
        }
    }

    #[test]
    fn carried_to_the_same_quota_it_decides_as_before(
        quota in quotas(), start in starts(), history in histories(10), later in histories(8),
    ) {
        let mut world = World::new(quota, start);
        for a_move in history {
            world.go(a_move.jump);
            world.ask(a_move.ask(&quota));
        }
        let Some(state) = world.state.clone() else { return Ok(()) };
        // As a decision at this instant would, it re-dates a state dated after it.
        settle(&quota, Some(&state), world.now).apply(&mut world.state);
        let mut carried = world.clone();
        carried.state = carry(&quota, &state, &quota, world.now);
        for a_move in later {
            world.go_on(a_move.jump);
            carried.now = world.now;
            prop_assert_eq!(world.ask(a_move.ask(&quota)).decision, carried.ask(a_move.ask(&quota)).decision);
        }
    }
}

fn seconds(n: u64) -> Span {
    Span::from_secs(n)
}

fn bucket(capacity: u64, each: u64) -> Quota {
    Quota::token_bucket(capacity, Rate::new(1, seconds(each)).unwrap()).unwrap()
}

const NOON: u64 = 1_700_000_000_000_000;

/// Fills a fresh state of a quota and carries it to another `wait` later.
fn filled(from: Quota, units: u32, to: Quota, wait: Span) -> World {
    let mut world = World::new(from, NOON);
    assert!(world.ask(Ask::units(units)).decision.is_admitted());
    world.now = world.now.saturating_add(wait);
    world.state = carry(&from, &world.state.unwrap(), &to, world.now);
    World { state: world.state, now: world.now, ..World::new(to, NOON) }
}

/// A raised rate used to fill a bucket at the first request after the change.
#[test]
fn time_before_the_change_counts_at_the_old_rate() {
    let mut faster = filled(bucket(4, 10), 4, bucket(4, 1), seconds(15));
    // One unit in fifteen seconds, and half of the next.
    assert_eq!(faster.ask(Ask::ONE).decision.remaining, 0);
    let refused = faster.ask(Ask::ONE).decision.answer;
    assert_eq!(refused, Answer::Refuse(tidegate_algorithms::Retry::After(Span::from_millis(500))));
    let mut queue = filled(
        Quota::leaky_bucket(Rate::new(1, seconds(10)).unwrap(), 3).unwrap(),
        4,
        Quota::leaky_bucket(Rate::new(1, seconds(1)).unwrap(), 3).unwrap(),
        seconds(15),
    );
    // One has started and another half of one is done: two and a half are ahead.
    let delay = Span::from_millis(2_500);
    assert_eq!(queue.ask(Ask::ONE).decision.answer, Answer::Admit { delay });
}

#[test]
fn a_larger_bucket_is_not_filled() {
    let world = filled(bucket(10, 3_600), 8, bucket(100, 3_600), Span::ZERO);
    assert_eq!(remaining(&world.quota, world.state.as_ref(), world.now), 2);
}

#[test]
fn a_window_goes_on_the_calendar_and_back() {
    let minute = |anchor| Quota::fixed_window(5, seconds(60), anchor).unwrap();
    let month = Quota::calendar_window(9, tidegate_algorithms::Calendar::Month).unwrap();
    for anchor in [Anchor::Clock, Anchor::FirstHit] {
        let monthly = filled(minute(anchor), 4, month, Span::ZERO);
        assert_eq!(remaining(&month, monthly.state.as_ref(), monthly.now), 5);
        let back = filled(month, 4, minute(anchor), Span::ZERO);
        assert_eq!(remaining(&back.quota, back.state.as_ref(), back.now), 1);
        let freed = back.now.saturating_add(seconds(60));
        assert_eq!(remaining(&back.quota, back.state.as_ref(), freed), 5);
    }
}

#[test]
fn a_lock_stays_a_lock_and_nobody_else_is_locked() {
    let lockout = |attempts, lock| Quota::lockout(attempts, seconds(60), seconds(lock)).unwrap();
    let mut locked = filled(lockout(5, 1_800), 5, lockout(9, 60), seconds(10));
    let refused = locked.ask(Ask::ONE).decision.retry().unwrap();
    assert_eq!(refused, tidegate_algorithms::Retry::After(seconds(60)));
    let mut spent = filled(bucket(10, 3_600), 10, lockout(5, 1_800), seconds(1));
    assert_eq!(remaining(&spent.quota, spent.state.as_ref(), spent.now), 1);
    assert!(spent.ask(Ask::ONE).decision.is_admitted());
    assert!(!spent.ask(Ask::ONE).decision.is_admitted());
    let full = filled(lockout(5, 1_800), 5, bucket(10, 3_600), seconds(1));
    assert_eq!(remaining(&full.quota, full.state.as_ref(), full.now), 5);
}

/// Without it a log cut from a day to a second would be empty at once.
#[test]
fn a_shorter_log_keeps_its_units_for_its_own_window() {
    let log = |window| Quota::sliding_log(9, window).unwrap();
    let world = filled(log(seconds(86_400)), 9, log(seconds(10)), seconds(3_600));
    assert_eq!(remaining(&world.quota, world.state.as_ref(), world.now), 0);
    let freed = world.now.saturating_add(seconds(10));
    assert_eq!(remaining(&world.quota, world.state.as_ref(), freed), 9);
}

#[test]
fn a_state_that_is_not_the_old_quotas_counts_as_none() {
    let now = Timestamp::from_micros(NOON).unwrap();
    let mut state = None;
    decide(&bucket(4, 10), None, Ask::ONE, now).change.apply(&mut state);
    let log = Quota::sliding_log(9, seconds(10)).unwrap();
    assert_eq!(carry(&log, &state.unwrap(), &bucket(4, 10), now), None);
}
