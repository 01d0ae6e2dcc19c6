//! Worlds against what their shape is known to admit.

use rand::{Rng, RngExt, SeedableRng};
use tidegate::{
    Anchor, Counts, Limit, Limiter, OnStoreFailure, OnSuccess, Prepared, Quota, Rate, Snapshot, Store,
};

use super::*;
use crate::act::Chance;
use crate::adversary::{at_victim, home};
use crate::target::Bare;

const START: u64 = 30_000_000 * 50_000_000;
const SECOND: u64 = 1_000_000;

fn at(micros: u64) -> Timestamp {
    Timestamp::saturating_from_micros(START + micros)
}

fn window(limit: u64) -> Quota {
    Quota::fixed_window(limit, Span::from_secs(30), Anchor::Clock).unwrap()
}

/// Limits that share a store among so many instances, as a policy says it.
struct Shared(Bare, u32);

impl Target for Shared {
    fn limiter(&self, store: Arc<dyn Store>) -> Result<Limiter, BuildError> {
        Ok(self.0.limiter(store)?.with_instances(self.1))
    }

    fn prepare(&self, snapshot: &Snapshot, who: &Who) -> Option<Prepared> {
        self.0.prepare(snapshot, who)
    }
}

fn world(quota: Quota, setting: Setting) -> World {
    World::new(Arc::new(Bare::of(quota)), setting).unwrap()
}

fn ask(world: &mut World, micros: u64, times: u32) -> (u32, u32) {
    let ask = |_| world.request(at(micros), &at_victim(), Outcome::Failure, Role::Adversary);
    let seen: Vec<Seen> = (0..times).map(ask).collect();
    let count = |is: fn(&Seen) -> bool| u32::try_from(seen.iter().filter(|seen| is(seen)).count()).unwrap();
    (count(|seen| seen.admitted), count(|seen| seen.degraded))
}

/// Guards against a shared store whose instances each hand out the limit.
#[test]
fn instances_over_one_store_admit_the_limit_together() {
    let mut world = world(window(5), Setting { instances: 7, ..Setting::default() });
    assert_eq!(ask(&mut world, 0, 100), (5, 0));
    assert_eq!(world.exposure().most_in_half_open(Span::from_secs(30)), Some(10));
}

#[test]
fn each_store_that_counts_apart_admits_the_limit() {
    let apart = Setting { instances: 3, regions: 2, shared: false, ..Setting::default() };
    for (setting, stores) in [(apart, 6), (Setting { shared: true, ..apart }, 2)] {
        let mut world = world(window(5), setting);
        assert_eq!(ask(&mut world, 0, 100).0, stores * 5);
        assert_eq!(world.exposure().most_in_half_open(Span::from_secs(30)), Some(u128::from(stores) * 10));
    }
}

/// Guards against regions that know each other's charges too early, too late or never.
#[test]
fn regions_know_each_others_charges_after_the_lag_and_not_before() {
    let lag = Span::from_millis(200);
    let setting = Setting { regions: 3, lag: Some(lag), ..Setting::default() };
    let log = Quota::sliding_log(3, Span::from_secs(60)).unwrap();
    let mut before = world(log, setting);
    // One in each region, and nobody knows of the others' yet.
    assert_eq!(ask(&mut before, 0, 3).0, 3);
    assert_eq!(ask(&mut before, 199_999, 9).0, 6);
    let mut after = world(log, setting);
    assert_eq!(ask(&mut after, 0, 3).0, 3);
    assert_eq!(ask(&mut after, 200_000, 9).0, 0);
}

