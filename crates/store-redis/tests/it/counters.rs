//! Counters that other programs count as well, beside a client that counts as they do.

use std::time::Duration;

use proptest::prelude::*;
use redis::Value;
use tidegate_redis_kit::{Cluster, Server};
use tidegate_store::algorithms::{Anchor, Ask, Quota, Span};
use tidegate_store::{Check, CheckOutcome, Decided, Give, LimitId, Refund, Store};
use tidegate_store_redis::{COUNTER_RIGHTS, Finding, RIGHTS, RedisStore, Secret};

use crate::tools::{SOON, a_moment, an_hour, cluster_of, connect, options, runtime, standalone, store_of};

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

/// What one client of the counter does.
#[derive(Debug, Clone)]
enum Step {
    Ours(u32),
    Incr,
    IncrBy(i64),
    Expire(u64),
    Persist,
    Del,
    Look,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u32..4).prop_map(Step::Ours),
        3 => Just(Step::Incr),
        1 => (-3_i64..5).prop_map(Step::IncrBy),
        1 => (30_u64..90).prop_map(Step::Expire),
        1 => Just(Step::Persist),
        1 => Just(Step::Del),
        1 => Just(Step::Look),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What the other program would make of it: a number, and whether it has an end. Nothing ends meanwhile.
#[derive(Debug, Default)]
struct Model(Option<(i64, Option<u64>)>);

impl Model {
    fn add(&mut self, units: i64) -> i64 {
        let held = self.0.get_or_insert((0, None));
        held.0 += units;
        held.0
    }
}

fn play(server: &Server, store: &RedisStore, key: &str, steps: &[Step]) {
    let (limit, quota, mut model) = (store.plain_counter("r/l"), a_minute(5), Model::default());
    for step in steps {
        match step {
            Step::Ours(0) | Step::Look => {
                let units = u32::from(matches!(step, Step::Look));
                let asked = [check(limit, key.as_bytes(), &quota, units)];
                let looked = runtime().block_on(store.peek(&asked, None)).unwrap();
                let count = model.0.map_or(0, |held| held.0);
                assert_eq!(looked.admitted, units == 0 || count < 5, "{steps:?}");
            }
            Step::Ours(units) => {
                let asked = [check(limit, key.as_bytes(), &quota, *units)];
                let decided = runtime().block_on(store.decide(&asked, None)).unwrap();
                let count = model.add(i64::from(*units));
                let held = model.0.as_mut().unwrap();
                held.1 = held.1.or(Some(60));
                assert_eq!(decided.admitted, count <= 5, "{steps:?}");
                let decision = decided.outcomes[0].decision;
                assert_eq!(i64::from(decision.remaining), (5 - count.max(0)).max(0), "{steps:?}");
                let ends = decision.reset_after.ceil_secs();
                assert!(ends.abs_diff(held.1.unwrap()) <= 10, "{ends} {held:?} {steps:?}");
            }
            Step::Incr => assert_eq!(number(server, &format!("INCR {key}")), model.add(1)),
            Step::IncrBy(units) => {
                assert_eq!(number(server, &format!("INCRBY {key} {units}")), model.add(*units));
            }
            Step::Expire(secs) => {
                number(server, &format!("EXPIRE {key} {secs}"));
                if let Some(held) = &mut model.0 {
                    held.1 = Some(*secs);
                }
            }
            Step::Persist => {
                number(server, &format!("PERSIST {key}"));
                if let Some(held) = &mut model.0 {
                    held.1 = None;
                }
            }
            Step::Del => {
                number(server, &format!("DEL {key}"));
                model.0 = None;
            }
        }
        let held = text(server, &format!("GET {key}")).map(|text| text.parse::<i64>().unwrap());
        assert_eq!(held, model.0.map(|held| held.0), "{steps:?}");
    }
}

