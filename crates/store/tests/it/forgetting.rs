//! Forgetting: exactly when a state cannot be told from a fresh one, and without a clean-up by anybody.

use tidegate_store::Store;
use tidegate_store::algorithms::{Span, State, Timestamp, keep_until};

use crate::tools::{admits, check, each_algorithm, flood, noon, store_of};

fn inspect(store: &tidegate_store::MemoryStore, limit: tidegate_store::LimitId, key: &[u8]) -> Option<State> {
    store.inspect(limit, key).now().unwrap().unwrap()
}

/// One microsecond early would hand out fresh quota; late would let memory grow (governor keeps twice as long).
#[test]
fn a_key_is_dropped_exactly_when_it_is_as_good_as_fresh() {
    for quota in each_algorithm(3, Span::from_secs(60)) {
        let store = store_of(4_000);
        let limit = store.limit("one");
        assert!(admits(&store, check(limit, b"k", &quota), noon()));
        let state = inspect(&store, limit, b"k").unwrap();
        let until = keep_until(&quota, &state, noon());
        let before = Timestamp::from_micros(until.as_micros() - 1).unwrap();
        // Every newcomer moves the hand by three keys: a thousand take it round this table more than once.
        flood(&store, limit, &quota, 0..1_000, before);
        assert_eq!(inspect(&store, limit, b"k"), Some(state), "{quota:?}");
        flood(&store, limit, &quota, 1_000..2_500, until);
        assert_eq!(inspect(&store, limit, b"k"), None, "{quota:?}");
    }
}

/// Guards against a look ahead, to when a state means nothing, that drops it: whoever passes instants may ask about an
/// earlier one afterwards, as the attack does that explains what a gateway did.
#[test]
fn a_look_ahead_forgets_nothing() {
    for quota in each_algorithm(1, Span::from_secs(60)) {
        let store = store_of(4_000);
        let [one, two] = ["one", "two"].map(|name| check(store.limit(name), b"k", &quota));
        assert!(admits(&store, one, noon()) && admits(&store, two, noon()));
        let far = noon().saturating_add(Span::from_secs(86_400 * 40));
        for checks in [&[one][..], &[one, two], &[one, one]] {
            assert!(store.peek(checks, Some(far)).now().unwrap().is_ok());
            assert!(
                !admits(&store, one, noon()) && !admits(&store, two, noon()),
                "{quota:?}: {}",
                checks.len()
            );
        }
    }
}

/// Each key is judged by its own numbers: a short plan's newcomers do not make a long plan's states forgotten.
#[test]
fn a_key_is_forgotten_by_its_own_plan() {
    let short = each_algorithm(3, Span::from_secs(1));
    let long = each_algorithm(3, Span::from_secs(3_600));
    for (short, long) in short.iter().zip(&long) {
        let store = store_of(4_000);
        let limit = store.limit("one");
        let premium = check(limit, b"premium", long);
        assert_eq!((0..5).filter(|_| admits(&store, premium, noon())).count(), 3);
        for second in 1..60 {
            let at = noon().saturating_add(Span::from_secs(10 * second));
            let keys = u32::try_from(second).unwrap() * 100;
            flood(&store, limit, short, keys..keys + 100, at);
            assert!(inspect(&store, limit, b"premium").is_some(), "{long:?}");
        }
        assert!(store.usage().keys <= 301, "the short plan's are gone: {:?}", store.usage());
    }
}

/// Keys that come and go for ever take the room of those that are alive.
#[test]
fn a_steady_stream_of_keys_needs_the_room_of_the_living() {
    let quota = each_algorithm(3, Span::from_secs(10))[4];
    let store = store_of(1_000_000);
    let limit = store.limit("one");
    let mut most = 0;
    for number in 0..300_000_u32 {
        // A thousand a second, each alive for a third of ten seconds.
        let at = noon().saturating_add(Span::from_millis(number.into()));
        flood(&store, limit, &quota, number..number + 1, at);
        most = most.max(store.usage().keys);
    }
    assert!((3_333..=3 * 3_334).contains(&most), "{most}");
    assert_eq!(store.usage().shared_checks, 0);
}
