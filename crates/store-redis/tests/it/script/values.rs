//! What stands in Redis: how much memory a key takes, how long it stays, and what becomes of values that are not ours.

use redis::{Commands as _, Connection};
use tidegate_redis_kit::Server;
use tidegate_store::algorithms::{Anchor, Ask, Calendar, Quota, Rate, Span, Timestamp};
use tidegate_store::{Check, Reply, Store as _, StoreError};
use tidegate_store_redis::testing::Scripted;

use super::scripted;

fn told<T>(reply: Reply<'_, T>) -> Result<T, StoreError> {
    reply.now().expect("the script is asked at once")
}

fn minute() -> Span {
    Span::from_secs(60)
}

fn each_kind() -> Vec<Quota> {
    let rate = |units| Rate::new(units, minute()).unwrap();
    let quotas = [
        Quota::fixed_window(10, minute(), Anchor::Clock),
        Quota::fixed_window(10, minute(), Anchor::FirstHit),
        Quota::calendar_window(10, Calendar::Month),
        Quota::sliding_log(10, minute()),
        Quota::sliding_counter(10, minute()),
        Quota::token_bucket(10, rate(1)),
        Quota::token_bucket(10, rate(7)),
        Quota::leaky_bucket(rate(1), 10),
        Quota::leaky_bucket(rate(7), 10),
        Quota::lockout(10, minute(), minute()),
    ];
    quotas.into_iter().map(Result::unwrap).collect()
}

fn charge(store: &Scripted, key: &[u8], quota: &Quota, at: Option<Timestamp>) -> Result<bool, StoreError> {
    let limit = store.limit("one");
    let check = Check { limit, key, quota, ask: Ask::ONE, shadow: false };
    told(store.decide(&[check], at)).map(|decided| decided.admitted)
}

/// The one key there is.
fn only_key(connection: &mut Connection) -> Vec<u8> {
    let keys: Vec<Vec<u8>> = connection.keys("*").unwrap();
    let [key] = keys.try_into().unwrap_or_else(|keys| panic!("{keys:?}"));
    key
}

/// A value of 13 bytes would take 16 more of each of a million keys: the commonest quotas' take 12 at most.
///
/// Both allocators' figures: Redis's own has a class of 24 bytes, into which a key's name and both entries of tables go;
/// Debian's has none below 32.
#[test]
fn the_commonest_keys_take_what_a_dozen_bytes_take_and_no_more() {
    const KEYS: u32 = 100_000;
    const MOST: u64 = 136;
    let server = Server::start(&[]);
    for quota in [each_kind()[0], each_kind()[2], each_kind()[5]] {
        server.ask("FLUSHALL");
        let store = Scripted::new(server.connection(), "tg", &[]);
        let before = server.info("used_memory").unwrap();
        let keys: Vec<[u8; 4]> = (0..KEYS).map(u32::to_be_bytes).collect();
        let limit = store.limit("one");
        for keys in keys.chunks(200) {
            let one = |key| Check { limit, key, quota: &quota, ask: Ask::ONE, shadow: false };
            let checks: Vec<Check<'_>> = keys.iter().map(|key| one(key.as_slice())).collect();
            assert!(told(store.decide(&checks, None)).unwrap().admitted);
        }
        let each = (server.info("used_memory").unwrap() - before).div_ceil(u64::from(KEYS));
        assert!(each <= MOST, "{quota:?}: {each} bytes a key");
    }
}

/// A key that stays for ever fills the server; one that goes too soon admits what it should not.
#[test]
fn a_key_stays_until_it_means_nothing_and_no_longer() {
    let server = Server::start(&[]);
    let mut connection = server.connection();
    for quota in each_kind() {
        server.ask("FLUSHALL");
        let store = scripted(&server, &[]);
        assert!(charge(&store, b"k", &quota, None).unwrap());
        let key = only_key(&mut connection);
        let (left, longest): (i64, Span) = (connection.pttl(&key).unwrap(), quota.window());
        let most = i64::try_from(longest.as_micros() / 1_000).unwrap() * 2 + 1;
        assert!((1..=most).contains(&left), "{quota:?}: {left} ms of {most}");
        let limit = store.limit("one");
        told(store.reset(limit, b"k")).unwrap();
        assert_eq!(connection.exists::<_, u64>(&key).unwrap(), 0, "{quota:?}");
    }
}

/// An instance that a foreign value throws out would take every limit of a call with it.
#[test]
fn a_foreign_value_is_told_to_whoever_names_it_and_to_nobody_else() {
    let server = Server::start(&[]);
    let mut connection = server.connection();
    let values: [&[u8]; 5] = [b"", b"17", b"hello there, this is not ours", &[255, 1, 0, 0, 0, 9], &[8, 10]];
    for quota in each_kind() {
        server.ask("FLUSHALL");
        let store = scripted(&server, &[]);
        assert!(charge(&store, b"k", &quota, None).unwrap());
        let key = only_key(&mut connection);
        for value in values.iter().map(Some).chain([None]) {
            let () = connection.del(&key).unwrap();
            match value {
                Some(value) => {
                    let () = connection.set(&key, *value).unwrap();
                }
                None => {
                    let () = connection.rpush(&key, "of another type").unwrap();
                }
            }
            let fault = charge(&store, b"k", &quota, None).unwrap_err();
            assert!(!fault.may_have_counted(), "{quota:?}, {value:?}: {fault}");
            assert!(fault.to_string().contains("is none of ours"), "{quota:?}, {value:?}: {fault}");
            assert!(charge(&store, b"another", &quota, None).unwrap(), "{quota:?}, {value:?}");
            told(store.reset(store.limit("one"), b"another")).unwrap();
            let kept: String = redis::cmd("TYPE").arg(&key).query(&mut connection).unwrap();
            assert_eq!(kept, if value.is_some() { "string" } else { "list" });
        }
        told(store.reset(store.limit("one"), b"k")).unwrap();
        assert!(charge(&store, b"k", &quota, None).unwrap(), "{quota:?}");
    }
}

/// A value that lost bytes, or has others: whatever it is, the server's script goes on and this program agrees with it.
#[test]
fn a_damaged_value_is_read_by_both_or_by_neither() {
    let server = Server::start(&[]);
    let mut connection = server.connection();
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    for quota in each_kind() {
        server.ask("FLUSHALL");
        let store = scripted(&server, &[]);
        assert!(charge(&store, b"k", &quota, at).unwrap());
        let key = only_key(&mut connection);
        let value: Vec<u8> = connection.get(&key).unwrap();
        let cut = (0..value.len()).map(|length| value[..length].to_vec());
        let longer = (1..6).map(|more| [value.as_slice(), &vec![7; more]].concat());
        let flipped = (0..value.len() * 8).map(|bit| {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        });
        for damaged in cut.chain(longer).chain(flipped) {
            let () = connection.set(&key, &damaged).unwrap();
            let Err(fault) = charge(&store, b"k", &quota, at) else { continue };
            // The script does not add up a whole log to see whether the sum before it is right; this program does, and
            // says so.
            let is_log = matches!(quota, Quota::SlidingLog(_)) && damaged.len() == value.len();
            let counts = |value: &[u8]| value.iter().rev().take(15).copied().collect::<Vec<u8>>();
            let differs = counts(&damaged) != counts(&value);
            let expected = if is_log && differs { "report this" } else { "is none of ours" };
            assert!(fault.to_string().contains(expected), "{quota:?}, {damaged:?}: {fault}");
        }
    }
}
