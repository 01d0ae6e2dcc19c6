//! The closed forms held against an exhaustive search that knows none of them.
//!
//! `search` finds, by dynamic programming over a limiter's states, the most that any schedule gets in a span of
//! grid steps: `naive` writes each limiter a second time from the contract's table, `real` asks this crate. Quotas are
//! built from their fields here, because a public one cannot have a window of a few microseconds.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "the numbers of the search are small, and a test may panic"
)]

mod naive;
mod real;
mod search;

use crate::decide;
use crate::decision::Ask;
use crate::quota::{
    Anchor, FixedWindow, LeakyBucket, Lockout, Quota, Rate, SlidingCounter, SlidingLog, TokenBucket,
};
use crate::time::{Span, Timestamp};
use real::Counts;
use search::{Found, Grid, search};

fn micros(n: usize) -> Span {
    Span::from_micros(u64::try_from(n).unwrap())
}

fn rate(p: u32, q: u64) -> Rate {
    Rate::reduced(p, q)
}

/// Compares every bound with what the search found for spans of 1 to `found.len()` steps; returns how many it compared.
///
/// A span of n steps is closed, of length n − 1, and half-open, of length n.
fn hold(quota: &Quota, found: &[Found]) -> usize {
    for (step, best) in found.iter().enumerate() {
        let closed = micros(step);
        assert_eq!(quota.most_in_closed(closed), u128::from(best.any), "{quota:?} in closed {closed}");
        let open = micros(step + 1);
        assert_eq!(quota.most_in_half_open(open), u128::from(best.any), "{quota:?} in half-open {open}");
        assert_eq!(quota.most_from_idle(closed), u128::from(best.idle), "{quota:?} from idle {closed}");
    }
    found.len() * 3 + hold_long_run(quota, found)
}

/// A period of the long run later, the most is one period's units more: the rate is reached and never exceeded.
fn hold_long_run(quota: &Quota, found: &[Found]) -> usize {
    let run = quota.long_run();
    let period = usize::try_from(run.micros).unwrap();
    let pairs = found.iter().skip(1).zip(found.iter().skip(1 + period));
    let compared = pairs.clone().count();
    for (early, late) in pairs {
        assert_eq!(late.any - early.any, u64::from(run.units), "{quota:?} in the long run");
    }
    assert!(compared > 0, "{quota:?}: the search was too short to see the long run");
    compared
}

fn hold_all<M: Grid>(cases: impl Iterator<Item = (Quota, M, usize)>, at_least: usize) -> usize {
    let (mut quotas, mut compared) = (0, 0);
    for (quota, model, steps) in cases {
        compared += hold(&quota, &search(&model, steps));
        quotas += 1;
    }
    assert!(quotas >= at_least, "only {quotas} quotas were searched");
    compared
}

/// Every limit to `limits` with every window from 2 to `windows` steps.
fn counts(limits: u32, windows: u64) -> impl Iterator<Item = (u32, u64)> {
    (0..=limits).flat_map(move |limit| (2..=windows).map(move |window| (limit, window)))
}

/// Rates below, at and above one unit a step, most with a numerator above 1.
const RATES: [(u32, u64); 24] = [
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 7),
    (1, 10),
    (2, 3),
    (2, 5),
    (2, 7),
    (2, 9),
    (3, 4),
    (3, 5),
    (3, 7),
    (3, 10),
    (4, 9),
    (5, 7),
    (5, 8),
    (7, 10),
    (5, 4),
    (3, 2),
    (7, 5),
    (7, 3),
    (2, 1),
    (11, 4),
    (9, 2),
];

/// Steps that show three windows, and the long run of a rate that spills.
fn steps(q: u64, room: u32) -> usize {
    usize::try_from(3 * q * u64::from(room).clamp(1, 3) + 3).unwrap()
}

