//! What a snapshot keeps, what it takes to read one, and what becomes of a store with less room.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use tidegate_store::algorithms::{Ask, Quota, Rate, Span, Timestamp};
use tidegate_store::{Check, MemoryOptions, MemoryStore, Restored, SnapshotError, Store};

use crate::tools::{admits, after, check, decide, each_algorithm, flood, left, noon, store, store_of};

const ROOM: usize = 1 << 30;

fn restored(store: &MemoryStore, max_keys: usize, at: Timestamp) -> (MemoryStore, Restored) {
    let options = MemoryOptions { max_keys, max_bytes: ROOM };
    MemoryStore::restore(options, store.snapshot().as_bytes(), Some(at)).unwrap()
}

/// A restart that let a key begin afresh would be a way around every limit.
#[test]
fn what_was_used_up_is_used_up_after_a_restart() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let store = store_of(100_000);
        let limit = store.limit("one");
        let key = check(limit, b"ada", &quota);
        assert_eq!((0..9).filter(|_| admits(&store, key, noon())).count(), 5);
        // Fewer keys are fewer locks: the key lives behind another then.
        for max_keys in [1_000, 100_000, 1_000_000] {
            let (store, seen) = restored(&store, max_keys, after(1));
            assert_eq!(store.limit("one"), limit);
            assert_eq!((seen.kept, seen.joined, seen.forgotten), (1, 0, 0));
            assert!(!admits(&store, key, after(1)), "{quota:?}");
            assert_eq!(left(&store, check(limit, b"eve", &quota), after(1)), 5, "{quota:?}");
        }
    }
}

/// What means nothing any more would fill the room with what nobody asks for.
#[test]
fn what_means_nothing_is_left_out() {
    for quota in each_algorithm(5, Span::from_secs(60)) {
        let store = store_of(10_000);
        let limit = store.limit("one");
        flood(&store, limit, &quota, 0..500, noon());
        let (later, seen) = restored(&store, 10_000, after(600));
        assert_eq!((seen.kept, seen.forgotten, later.usage().keys, later.usage().bytes), (0, 500, 0, 0));
    }
}

/// With the room it had, a store has all its keys again, also one that had borrowed what others are due; and takes no
/// more memory for them.
#[test]
fn the_same_room_holds_the_same_keys() {
    for quota in each_algorithm(3, Span::from_secs(3_600)) {
        let store = store(10_000, 1_500_000);
        let one = store.limit("one");
        flood(&store, one, &quota, 0..20_000, noon());
        let two = store.limit("two");
        flood(&store, two, &quota, 0..20_000, noon());
        let before = store.usage();
        let options = MemoryOptions { max_keys: 10_000, max_bytes: 1_500_000 };
        let snapshot = store.snapshot();
        let (again, seen) = MemoryStore::restore(options, snapshot.as_bytes(), Some(after(1))).unwrap();
        assert_eq!((seen.kept, seen.joined), (before.keys, 0), "{quota:?}");
        assert_eq!(again.usage().keys, before.keys);
        assert!(again.usage().bytes <= before.bytes, "{quota:?}: {:?} of {before:?}", again.usage());
        // Who shared one state still does, and what that had used up stays so.
        for key in (0..20_000_u32).step_by(7).map(u32::to_be_bytes) {
            for limit in [one, two] {
                let asked = check(limit, &key, &quota);
                assert_eq!(left(&again, asked, after(1)), left(&store, asked, after(1)), "{quota:?}");
            }
        }
    }
}

/// With less room nobody gains: those who are refused have their places first, and whoever has none meets a state as
/// strict as its own.
#[test]
fn with_less_room_nobody_gets_a_fresh_quota() {
    for quota in each_algorithm(3, Span::from_secs(3_600)) {
        let store = store_of(10_000);
        let limit = store.limit("one");
        flood(&store, limit, &quota, 0..1_000, noon());
        for _ in 0..2 {
            flood(&store, limit, &quota, 0..100, noon());
        }
        let before = |key: u32| left(&store, check(limit, &key.to_be_bytes(), &quota), after(1));
        for max_keys in [0, 50, 100, 400, 999] {
            let (smaller, seen) = restored(&store, max_keys, after(1));
            assert_eq!((seen.kept, seen.joined), (max_keys, 1_000 - max_keys), "{quota:?}");
            for key in 0..1_000_u32 {
                let now = left(&smaller, check(limit, &key.to_be_bytes(), &quota), after(1));
                assert!(now <= before(key), "{quota:?}: {key} of {max_keys}");
                // Once those who are locked have their places, the others share no lock.
                assert!(now > 0 || key < 100 || max_keys < 100, "{quota:?}: {key} of {max_keys}");
            }
        }
        let options = MemoryOptions { max_keys: 10_000, max_bytes: 30_000 };
        let (smaller, seen) =
            MemoryStore::restore(options, store.snapshot().as_bytes(), Some(after(1))).unwrap();
        assert!(smaller.usage().bytes <= 30_000 && seen.joined > 0 && seen.kept > 90, "{seen:?}");
    }
}

