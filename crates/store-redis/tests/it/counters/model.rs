//! Any order in which two programs count, against what INCR and EXPIRE would make of it.

use proptest::prelude::*;
use tidegate_redis_kit::Server;
use tidegate_store::Store;
use tidegate_store_redis::RedisStore;

use super::{a_minute, check, number, text};
use crate::tools::{runtime, store_of};

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