#[test]
fn fixed_windows_admit_what_the_search_finds_and_no_more() {
    for anchor in [Anchor::Clock, Anchor::FirstHit] {
        let cases = counts(15, 21).map(|(limit, window)| {
            let quota = Quota::FixedWindow(FixedWindow { limit, window: Span::from_micros(window), anchor });
            let steps = usize::try_from(3 * window + 3).unwrap();
            (quota, naive::FixedWindow { limit, window, anchor }, steps)
        });
        let compared = hold_all(cases, 300);
        assert!(compared > 30_000, "only {compared} comparisons");
    }
}

/// Every lockout with few attempts and short windows and locks.
fn lockouts(attempts: u32, longest: u64) -> impl Iterator<Item = Lockout> {
    let spans = (2..=longest).flat_map(move |within| (2..=longest).map(move |lock| (within, lock)));
    spans.flat_map(move |(within, lock)| {
        let (within, lock) = (Span::from_micros(within), Span::from_micros(lock));
        (1..=attempts).map(move |attempts| Lockout { attempts, within, lock })
    })
}

fn naive_lockout(quota: Lockout) -> naive::Lockout {
    let (within, lock) = (quota.within.as_micros(), quota.lock.as_micros());
    naive::Lockout { attempts: quota.attempts, within, lock }
}

#[test]
fn lockouts_admit_what_the_search_finds_and_no_more() {
    let mut compared = 0;
    for lockout in lockouts(9, 10) {
        let (quota, model) = (Quota::Lockout(lockout), naive_lockout(lockout));
        // Rounds of a lock and of a window fall together again after as many steps as both, and then some.
        let (within, lock) = (lockout.within.as_micros(), lockout.lock.as_micros());
        let (settled, together) = (2 * within.max(lock) * within.max(lock), within * lock);
        let found = search(&model, usize::try_from(settled + together).unwrap());
        for (step, best) in found.iter().enumerate() {
            let span = micros(step);
            assert_eq!(quota.most_in_closed(span), u128::from(best.any), "{quota:?} in {span}");
            assert_eq!(quota.most_from_idle(span), u128::from(best.idle), "{quota:?} from idle {span}");
            compared += 2;
        }
        let run = quota.long_run();
        let brings = together * u64::from(run.units) / run.micros;
        let (early, late) =
            (found[found.len() - 1 - usize::try_from(together).unwrap()], found[found.len() - 1]);
        assert_eq!(late.any - early.any, brings, "{quota:?} in the long run");
    }
    assert!(compared > 100_000, "only {compared} comparisons");
}

#[test]
fn who_stops_short_of_the_lock_gets_what_the_search_finds_and_no_more() {
    let mut compared = 0;
    for lockout in lockouts(7, 9) {
        let found = search(&naive::Careful(naive_lockout(lockout)), 40);
        for (step, best) in found.iter().enumerate() {
            let span = micros(step);
            assert_eq!(
                lockout.most_without_locking_in_closed(span),
                u128::from(best.any),
                "{lockout:?} in {span}"
            );
            compared += 1;
        }
    }
    assert!(compared > 10_000, "only {compared} comparisons");
}

#[test]
fn sliding_logs_admit_what_the_search_finds_and_no_more() {
    // The states of a log are many: wide windows with few units, or many units in narrow windows.
    let few = (0..=2).flat_map(|limit| (2..=40).map(move |window| (limit, window)));
    let more = (3..=4).flat_map(|limit| (2..=11).map(move |window| (limit, window)));
    let many = (5..=16).flat_map(|limit| (2..=5).map(move |window| (limit, window)));
    let most = (17..=82).flat_map(|limit| (2..=3).map(move |window| (limit, window)));
    let cases = few.chain(more).chain(many).chain(most);
    let cases = cases.map(|(limit, window)| {
        let quota = Quota::SlidingLog(SlidingLog { limit, window: Span::from_micros(window) });
        (quota, naive::SlidingLog { limit, window }, usize::try_from(3 * window + 2).unwrap())
    });
    let compared = hold_all(cases, 300);
    assert!(compared > 10_000, "only {compared} comparisons");
}