/// Guards the memory: a flood of keys leaves no more than those that still mean something, in stores of the bench's own too.
#[test]
fn keys_that_mean_nothing_any_more_are_dropped() {
    let gap = Span::from_millis(1);
    let wrong = [StoreKind::StaleCheck { gap }, StoreKind::ReadModifyWrite { gap }, StoreKind::OwnClocks];
    let wrong = wrong.map(|store| Setting { store, skew: Span::from_secs(1), ..Setting::default() });
    let replicated = Setting { regions: 2, lag: Some(gap), ..Setting::default() };
    for setting in wrong.into_iter().chain([replicated]) {
        let mut world = world(window(5), setting);
        for subject in 0..40_000 {
            // A hundred a second, so that a thousand are of the window in which it ends.
            let now = u64::from(subject) * SECOND / 100;
            world.request(at(now), &Who::new(subject, home(subject)), Outcome::Failure, Role::Adversary);
        }
        let (keys, _) = world.usage();
        assert!((1_000..20_000).contains(&keys), "{keys}: {setting:?}");
    }
}

/// Guards against an outage that is counted, that never ends, or whose shares are wholes.
#[test]
fn a_lost_store_denies_lets_through_or_leaves_shares_and_counts_again_when_it_is_back() {
    let setting = Setting { instances: 2, ..Setting::default() };
    let cases = [
        (OnStoreFailure::Deny, (0, 1000)),
        (OnStoreFailure::Allow, (1000, 1000)),
        // Half of ten in each of the two.
        (OnStoreFailure::Local, (10, 1000)),
    ];
    for (choice, meanwhile) in cases {
        let limit = Limit::new("limit", window(10)).with_store_failure(choice);
        let target = Shared(Bare::limits([limit]), 2);
        let mut world = World::new(Arc::new(target), setting).unwrap();
        assert_eq!(ask(&mut world, 0, 4), (4, 0), "{choice:?}");
        world.happens(&Incident { at: at(1), what: What::StoreLost });
        assert_eq!(ask(&mut world, SECOND, 1000), meanwhile, "{choice:?}");
        // Windows go on in virtual time.
        let next = if choice == OnStoreFailure::Local { 10 } else { meanwhile.0 };
        assert_eq!(ask(&mut world, 31 * SECOND, 1000).0, next, "{choice:?}");
        world.happens(&Incident { at: at(32 * SECOND), what: What::StoreBack });
        assert_eq!(ask(&mut world, 33 * SECOND, 100), (10, 0), "{choice:?}");
        world.happens(&Incident { at: at(34 * SECOND), what: What::StoreLost });
        assert_eq!(ask(&mut world, 35 * SECOND, 1).1, 1, "{choice:?}");
    }
}

/// Guards against a process that loses what it holds itself.
#[test]
fn a_store_in_the_process_cannot_be_lost_without_it() {
    let mut world = world(window(5), Setting { shared: false, ..Setting::default() });
    world.happens(&Incident { at: at(0), what: What::StoreLost });
    assert_eq!(ask(&mut world, 1, 100), (5, 0));
}

#[test]
fn a_restart_forgets_what_is_in_memory_unless_there_is_a_snapshot() {
    let memory = Setting { shared: false, ..Setting::default() };
    let day = Quota::sliding_log(9, Span::from_secs(86_400)).unwrap();
    let cases = [
        (memory, 9, 18),
        (Setting { snapshot: true, ..memory }, 0, 9),
        (Setting { shared: true, ..memory }, 0, 9),
        (Setting { instances: 2, ..memory }, 18, 36),
    ];
    for (setting, again, bound) in cases {
        let mut world = world(day, setting);
        ask(&mut world, 0, 100);
        world.happens(&Incident { at: at(SECOND), what: What::Restart });
        assert_eq!(ask(&mut world, SECOND, 100).0, again, "{setting:?}");
        let bounds = world.exposure().most_in_half_open(Span::from_secs(86_400));
        assert_eq!(bounds, Some(bound), "{setting:?}");
        assert_eq!(u128::from(world.operations().admitted), bound, "{setting:?}");
    }
}

