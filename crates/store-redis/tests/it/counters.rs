//! Counters that other programs count as well, beside a client that counts as they do.

mod model;
mod servers;

use redis::Value;
use tidegate_redis_kit::Server;
use tidegate_store::algorithms::{Anchor, Ask, Quota, Span, Timestamp, decide as decide_on};
use tidegate_store::{Check, CheckOutcome, Decided, Give, LimitId, Refund, Store};
use tidegate_store_redis::{HeldValue, RedisStore};

use crate::tools::{SOON, a_moment, an_hour, runtime, store_of};

const KEY: &[u8] = b"rate-limit:192.0.2.7:/a";

fn counter(limit: u64, window: Span) -> Quota {
    Quota::fixed_window(limit, window, Anchor::FirstHit).unwrap()
}

fn a_minute(limit: u64) -> Quota {
    counter(limit, Span::from_secs(60))
}

fn check<'a>(limit: LimitId, key: &'a [u8], quota: &'a Quota, cost: u32) -> Check<'a> {
    Check { limit, key, quota, ask: Ask::units(cost), shadow: false }
}

async fn decide(store: &RedisStore, checks: &[Check<'_>]) -> Decided {
    tokio::time::timeout(SOON, store.decide(checks, None)).await.unwrap().unwrap()
}

/// Asks one counter for one unit.
async fn ask(store: &RedisStore, limit: LimitId, quota: &Quota) -> CheckOutcome {
    decide(store, &[check(limit, KEY, quota, 1)]).await.outcomes[0]
}

fn text(server: &Server, words: &str) -> Option<String> {
    match server.ask(words) {
        Value::BulkString(bytes) => Some(String::from_utf8(bytes).unwrap()),
        Value::Nil => None,
        other => panic!("{words}: {other:?}"),
    }
}

fn number(server: &Server, words: &str) -> i64 {
    match server.ask(words) {
        Value::Int(number) => number,
        other => panic!("{words}: {other:?}"),
    }
}

fn get(server: &Server) -> Option<String> {
    text(server, "GET rate-limit:192.0.2.7:/a")
}

/// The other program's own way to count: whatever differs from it is not shared.
#[test]
fn the_counter_is_the_one_that_incr_and_expire_make() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        crate::tools::recovered(&store).await;
        let before = number(&server, "DBSIZE");
        let first = ask(&store, limit, &quota).await;
        assert_eq!((get(&server).as_deref(), first.decision.remaining), (Some("1"), 2));
        let left = number(&server, "PTTL rate-limit:192.0.2.7:/a");
        assert!((50_000..=60_000).contains(&left), "{left}");
        let told = first.decision.reset_after.as_micros() / 1_000;
        assert!(told.abs_diff(60_001) <= 1, "{told}");
        // Somebody else counts, and is counted.
        assert_eq!(number(&server, "INCR rate-limit:192.0.2.7:/a"), 2);
        assert!(ask(&store, limit, &quota).await.decision.is_admitted());
        let refused = ask(&store, limit, &quota).await;
        assert!(!refused.decision.is_admitted() && refused.receipt.is_none());
        assert_eq!(get(&server).as_deref(), Some("4"), "what is refused counts as well");
        let wait = refused.decision.retry().unwrap().wait().unwrap().as_micros() / 1_000;
        assert!(number(&server, "PTTL rate-limit:192.0.2.7:/a") <= i64::try_from(wait).unwrap());
        assert_eq!(number(&server, "DBSIZE"), before + 1, "nothing else is written");
    });
}

/// A window that others' counting lengthens never ends for whoever asks all the time.
#[test]
fn the_window_ends_so_long_after_its_first_request_and_not_before() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), counter(2, Span::from_millis(700)));
        let first = decide(&store, &[check(limit, KEY, &quota, 1)]).await;
        let ends = first.at.as_micros() + first.outcomes[0].decision.reset_after.as_micros();
        assert!(ask(&store, limit, &quota).await.decision.is_admitted());
        let mut refusals = 0;
        let next = loop {
            let decided = decide(&store, &[check(limit, KEY, &quota, 1)]).await;
            if decided.admitted {
                break decided;
            }
            refusals += 1;
            let told = decided.at.as_micros() + decided.outcomes[0].decision.reset_after.as_micros();
            assert!(told.abs_diff(ends) <= 2_000, "{told} {ends}");
            a_moment().await;
        };
        assert!(refusals > 0);
        // Both are read from the server's clock, by two calls that are a millisecond of its apart at most.
        assert!(next.at.as_micros() + 2_000 >= ends, "{} {ends}", next.at.as_micros());
        assert_eq!(get(&server).as_deref(), Some("1"));
    });
}