#[test]
fn sliding_counters_admit_what_the_search_finds_and_no_more() {
    let cases = counts(9, 42).filter(|&(limit, window)| u64::from(limit) < window);
    let cases = cases.map(|(limit, window)| {
        let quota = Quota::SlidingCounter(SlidingCounter { limit, window: Span::from_micros(window) });
        (quota, naive::SlidingCounter { limit, window }, usize::try_from(3 * window + 3).unwrap())
    });
    let compared = hold_all(cases, 300);
    assert!(compared > 60_000, "only {compared} comparisons");
}

#[test]
fn a_sliding_counter_of_several_units_a_step_stays_below_its_bound_and_meets_it_up_to_a_window() {
    for (limit, window) in counts(12, 9).filter(|&(limit, window)| u64::from(limit) >= window) {
        let quota = Quota::SlidingCounter(SlidingCounter { limit, window: Span::from_micros(window) });
        let (model, window) = (naive::SlidingCounter { limit, window }, usize::try_from(window).unwrap());
        for (step, best) in search(&model, 4 * window).iter().enumerate() {
            let (bound, best) = (quota.most_in_closed(micros(step)), u128::from(best.any));
            assert!(best <= bound, "{quota:?} in {step}: {best} over {bound}");
            assert!(step > window + 1 || best == bound, "{quota:?} in {step}: {best} under {bound}");
        }
    }
}

#[test]
fn token_buckets_admit_what_the_search_finds_and_no_more() {
    let cases = RATES.into_iter().flat_map(|(p, q)| (1..=14).map(move |capacity| (p, q, capacity)));
    let cases = cases.map(|(p, q, capacity)| {
        let quota = Quota::TokenBucket(TokenBucket { capacity, refill: rate(p, q) });
        (quota, naive::TokenBucket { capacity, p, q }, steps(q, capacity))
    });
    let compared = hold_all(cases, 300);
    assert!(compared > 30_000, "only {compared} comparisons");
}

#[test]
fn leaky_buckets_take_in_what_the_search_finds_and_no_more() {
    let cases = RATES.into_iter().flat_map(|(p, q)| (0..=13).map(move |queue| (p, q, queue)));
    let cases = cases.map(|(p, q, queue)| {
        let quota = Quota::LeakyBucket(LeakyBucket { rate: rate(p, q), queue });
        (quota, naive::Arrivals(naive::Queue { places: queue, p, q }), steps(q, queue))
    });
    let compared = hold_all(cases, 300);
    assert!(compared > 30_000, "only {compared} comparisons");
}

#[test]
fn leaky_buckets_start_what_the_search_finds_and_no_more() {
    let (mut quotas, mut compared) = (0, 0);
    for (p, q) in RATES {
        for queue in 0..=13 {
            let quota = Quota::LeakyBucket(LeakyBucket { rate: rate(p, q), queue });
            let found = search(&naive::Starts(naive::Queue { places: queue, p, q }), steps(q, queue));
            for (step, best) in found.iter().enumerate() {
                let span = micros(step);
                assert_eq!(quota.most_started_in_closed(span), u128::from(best.any), "{quota:?} in {span}");
            }
            quotas += 1;
            compared += found.len();
        }
    }
    assert!(quotas >= 300 && compared > 15_000, "only {quotas} quotas, {compared} comparisons");
}