/// Room that is counted and not held, or held and not counted, adds up with every restart.
#[test]
fn the_books_are_straight_after_a_restart() {
    for quota in each_algorithm(9, Span::from_secs(3_600)) {
        let plans =
            [quota, each_algorithm(4, Span::from_secs(60))[0], each_algorithm(2, Span::from_secs(9_000))[4]];
        let mut store = store_of(4_000);
        let limit = store.limit("one");
        for (round, plan) in (0_u64..).zip(plans.iter().cycle().take(7)) {
            flood(&store, limit, plan, 0..600, after(round));
            store = restored(&store, [4_000, 50_000][usize::from(round % 2 == 1)], after(round)).0;
        }
        assert!(store.usage().keys >= 600);
        for number in 0..600_u32 {
            store.reset(limit, &number.to_be_bytes()).now().unwrap().unwrap();
        }
        let usage = store.usage();
        assert!(usage.keys == 0 && usage.bytes <= 3 * 4_096, "{quota:?}: {usage:?}");
        // A table that has room for nothing is no table.
        let (empty, _) = restored(&store, 50_000, after(9));
        assert_eq!(empty.usage().bytes, 0);
    }
}

/// A clock that stood years ahead must not lock anybody for years, and its correction must refill nothing.
#[test]
fn a_clock_that_was_set_back_refills_nothing_and_locks_nobody_for_ever() {
    for quota in each_algorithm(5, Span::from_secs(600)) {
        let store = store_of(1_000);
        let limit = store.limit("one");
        let year = Span::from_secs(366 * 86_400);
        let key = check(limit, b"ada", &quota);
        assert_eq!((0..9).filter(|_| admits(&store, key, noon().saturating_add(year))).count(), 5);
        let (store, _) = restored(&store, 1_000, noon());
        assert!(!admits(&store, key, noon()), "{quota:?}");
        assert!(!admits(&store, key, after(100)), "{quota:?}");
        assert!(admits(&store, key, after(601)), "{quota:?}");
    }
}

fn sample() -> (MemoryStore, Vec<u8>) {
    let store = store_of(3);
    for (name, quota) in ["one", "two", "three"].iter().zip(each_algorithm(3, Span::from_secs(3_600))) {
        let limit = store.limit(name);
        flood(&store, limit, &quota, 0..5, noon());
    }
    let bytes = store.snapshot().as_bytes().to_vec();
    (store, bytes)
}

/// Whatever a bad disk or a full one leaves of the file: it is seen, and nothing of it is used.
#[test]
fn damage_is_seen_wherever_it_is() {
    let (_, bytes) = sample();
    let restore = |bytes: &[u8]| MemoryStore::restore(MemoryOptions::default(), bytes, Some(noon()));
    assert!(restore(&bytes).is_ok());
    for length in 0..bytes.len() {
        let error = restore(&bytes[..length]).unwrap_err();
        assert!(matches!(error, SnapshotError::Length { .. }), "{length}: {error}");
    }
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            assert!(restore(&bytes).is_err(), "byte {at}");
        }
    }
    let longer = [&bytes[..], b"\n"].concat();
    assert!(matches!(restore(&longer), Err(SnapshotError::Length { .. })));
}

/// An operator at three in the morning is told what the file is and what to do.
#[test]
fn errors_say_what_it_is_and_what_to_do() {
    let (_, bytes) = sample();
    let error =
        |bytes: &[u8]| MemoryStore::restore(MemoryOptions::default(), bytes, None).unwrap_err().to_string();
    assert!(error(b"tidegate: 1\nrules: []\n").contains("format"), "a policy begins the same way");
    assert!(error(b"<html>").contains("name the right file"));
    assert!(error(&bytes[..bytes.len() / 2]).contains("put a whole copy in its place"));
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert!(error(&newer).contains("of format 9, this program reads format 1"));
    let mut damaged = bytes;
    damaged[60] ^= 1;
    assert!(error(&damaged).contains("put an undamaged copy in its place"));
}

/// The secret must not reach a log by way of `{:?}`.
#[test]
fn a_snapshot_does_not_show_its_bytes() {
    let (store, bytes) = sample();
    assert!(bytes.windows(16).any(|window| window == b"a secret of test"));
    let shown = format!("{:?}", store.snapshot());
    assert!(shown.len() < 200 && !shown.contains("secret"), "{shown}");
}

