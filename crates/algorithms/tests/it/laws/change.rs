//! Changed numbers: what is there is held against the new ones, and never refilled.

use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Ask, Calendar, MAX_LOG_UNITS, Quota, Rate, Span, peek};

use super::cases;
use crate::play::{World, histories, quotas, rates, starts, wide};

/// The quota with another limit, capacity or queue.
fn resized(quota: &Quota, size: u32) -> Quota {
    let size = u64::from(size);
    match quota {
        Quota::FixedWindow(old) => Quota::fixed_window(size, old.window(), old.anchor()),
        Quota::SlidingLog(old) => Quota::sliding_log(size.min(u64::from(MAX_LOG_UNITS)), old.window()),
        Quota::SlidingCounter(old) => Quota::sliding_counter(size, old.window()),
        Quota::TokenBucket(old) => Quota::token_bucket(size.max(1), old.refill()),
        Quota::LeakyBucket(old) => Quota::leaky_bucket(old.rate(), size),
        Quota::Lockout(old) => Quota::lockout(size.max(1), old.within(), old.lock()),
    }
    .unwrap()
}

fn remaining(world: &World) -> u32 {
    peek(&world.quota, world.state.as_ref(), Ask::ONE, world.now).remaining
}

fn played(quota: Quota, start: u64, history: &[crate::play::Move]) -> World {
    let mut world = World::new(quota, start);
    for a_move in history {
        world.go(a_move.jump);
        world.ask(a_move.ask(&quota));
    }
    world
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_limit_lowered_and_raised_again_mints_nothing(
        quota in quotas(), start in starts(), history in histories(12), size in wide(0, 1 << 30), part in 0..=4_u32,
    ) {
        let mut world = played(quota, start, &history);
        let before = remaining(&world);
        world.quota = resized(&quota, u32::try_from(size).unwrap().min(quota.nominal()));
        if world.quota.nominal() > quota.nominal() {
            return Ok(());
        }
        let now = remaining(&world);
        prop_assert!(now <= before, "lowering admits {now}, there were {before}");
        let taken = u32::try_from(u64::from(now) * u64::from(part) / 4).unwrap();
        world.ask(Ask::units(taken));
        world.ask(Ask::units(u32::MAX));
        world.quota = quota;
        let after = remaining(&world);
        prop_assert!(after <= before - taken, "{after} of {before} after {taken}");
    }

    #[test]
    fn a_raised_limit_adds_no_more_than_it_was_raised_by(
        quota in quotas(), start in starts(), history in histories(12), by in 1..1_000_u32,
    ) {
        let mut world = played(quota, start, &history);
        let Some(raised) = quota.nominal().checked_add(by).filter(|size| *size < 1 << 30) else { return Ok(()) };
        let before = remaining(&world);
        world.quota = match quota {
            Quota::LeakyBucket(old) => Quota::leaky_bucket(old.rate(), u64::from(old.queue() + by)).unwrap(),
            _ => resized(&quota, raised),
        };
        let grown = world.quota.nominal() - quota.nominal();
        prop_assert!(remaining(&world) <= before + grown);
    }

    #[test]
    fn another_window_forgets_no_count_that_still_stands(
        limit in 1..9_u64, window in 1_000..9_000_u64, other in 1_000..20_000_u64, clock in any::<bool>(),
        start in starts(), history in histories(12),
    ) {
        let anchor = if clock { Anchor::Clock } else { Anchor::FirstHit };
        let (window, other) = (Span::from_micros(window), Span::from_micros(other));
        let mut world = played(Quota::fixed_window(limit, window, anchor).unwrap(), start, &history);
        let before = remaining(&world);
        world.quota = Quota::fixed_window(limit, other, anchor).unwrap();
        prop_assert_eq!(remaining(&world), before);
        let mut log = played(Quota::sliding_log(limit, window).unwrap(), start, &history);
        let before = remaining(&log);
        log.quota = Quota::sliding_log(limit, other).unwrap();
        prop_assert!(other < window || remaining(&log) <= before);
    }

    #[test]
    fn a_slower_rate_refills_nothing(
        capacity in 1..9_u64, rate in rates(), other in rates(), start in starts(), history in histories(12),
    ) {
        let slower = u128::from(other.units()) * u128::from(rate.micros())
            <= u128::from(rate.units()) * u128::from(other.micros());
        let (rate, other) = if slower { (rate, other) } else { (other, rate) };
        let mut world = played(Quota::token_bucket(capacity, rate).unwrap(), start, &history);
        let before = remaining(&world);
        world.quota = Quota::token_bucket(capacity, other).unwrap();
        prop_assert!(remaining(&world) <= before);
        let mut queue = played(Quota::leaky_bucket(rate, capacity).unwrap(), start, &history);
        let before = remaining(&queue);
        queue.quota = Quota::leaky_bucket(other, capacity).unwrap();
        prop_assert!(remaining(&queue) <= before);
    }
}

/// Services row B-27: gubernator mints tokens when a limit goes from 10 to 1 and back.
#[test]
fn ten_to_three_to_ten_leaves_what_three_left() {
    let second = Span::from_secs(1);
    let rate = Rate::new(1, Span::from_secs(3_600)).unwrap();
    let of = |n: u64| {
        [
            Quota::fixed_window(n, second, Anchor::Clock),
            Quota::fixed_window(n, second, Anchor::FirstHit),
            Quota::sliding_log(n, second),
            Quota::sliding_counter(n, second),
            Quota::token_bucket(n, rate),
            Quota::leaky_bucket(rate, n - 1),
            Quota::calendar_window(n, Calendar::Month),
            Quota::lockout(n, second, Span::from_secs(60)),
        ]
        .map(Result::unwrap)
    };
    for (ten, three) in of(10).into_iter().zip(of(3)) {
        let mut world = World::new(ten, 1_700_000_000_000_000);
        world.ask(Ask::units(6));
        world.quota = three;
        let refused = world.ask(Ask::ONE).decision;
        // A bucket had four left and holds three of them; the others have counted six of three.
        let bucket = matches!(ten, Quota::TokenBucket(_));
        assert_eq!((refused.is_admitted(), refused.remaining), if bucket { (true, 2) } else { (false, 0) });
        world.quota = ten;
        assert_eq!(remaining(&world), if bucket { 2 } else { 4 }, "{ten:?}");
    }
}