/// A few quotas of each algorithm, and how many steps show every state they reach.
fn few() -> impl Iterator<Item = (Quota, usize)> {
    let windows =
        counts(4, 7).filter(|&(limit, window)| u64::from(limit) < window).flat_map(|(limit, window)| {
            let span = Span::from_micros(window);
            let fixed = |anchor| Quota::FixedWindow(FixedWindow { limit, window: span, anchor });
            let log = (limit < 4).then_some(Quota::SlidingLog(SlidingLog { limit, window: span }));
            let counter = Quota::SlidingCounter(SlidingCounter { limit, window: span });
            let quotas = [fixed(Anchor::Clock), fixed(Anchor::FirstHit), counter].into_iter().chain(log);
            quotas.map(move |quota| (quota, usize::try_from(window).unwrap()))
        });
    let rates = RATES.into_iter().flat_map(|(p, q)| {
        let (rate, steps) = (rate(p, q), usize::try_from(q).unwrap());
        (0..4).flat_map(move |n| {
            let token = Quota::TokenBucket(TokenBucket { capacity: n + 1, refill: rate });
            [token, Quota::LeakyBucket(LeakyBucket { rate, queue: n })].map(|quota| (quota, steps))
        })
    });
    let locks = lockouts(4, 6).map(|lockout| {
        let steps = lockout.within.max(lockout.lock).as_micros();
        (Quota::Lockout(lockout), usize::try_from(steps).unwrap())
    });
    windows.chain(rates).chain(locks)
}

#[test]
fn decide_itself_reaches_its_bounds_and_never_exceeds_them() {
    let mut quotas = 0;
    for (quota, window) in few() {
        let began = u64::try_from(2 * window + 1).unwrap();
        let any = real::search(&quota, Counts::Admitted, began, 2 * window + 2, false);
        let idle = real::search(&quota, Counts::Admitted, began, 2 * window + 2, true);
        for (step, (any, idle)) in any.into_iter().zip(idle).enumerate() {
            let span = micros(step);
            assert_eq!(u128::from(any), quota.most_in_closed(span), "{quota:?} in {span}");
            assert_eq!(u128::from(idle), quota.most_from_idle(span), "{quota:?} from idle in {span}");
        }
        quotas += 1;
    }
    assert!(quotas > 250, "only {quotas} quotas were searched");
}

#[test]
fn decide_itself_starts_what_a_queue_may_and_never_more() {
    for (quota, window) in few().filter(|(quota, _)| matches!(quota, Quota::LeakyBucket(_))) {
        // A queue is as long as its slots: it takes so long to see its last start in every phase.
        let began = u64::try_from(4 * window + 1).unwrap();
        let found = real::search(&quota, Counts::Started, began, 2 * window + 2, false);
        for (step, found) in found.into_iter().enumerate() {
            let span = micros(step);
            assert_eq!(u128::from(found), quota.most_started_in_closed(span), "{quota:?} in {span}");
        }
    }
}

/// What it takes to have every instant of a closed span refused: all that is free, at each of them.
fn taken_to_deny(quota: &Quota, start: u64, steps: usize) -> Vec<u64> {
    let (mut state, mut taken) = (None, 0);
    let instants = (start..).take(steps).map(|at| Timestamp::from_micros(at).unwrap());
    let spent = instants.map(|now| {
        while let outcome = decide(quota, state.as_ref(), Ask::ONE, now)
            && outcome.decision.is_admitted()
        {
            outcome.change.apply(&mut state);
            taken += 1;
        }
        taken
    });
    spent.collect()
}

#[test]
fn what_it_costs_to_deny_a_key_is_what_the_cheapest_start_costs() {
    let mut compared = 0;
    for (quota, window) in few() {
        let epoch = (1 << 51) + 5;
        let phases = u64::try_from(window).unwrap();
        let paid = (epoch..epoch + phases).map(|start| taken_to_deny(&quota, start, 3 * window + 2));
        let paid = paid.reduce(|one, other| one.into_iter().zip(other).map(|(a, b)| a.min(b)).collect());
        for (step, least) in paid.unwrap().into_iter().enumerate() {
            let span = micros(step);
            assert_eq!(quota.requests_to_deny(span), Some(least), "{quota:?} in {span}");
            compared += 1;
        }
    }
    assert!(compared > 5_000, "only {compared} comparisons");
}