/// Another program that stops between INCR and EXPIRE leaves a counter that would shut its client out for ever.
#[test]
fn a_counter_without_an_end_gets_one() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        server.ask("SET rate-limit:192.0.2.7:/a 7");
        let looked = store.peek(&[check(limit, KEY, &quota, 1)], None).await.unwrap();
        assert!(!looked.admitted && looked.outcomes[0].decision.reset_after >= Span::from_secs(60));
        assert_eq!(number(&server, "PTTL rate-limit:192.0.2.7:/a"), -1, "a look writes nothing");
        assert!(!ask(&store, limit, &quota).await.decision.is_admitted());
        assert!(number(&server, "PTTL rate-limit:192.0.2.7:/a") > 0);
        assert_eq!(get(&server).as_deref(), Some("8"));
    });
}

/// One value that is no number must not take the limiter down, nor be written over.
#[test]
fn a_value_that_is_no_number_fails_that_key_alone() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        for make in ["SET rate-limit:192.0.2.7:/a 1.5", "HSET rate-limit:192.0.2.7:/a f 1"] {
            server.ask("DEL rate-limit:192.0.2.7:/a");
            server.ask(make);
            let bad = [check(limit, KEY, &quota, 1)];
            let good = [check(limit, b"rate-limit:192.0.2.7:/b", &quota, 1)];
            let (failed, admitted) = tokio::join!(store.decide(&bad, None), store.decide(&good, None));
            let words = failed.unwrap_err().to_string();
            assert!(
                words.contains("rate-limit:192.0.2.7:/a") && words.contains("no whole number"),
                "{words}"
            );
            assert!(admitted.unwrap().admitted);
            assert!(store.inspect(limit, KEY).await.is_err());
            store.reset(limit, KEY).await.unwrap();
            assert!(ask(&store, limit, &quota).await.decision.is_admitted(), "a reset mends it");
            server.ask("DEL rate-limit:192.0.2.7:/b");
        }
        assert!(store.measures().events.iter().any(|(name, count)| *name == "foreign_values" && *count > 1));
    });
}

/// Redis refuses to count past 2^63: who gets there must stay refused.
#[test]
fn a_counter_that_can_count_no_further_refuses() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(1 << 30));
        server.ask("SET rate-limit:192.0.2.7:/a 9223372036854775807");
        for _ in 0..2 {
            let outcome = ask(&store, limit, &quota).await;
            assert!(!outcome.decision.is_admitted());
            assert_eq!(outcome.decision.remaining, 0);
        }
        assert_eq!(get(&server).as_deref(), Some("9223372036854775807"));
        assert!(number(&server, "PTTL rate-limit:192.0.2.7:/a") > 0);
    });
}

/// What is given back twice, or into the next window, is quota that nobody had.
#[test]
fn a_charge_is_given_back_to_its_own_window_and_never_below_nothing() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        let receipt = ask(&store, limit, &quota).await.receipt.unwrap();
        let back = [Refund { receipt, quota: &quota, give: Give::Charge }];
        assert!(ask(&store, limit, &quota).await.receipt.is_some());
        store.refund(&back, None).await.unwrap();
        assert_eq!(get(&server).as_deref(), Some("1"));
        // The other program has started its counter anew meanwhile: another window.
        server.ask("SET rate-limit:192.0.2.7:/a 2 PX 30000");
        store.refund(&back, None).await.unwrap();
        assert_eq!(get(&server).as_deref(), Some("2"));
        // It has put it lower than what was charged.
        let receipt = ask(&store, limit, &quota).await.receipt.unwrap();
        server.ask("DECRBY rate-limit:192.0.2.7:/a 3");
        store.refund(&[Refund { receipt, quota: &quota, give: Give::Charge }], None).await.unwrap();
        assert_eq!(get(&server).as_deref(), Some("0"));
        server.ask("INCRBY rate-limit:192.0.2.7:/a 2");
        store.refund(&[Refund { receipt, quota: &quota, give: Give::All }], None).await.unwrap();
        assert_eq!(get(&server), None);
    });
}

/// An end that is the server's cannot be told by an instant of the caller's: the answer would be neither's.
#[test]
fn an_instant_of_the_callers_is_refused() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        let asked = [check(limit, KEY, &quota, 1)];
        let error = store.decide(&asked, Some(Timestamp::MAX)).await.unwrap_err();
        assert!(error.to_string().contains("ask without one") && !error.may_have_counted(), "{error}");
        assert_eq!(get(&server), None);
    });
}