/// Guards the bound against successes: those that give back what they took are no excess, and what people's wipe is none of
/// the adversary's keys, unless he has used it.
#[test]
fn successes_raise_the_bound_by_what_they_give_back_and_by_the_keys_of_his_that_they_wipe() {
    let succeed = |on_success, who: Who, role| {
        let day = Quota::sliding_log(9, Span::from_secs(86_400)).unwrap();
        let limit = Limit::new("limit", day).with_counts(Counts::failures(on_success));
        let mut world = World::new(Arc::new(Bare::limits([limit])), Setting::default()).unwrap();
        assert_eq!(ask(&mut world, 0, 5).0, 5);
        for second in 1..=20 {
            assert!(world.request(at(second * SECOND), &who, Outcome::Success, role).admitted);
        }
        let failures = ask(&mut world, 21 * SECOND, 100).0;
        (failures, world.exposure().most_in_half_open(Span::from_secs(86_400)))
    };
    let (victim, somebody) = (at_victim(), Who::new(7, home(7)));
    assert_eq!(succeed(OnSuccess::Refund, victim, Role::Adversary), (4, Some(9 + 20)));
    assert_eq!(succeed(OnSuccess::Refund, victim, Role::Person), (4, Some(9)));
    assert_eq!(succeed(OnSuccess::Reset, victim, Role::Person), (9, Some(9 + 20 * 9)));
    assert_eq!(succeed(OnSuccess::Reset, somebody, Role::Person), (4, Some(9)));
}

/// Guards against a bound that a way of running right stores exceeds.
#[test]
fn however_right_stores_are_run_nothing_exceeds_the_bound() {
    let mut chance = Chance::seed_from_u64(7);
    let span = Span::from_secs(4);
    let rate = Rate::new(1, Span::from_secs(2)).unwrap();
    let quotas = [
        Quota::fixed_window(3, span, Anchor::Clock).unwrap(),
        Quota::fixed_window(3, span, Anchor::FirstHit).unwrap(),
        Quota::sliding_log(3, span).unwrap(),
        Quota::sliding_counter(3, span).unwrap(),
        Quota::token_bucket(3, rate).unwrap(),
        Quota::leaky_bucket(rate, 2).unwrap(),
        Quota::lockout(3, span, span).unwrap(),
    ];
    for round in 0..280 {
        let Some(quota) = quotas.get(round % quotas.len()) else { continue };
        let setting = Setting {
            instances: chance.random_range(1..3),
            regions: chance.random_range(1..4),
            shared: chance.random(),
            lag: chance.random::<bool>().then(|| Span::from_micros(chance.random_range(0..3 * SECOND))),
            skew: Span::from_micros(chance.random_range(0..SECOND)),
            snapshot: chance.random(),
            ..Setting::default()
        };
        let (mut world, mut now, mut admitted) = (world(*quota, setting), 0, Vec::new());
        for _ in 0..120 {
            now += pause(&mut chance);
            if chance.random_ratio(1, 60) {
                world.happens(&Incident { at: at(now), what: What::Restart });
            }
            let (passed, _) = ask(&mut world, now, chance.random_range(1..8));
            admitted.extend((0..passed).map(|_| now));
        }
        for length in [1, SECOND, 4 * SECOND, 13 * SECOND] {
            let most = (0..admitted.len()).map(|first| {
                admitted[first..].iter().take_while(|instant| **instant < admitted[first] + length).count()
            });
            let seen = u128::try_from(most.max().unwrap_or(0)).unwrap();
            let bound = world.exposure().most_in_half_open(Span::from_micros(length)).unwrap();
            assert!(seen <= bound, "{seen} > {bound} in {length}: {quota:?} {setting:?}");
        }
    }
}

/// Returns pauses of many lengths: none, a microsecond, a window.
fn pause(chance: &mut impl Rng) -> u64 {
    match chance.random_range(0..4) {
        0 => 0,
        1 => chance.random_range(1..3),
        2 => chance.random_range(1..SECOND),
        _ => chance.random_range(1..5 * SECOND),
    }
}