/// Taken while everything moves: what was charged before is in it, and no key has more than it was charged.
#[test]
fn a_snapshot_under_load_holds_what_was_charged_before_it() {
    let quota = Quota::token_bucket(1 << 20, Rate::new(1, Span::from_secs(86_400)).unwrap()).unwrap();
    let log = Quota::sliding_log(100_000, Span::from_secs(86_400)).unwrap();
    let store = store_of(100_000);
    let limits = ["buckets", "logs"].map(|name| store.limit(name));
    let counts: Vec<AtomicU32> = (0..64).map(|_| AtomicU32::new(0)).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for worker in 0..3_u32 {
            let (store, counts, stop, quota, log) = (&store, &counts, &stop, &quota, &log);
            scope.spawn(move || {
                let numbers = (0..64_u32).cycle().skip(usize::try_from(worker).unwrap() * 21);
                for number in numbers.take_while(|_| !stop.load(Ordering::Relaxed)) {
                    let key = number.to_be_bytes();
                    let batch = [check(limits[0], &key, quota), check(limits[1], &key, log)];
                    assert!(decide(store, &batch, noon()).admitted);
                    // Counted once it is charged: what is counted before a snapshot begins was charged before.
                    counts[usize::try_from(number).unwrap()].fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for _ in 0..40 {
            let before: Vec<u32> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
            let snapshot = store.snapshot();
            // Three workers may have charged what they have not counted yet.
            let most: Vec<u32> = counts.iter().map(|count| count.load(Ordering::SeqCst) + 3).collect();
            let options = MemoryOptions { max_keys: 100_000, max_bytes: ROOM };
            let (again, _) = MemoryStore::restore(options, snapshot.as_bytes(), Some(noon())).unwrap();
            for (number, (least, most)) in (0_u32..).zip(before.iter().zip(&most)) {
                let key = number.to_be_bytes();
                for (limit, quota) in limits.into_iter().zip([&quota, &log]) {
                    let used = quota.nominal() - left(&again, check(limit, &key, quota), noon());
                    assert!((*least..=*most).contains(&used), "{number}: {used} of {least} to {most}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Without numbers left for its quota a state is never forgotten, and a restart must not forget it either.
#[test]
fn more_quotas_than_numbers_come_back_too() {
    let store = store(1, ROOM);
    let limit = store.limit("one");
    let quotas: Vec<Quota> =
        (1..=17_000).map(|units| Quota::sliding_counter(units, Span::from_secs(3_600)).unwrap()).collect();
    for quota in &quotas {
        decide(&store, &[Check { ask: Ask::units(0), ..check(limit, b"ada", quota) }], noon());
        decide(&store, &[check(limit, b"ada", quota)], noon());
    }
    let last = check(limit, b"ada", quotas.last().unwrap());
    let (again, _) = restored(&store, 1, noon());
    assert_eq!(left(&again, last, noon()), left(&store, last, noon()));
}

/// The history of the snapshot that is kept beside this file: each algorithm, a state left beside another, a shared one.
fn of_format_1() -> MemoryStore {
    let store = store_of(16);
    for (name, quota) in ('a'..'h').zip(each_algorithm(5, Span::from_secs(3_600))) {
        let limit = store.limit(&name.to_string());
        for _ in 0..3 {
            decide(&store, &[check(limit, b"ada", &quota)], noon());
        }
    }
    let [high, low] = [9, 2].map(|units| each_algorithm(units, Span::from_secs(3_600))[0]);
    let limit = store.limit("plans");
    for _ in 0..6 {
        decide(&store, &[check(limit, b"ada", &high)], noon());
    }
    decide(&store, &[check(limit, b"ada", &low)], noon());
    // Until there is no room.
    flood(&store, store.limit("filler"), &high, 0..16, noon());
    let limit = store.limit("shared");
    decide(&store, &[check(limit, b"eve", &high)], noon());
    store
}

/// A snapshot that an earlier build wrote must be read by every later one of the same format, or an upgrade would hand out
/// fresh quotas. Whoever changes the format changes its number.
#[test]
fn a_snapshot_of_an_earlier_build_is_read() {
    let bytes = include_bytes!("snapshot-1.bin");
    let options = MemoryOptions { max_keys: 16, max_bytes: ROOM };
    let (store, seen) = MemoryStore::restore(options, bytes, Some(after(1))).unwrap();
    let lasting = of_format_1();
    assert!(lasting.usage().keys >= 9 && lasting.usage().shared_checks > 0, "{:?}", lasting.usage());
    assert_eq!((seen.kept, seen.joined, seen.forgotten), (lasting.usage().keys, 0, 0));
    let plans = [9, 2].map(|units| each_algorithm(units, Span::from_secs(3_600))[0]);
    let each = ('a'..'h').zip(each_algorithm(5, Span::from_secs(3_600)));
    let each = each.map(|(name, quota)| (name.to_string(), quota));
    let each = each.chain(plans.map(|quota| ("plans".to_owned(), quota)));
    for (name, quota) in each.chain(plans.map(|quota| ("shared".to_owned(), quota))) {
        for key in [&b"ada"[..], b"eve", b"new"] {
            let told = |store: &MemoryStore| {
                let asked = [check(store.limit(&name), key, &quota)];
                store.peek(&asked, Some(after(1))).now().unwrap().unwrap().outcomes[0].decision
            };
            assert_eq!(told(&store), told(&lasting), "{name} {quota:?}");
        }
    }
}