/// An operator who is told "nothing" of a counter that shuts somebody out looks for the fault elsewhere.
#[test]
fn a_look_tells_the_count_and_its_end() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        let look = async || store.look(limit, KEY, &quota).await.unwrap().value;
        assert_eq!(look().await, None);
        let now = decide(&store, &[check(limit, KEY, &quota, 1)]).await.at;
        let remaining = |seen: &HeldValue| {
            let (state, quota) = &seen.states.as_ref().unwrap()[0];
            decide_on(quota, Some(state), Ask::units(0), now).decision.remaining
        };
        let seen = look().await.unwrap();
        assert_eq!(remaining(&seen), 2);
        assert!(seen.forgotten_in.is_some());
        server.ask("SET rate-limit:192.0.2.7:/a 9");
        let seen = look().await.unwrap();
        assert_eq!((remaining(&seen), seen.forgotten_in), (0, None), "without an end");
        for foreign in ["1.5", "007", "+1"] {
            server.ask(&format!("SET rate-limit:192.0.2.7:/a {foreign}"));
            assert_eq!(look().await.unwrap().states, None, "{foreign}");
        }
    });
}

/// A counter that refuses must leave every other limit as it was, and one of ours that refuses must not count there.
#[test]
fn a_batch_is_charged_whole_or_given_back() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (own, log) = (store.limit("r/own"), an_hour(2));
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(1));
        let (wide, many) = (store.plain_counter("r/wide"), a_minute(100));
        let batch =
            [check(own, b"k", &log, 1), check(wide, b"wide:k", &many, 1), check(limit, KEY, &quota, 1)];
        let first = decide(&store, &batch).await;
        assert!(first.admitted && first.outcomes.iter().all(|outcome| outcome.receipt.is_some()));
        let refused = decide(&store, &batch).await;
        assert!(!refused.admitted && refused.outcomes.iter().all(|outcome| outcome.receipt.is_none()));
        let remaining: Vec<u32> = refused.outcomes.iter().map(|outcome| outcome.decision.remaining).collect();
        assert_eq!(remaining, [1, 99, 0], "untouched numbers");
        assert_eq!(text(&server, "GET wide:k").as_deref(), Some("1"), "given back");
        assert_eq!(get(&server).as_deref(), Some("2"), "what refuses counts");
        // Ours refuses: no counter is touched.
        server.ask("SET rate-limit:192.0.2.7:/a 0 KEEPTTL");
        assert!(decide(&store, &batch).await.admitted);
        server.ask("SET rate-limit:192.0.2.7:/a 0 KEEPTTL");
        assert!(!decide(&store, &batch).await.admitted);
        assert_eq!(get(&server).as_deref(), Some("0"));
        // A shadow counter refuses nothing.
        let watched = [Check { shadow: true, ..batch[2] }, batch[1]];
        server.ask("SET rate-limit:192.0.2.7:/a 5 KEEPTTL");
        assert!(decide(&store, &watched).await.admitted);
    });
}

/// A counter that lets a crowd past its limit is what the other program has a script against.
#[test]
fn a_crowd_of_two_programs_gets_the_limit_between_them() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    let quota = a_minute(500);
    runtime().block_on(async {
        let limit = store.plain_counter("r/l");
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let store = store.clone();
            tasks.spawn(async move {
                let mut admitted = 0;
                for _ in 0..20 {
                    admitted += i64::from(ask(&store, limit, &quota).await.decision.is_admitted());
                }
                admitted
            });
        }
        let mut other = server.connection();
        let others = tokio::task::spawn_blocking(move || {
            let mut admitted = 0;
            for _ in 0..100 {
                let count: i64 = redis::cmd("INCR").arg(KEY).query(&mut other).unwrap();
                if count == 1 {
                    let _: i64 = redis::cmd("EXPIRE").arg(KEY).arg(60).query(&mut other).unwrap();
                }
                admitted += i64::from(count <= 500);
            }
            admitted
        });
        let ours: i64 = tokio::time::timeout(SOON, tasks.join_all()).await.unwrap().into_iter().sum();
        assert_eq!(ours + others.await.unwrap(), 500);
        assert_eq!(get(&server).as_deref(), Some("1380"));
        let calls = store.measures().calls[0].1;
        assert!(calls < 1_280, "questions are gathered: {calls} calls for 1,280");
    });
}
