//! Keys on several plans in the memory store: places, books, and random histories.

use proptest::prelude::*;
use tidegate_store::algorithms::{Anchor, Ask, Calendar, Quota, Rate, Span, Timestamp};
use tidegate_store::conformance::Naive;
use tidegate_store::{Check, Give, MemoryStore, Refund, Store};

use crate::tools::{admits, after, check, decide, each_algorithm, flood, left, noon, store, store_of};

/// A key that comes with other numbers, or under another algorithm, has its place already: in a full store it must
/// neither share nor push anybody out, and what it was charged stays.
#[test]
fn a_change_in_a_full_store_takes_no_place_more() {
    for (old, new) in
        pairs(&each_algorithm(4, Span::from_secs(600)), &each_algorithm(5, Span::from_secs(500)))
    {
        let store = store_of(50);
        let limit = store.limit("one");
        for _ in 0..2 {
            flood(&store, limit, &old, 0..50, noon());
        }
        flood(&store, limit, &new, 0..50, after(1));
        let usage = store.usage();
        assert_eq!((usage.keys, usage.shared_checks), (50, 0), "{old:?} to {new:?}");
        for number in 0..50_u32 {
            let key = number.to_be_bytes();
            assert!(left(&store, check(limit, &key, &new), after(1)) <= 2, "{old:?} to {new:?}");
        }
    }
}

/// A change that forgets nothing needs one place: a reload that raises a number must not double what a store holds.
#[test]
fn a_raised_number_leaves_nothing_behind() {
    for (old, new) in
        each_algorithm(4, Span::from_secs(600)).iter().zip(&each_algorithm(8, Span::from_secs(600)))
    {
        let store = store_of(1_000);
        let limit = store.limit("one");
        flood(&store, limit, old, 0..100, noon());
        flood(&store, limit, new, 0..100, after(1));
        // A queue that is served faster is empty sooner than the old one would have been; a lockout keeps its attempts.
        let both = matches!(old, Quota::LeakyBucket(_) | Quota::Lockout(_));
        assert_eq!(store.usage().keys, if both { 200 } else { 100 }, "{old:?}");
    }
}

/// Guards against a round of three plans: what the second did not need to keep, since the first was carried whole, the
/// third lost, and each round admitted one more for ever.
#[test]
fn a_round_of_three_plans_gains_nothing() {
    let day = Span::from_secs(86_400);
    let quotas: Vec<_> = each_algorithm(4, day).into_iter().chain(each_algorithm(9, day)).collect();
    for (one, two) in pairs(&quotas, &quotas) {
        let store = store_of(1_000);
        for (number, three) in (0_u32..).zip(&quotas) {
            let (limit, key) = (store.limit("one"), number.to_be_bytes());
            let round = [&one, &two, three].into_iter().cycle();
            let admitted = |times| {
                let asked = round.clone().take(times);
                asked.filter(|quota| decide(&store, &[check(limit, &key, quota)], after(1)).admitted).count()
            };
            admitted(120);
            assert_eq!(admitted(120), 0, "{one:?}, {two:?}, {three:?}");
        }
    }
}

/// States that are left behind are forgotten with their key: by a reset, by a receipt, by time.
#[test]
fn nothing_is_left_on_the_books_of_keys_that_went_to_and_fro() {
    let plans = each_algorithm(4, Span::from_secs(600));
    let others = each_algorithm(3, Span::from_secs(60));
    let store = store_of(10_000);
    let limit = store.limit("one");
    let keys: Vec<[u8; 4]> = (0..200_u32).map(u32::to_be_bytes).collect();
    for round in 0..3 {
        let mut receipts = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            for (step, quota) in (0_u64..).zip(plans.iter().chain(&others).cycle().skip(number).take(9)) {
                let decided = decide(&store, &[check(limit, key, quota)], after(1_000 * round + step));
                receipts.extend(decided.outcomes[0].receipt.map(|receipt| (receipt, *quota)));
                let watched = Check { shadow: true, ask: Ask::units(9), ..check(limit, key, &others[0]) };
                decide(&store, &[watched, check(limit, key, quota)], after(1_000 * round + step));
            }
        }
        assert!(store.usage().keys > 2 * keys.len(), "{:?}", store.usage());
        for key in keys.iter().filter(|_| round == 0) {
            store.reset(limit, key).now().unwrap().unwrap();
        }
        for (receipt, quota) in receipts.iter().filter(|_| round == 1) {
            let refund = Refund { receipt: *receipt, quota, give: Give::All };
            store.refund(&[refund], Some(after(1_009))).now().unwrap().unwrap();
        }
        if round < 2 {
            let usage = store.usage();
            assert!(usage.keys == 0 && usage.bytes <= 8 * 4_096, "round {round}: {usage:?}");
        }
    }
    // Forgotten as newcomers come, whose clock hands see what was left too.
    flood(&store, limit, &plans[0], 1_000..4_000, after(10_000));
    flood(&store, limit, &plans[2], 4_000..7_000, after(11_000));
    flood(&store, limit, &plans[0], 7_000..10_000, after(12_000));
    assert!(store.usage().keys <= 9_000, "{:?}", store.usage());
}