/// Any order in which two programs count, and one of them does odd things, leaves what INCR would.
#[test]
fn whatever_others_do_the_counter_counts_as_theirs() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    let mut run = 0;
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 48, ..ProptestConfig::default() });
    let next = std::cell::RefCell::new(&mut run);
    runner
        .run(&steps(), |steps| {
            **next.borrow_mut() += 1;
            let key = format!("rate-limit:192.0.2.7:/{}", next.borrow());
            play(&server, &store, &key, &steps);
            Ok(())
        })
        .unwrap();
}

/// Keys of counters lie in slots of their own, beside those of other limits.
#[test]
fn in_a_cluster_each_counter_is_where_its_name_leads() {
    let cluster = Cluster::start();
    let store = connect(options(cluster_of(&cluster)));
    runtime().block_on(async {
        crate::tools::recovered(&store).await;
        let (own, log) = (store.limit("r/own"), an_hour(100));
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(2));
        for address in 0..20 {
            let key = format!("rate-limit:192.0.2.{address}:/a");
            let batch = [check(own, key.as_bytes(), &log, 1), check(limit, key.as_bytes(), &quota, 1)];
            let admitted =
                [decide(&store, &batch).await, decide(&store, &batch).await, decide(&store, &batch).await];
            assert_eq!(admitted.map(|decided| decided.admitted), [true, true, false], "{key}");
            let left = store.peek(&batch[..1], None).await.unwrap();
            assert_eq!(left.outcomes[0].decision.remaining, 98, "what refused was given back");
        }
    });
}

/// A server that does not answer is an error to the limiter, which has the rule's choice; never an admission.
#[test]
fn a_server_that_is_gone_is_an_error_that_says_whether_it_counted() {
    let mut server = Server::start(&[]);
    let mut options = options(standalone(server.port()));
    options.timeout = Duration::from_millis(300);
    let store = connect(options);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        crate::tools::recovered(&store).await;
        server.ask("SCRIPT FLUSH");
        assert!(
            ask(&store, limit, &quota).await.decision.is_admitted(),
            "a script that was forgotten is brought back"
        );
        server.freeze();
        let frozen = store.decide(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
        assert!(frozen.may_have_counted());
        let looked = store.peek(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
        assert!(!looked.may_have_counted());
        server.thaw();
        tokio::task::block_in_place(|| server.kill());
        assert!(store.decide(&[check(limit, KEY, &quota, 1)], None).await.is_err());
    });
}

/// An operator who grants what the page lists has to be done.
#[test]
fn a_user_needs_the_rights_to_counters_and_no_more() {
    let server = Server::start(&[]);
    let mut own = options(standalone(server.port()));
    let prefix = own.prefix.clone();
    let rights = format!("~{prefix}:* ~rate-limit:* {RIGHTS} {COUNTER_RIGHTS}");
    server.ask(&format!("ACL SETUSER tidegate reset on >word {rights}"));
    own.username = Some("tidegate".to_owned());
    own.password = Some(Secret::new("word"));
    own.shared_counters = vec!["rate-limit".to_owned()];
    let store = connect(own);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        let outcome = ask(&store, limit, &quota).await;
        let refund = [Refund { receipt: outcome.receipt.unwrap(), quota: &quota, give: Give::Charge }];
        store.refund(&refund, None).await.unwrap();
        store.reset(limit, KEY).await.unwrap();
        let told =
            |findings: Vec<Finding>| findings.into_iter().find(|finding| finding.about == "shared counters");
        assert_eq!(told(store.diagnose(SOON).await), None);
        tokio::task::block_in_place(|| {
            server.ask(&format!("ACL SETUSER tidegate -decrby resetkeys ~{prefix}:*"))
        });
        let found = told(store.diagnose(SOON).await).expect("what is missing is told");
        assert_eq!(found.remedy.as_deref(), Some("ACL SETUSER tidegate +decrby ~rate-limit:*"), "{found:?}");
        assert!(store.decide(&[check(limit, KEY, &quota, 1)], None).await.is_err());
        assert_eq!(get(&server), None, "nothing was counted");
    });
}