/// What an algorithm left that no plan has any more is forgotten as newcomers of the other come, also while there is room:
/// nobody else looks at its table.
#[test]
fn the_dead_of_an_algorithm_given_up_are_forgotten() {
    let quotas = each_algorithm(4, Span::from_secs(60));
    for (old, new) in pairs(&quotas, &quotas).iter().filter(|(old, new)| old != new) {
        let store = store_of(10_000);
        let (limit, _quiet) = (store.limit("one"), store.limit("two"));
        flood(&store, limit, old, 0..1_000, noon());
        flood(&store, limit, new, 1_000..2_000, after(1_000));
        assert!(store.usage().keys <= 1_100, "{old:?} to {new:?}: {:?}", store.usage());
    }
}

/// A newcomer that only watches and is refused hands its place to its twin, under whatever algorithm.
#[test]
fn a_watched_twin_leaves_its_place() {
    for (watched, charged) in
        pairs(&each_algorithm(1, Span::from_secs(60)), &each_algorithm(2, Span::from_secs(60)))
    {
        let store = store_of(1);
        let limit = store.limit("one");
        let watched = Check { ask: Ask::units(2), shadow: true, ..check(limit, b"k", &watched) };
        let twin = check(limit, b"k", &charged);
        assert!(decide(&store, &[watched, twin], noon()).admitted);
        let usage = store.usage();
        assert_eq!((usage.keys, usage.shared_checks), (1, 0), "{charged:?}");
        assert_eq!(left(&store, twin, noon()), 1, "{charged:?}");
        store.reset(limit, b"k").now().unwrap().unwrap();
        assert_eq!(store.usage().keys, 0, "{charged:?}");
    }
}

/// A key that changes its plan while it has to share meets what it was charged under the other.
#[test]
fn a_change_of_plan_while_sharing_mints_nothing() {
    for (old, new) in
        pairs(&each_algorithm(5, Span::from_secs(600)), &each_algorithm(5, Span::from_secs(601)))
    {
        let store = store_of(0);
        let limit = store.limit("one");
        let (old, new) = (check(limit, b"k", &old), check(limit, b"k", &new));
        assert_eq!((0..9).filter(|_| admits(&store, old, noon())).count(), 5);
        // A lockout that was not locked has one attempt left.
        let attempts = u32::from(new.quota.algorithm() == "lockout" && old.quota.algorithm() != "lockout");
        assert!(left(&store, new, noon()) <= attempts, "{old:?} to {new:?}");
        assert!((0..9).filter(|_| admits(&store, new, noon())).count() <= attempts as usize);
    }
}

/// A reload that drops a limit gives the others its reserve, takes nothing that it counted, and brings it back whole.
#[test]
fn a_limit_that_was_dropped_comes_back_with_its_counts() {
    // Enough for all who share, so that they are newcomers again once there is room.
    let quota = Quota::token_bucket(20_000, Rate::new(1, Span::from_secs(3_600)).unwrap()).unwrap();
    let store = store_of(1_200);
    let names = ["one", "two", "three"];
    let [one, two, three] = names.map(|name| store.limit(name));
    let took = |limit, keys| {
        let before = store.usage().keys;
        flood(&store, limit, &quota, keys, noon());
        store.usage().keys - before
    };
    assert_eq!(took(three, 0..10), 10);
    store.retain(&[one]);
    assert_eq!(took(one, 0..5_000), 1_190, "the only one in force has all the others left");
    assert_eq!((took(two, 0..500), took(three, 10..500)), (0, 0), "there is nothing to lend");
    let first = 0_u32.to_be_bytes();
    let charged = check(three, &first, &quota);
    assert_eq!(left(&store, charged, noon()), 19_999, "dropped, and not forgotten");
    // Named again, as a reload does, and told to be in force.
    let again = names.map(|name| store.limit(name));
    assert_eq!(again, [one, two, three]);
    store.retain(&again);
    assert_eq!((took(two, 500..5_000), took(three, 500..5_000)), (100, 90), "a third of a quarter each");
    assert_eq!(left(&store, charged, noon()), 19_999);
}

fn pairs(olds: &[Quota], news: &[Quota]) -> Vec<(Quota, Quota)> {
    olds.iter().flat_map(|old| news.iter().map(|new| (*old, *new))).collect()
}

/// One step of a history: some time passes, some keys ask two limits, each on some plan.
#[derive(Debug, Clone)]
struct Step {
    after_millis: u64,
    asks: Vec<(u8, usize, usize, u32, bool)>,
    undo: Option<Give>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![4 => Just(0), 3 => 0..2_000_u64, 1 => 0..12_000_u64];
    let ask = (0..10_u8, 0..2_usize, 0..PLANS, 0..4_u32, proptest::bool::weighted(0.2));
    let undo = prop_oneof![6 => Just(None), 1 => Just(Some(Give::Charge)), 1 => Just(Some(Give::All))];
    let step = (wait, proptest::collection::vec(ask, 1..4), undo);
    let step = step.prop_map(|(after_millis, asks, undo)| Step { after_millis, asks, undo });
    proptest::collection::vec(step, 1..80)
}

const PLANS: usize = 10;

fn plans() -> [Quota; PLANS] {
    let span = Span::from_secs(5);
    let [clock, hit, log, counter, token, leaky, lockout] = each_algorithm(3, span);
    let raised = Quota::token_bucket(5, Rate::new(9, span).unwrap()).unwrap();
    let short = Quota::fixed_window(2, Span::from_millis(700), Anchor::Clock).unwrap();
    let day = Quota::calendar_window(6, Calendar::Day).unwrap();
    [clock, hit, log, counter, token, leaky, lockout, raised, short, day]
}

/// Plays a history at a store, and shows each batch with its answer.
fn play<S: Store>(
    store: &S,
    steps: &[Step],
    mut each: impl FnMut(&[Check<'_>], Timestamp, &tidegate_store::Decided) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (plans, limits) = (plans(), ["one", "two"].map(|name| store.limit(name)));
    let (mut now, mut charges) = (noon(), Vec::new());
    for step in steps {
        now = now.saturating_add(Span::from_millis(step.after_millis));
        let keys: Vec<[u8; 1]> = step.asks.iter().map(|ask| [ask.0]).collect();
        let asks = step.asks.iter().zip(&keys);
        let batch: Vec<Check<'_>> = asks
            .map(|((_, limit, plan, cost, shadow), key)| Check {
                ask: Ask::units(*cost),
                shadow: *shadow,
                ..check(limits[*limit], key, &plans[*plan])
            })
            .collect();
        let decided = store.decide(&batch, Some(now)).now().unwrap().unwrap();
        each(&batch, now, &decided)?;
        let answered = decided.outcomes.iter().zip(&step.asks);
        charges.extend(answered.filter_map(|(outcome, ask)| Some((outcome.receipt?, plans[ask.2]))));
        if let (Some(give), Some((receipt, quota))) = (step.undo, charges.pop()) {
            store.refund(&[Refund { receipt, quota: &quota, give }], Some(now)).now().unwrap().unwrap();
        }
    }
    Ok(())
}

/// Forgets every key and returns what is still counted as held.
fn keys_after_resets(store: &MemoryStore) -> usize {
    for limit in ["one", "two"].map(|name| store.limit(name)) {
        for key in 0..10_u8 {
            store.reset(limit, &[key]).now().unwrap().unwrap();
        }
    }
    store.usage().keys
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two limits behind two locks, keys that change their plans, charges given back: as the naive store decides.
    #[test]
    fn with_room_it_decides_as_the_naive_store(steps in steps()) {
        let (store, naive) = (store_of(8_192), Naive::default());
        let mut answers = Vec::new();
        play(&naive, &steps, |_, _, decided| {
            answers.push(decided.clone());
            Ok(())
        })?;
        let mut answers = answers.iter();
        play(&store, &steps, |batch, _, got| {
            let want = answers.next().unwrap();
            prop_assert_eq!(got.admitted, want.admitted);
            for ((got, want), asked) in got.outcomes.iter().zip(&want.outcomes).zip(batch) {
                prop_assert_eq!(got.decision, want.decision, "{:?}", asked);
            }
            Ok(())
        })?;
        prop_assert_eq!(store.usage().shared_checks, 0);
        prop_assert_eq!(keys_after_resets(&store), 0);
    }

    /// With hardly any room the whole is never passed, and the books are straight at the end.
    #[test]
    fn without_room_the_books_stay_straight(max_keys in 0..8_usize, steps in steps()) {
        let store = store(max_keys, 1 << 20);
        play(&store, &steps, |_, _, _| {
            // The reserves of two limits may come on top of what was lent.
            prop_assert!(store.usage().keys <= max_keys + max_keys / 4, "{:?}", store.usage());
            Ok(())
        })?;
        prop_assert_eq!(keys_after_resets(&store), 0);
    }
}
