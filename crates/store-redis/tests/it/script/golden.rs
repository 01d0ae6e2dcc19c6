//! The golden tables of the algorithms, asked of the script.

#[path = "../../../../algorithms/tests/golden/format.rs"]
#[allow(dead_code, reason = "bounds are no business of a script's")]
mod format;

use std::collections::HashMap;

use format::{Case, Step};
use tidegate_redis_kit::Server;
use tidegate_store::algorithms::{Ask, Quota, Timestamp, keep_until};
use tidegate_store::{Check, Give, Refund, Reply, Store as _};
use tidegate_store_redis::testing::Scripted;

use super::scripted;

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

fn answer<T>(reply: Reply<'_, T>) -> T {
    reply.now().expect("the script is asked at once").unwrap_or_else(|error| panic!("{error}"))
}

/// Replays a case as far as its numbers stay: a store carries a state over where they change, and the table does not.
/// Returns how many expectations it held.
fn replay(store: &Scripted, file: &str, case: &Case) -> usize {
    let (mut quota, mut receipts, mut held) = (None::<Quota>, HashMap::new(), 0);
    let limit = store.limit(&format!("{file}: {}", case.title));
    for (line, step) in &case.steps {
        let place = format!("{file}:{line} ({})", case.title);
        if let Step::Quota(next) = step {
            if quota.is_some() {
                return held;
            }
            quota = Some(*next);
            continue;
        }
        let quota = quota.unwrap_or_else(|| panic!("{place} stands before its quota"));
        match step {
            Step::Ask { at: now, cost, within, name, peek, expect } => {
                let ask = Ask::units(*cost);
                let ask = within.map_or(ask, |within| ask.within(within));
                let checks = [Check { limit, key: b"k", quota: &quota, ask, shadow: false }];
                let now = Some(at(*now));
                let decided =
                    answer(if *peek { store.peek(&checks, now) } else { store.decide(&checks, now) });
                expect.hold(&place, &decided.outcomes[0].decision);
                if let (Some(name), Some(receipt)) = (name, decided.outcomes[0].receipt) {
                    receipts.insert(name.as_str(), receipt);
                }
            }
            Step::Refund { at: now, name } => {
                let receipt = receipts.remove(name.as_str()).unwrap_or_else(|| panic!("{place}: no receipt"));
                let refund = Refund { receipt, quota: &quota, give: Give::Charge };
                answer(store.refund(&[refund], Some(at(*now))));
            }
            Step::Keep { at: now, until } => {
                let state = answer(store.inspect(limit, b"k"));
                let kept = state.map_or(at(*now), |state| keep_until(&quota, &state, at(*now)));
                assert_eq!(kept, at(*until), "{place} is kept");
            }
            Step::Quota(_) | Step::Bound { .. } => continue,
        }
        held += 1;
    }
    held
}

macro_rules! tables {
    ($($name:ident: $file:literal, $least:literal;)*) => { $(
        /// Decisions that somebody worked out by hand, and no other writing.
        #[test]
        fn $name() {
            let server = Server::start(&[]);
            let store = scripted(&server, &[]);
            let cases = format::read(include_str!(concat!("../../../../algorithms/tests/golden/", $file)));
            let held: usize = cases.iter().map(|case| replay(&store, $file, case)).sum();
            assert!(held >= $least, "only {held} expectations were read from {}", $file);
        }
    )* };
}

tables! {
    the_script_keeps_the_fixed_window_table: "fixed_window.txt", 100;
    the_script_keeps_the_sliding_log_table: "sliding_log.txt", 20;
    the_script_keeps_the_sliding_counter_table: "sliding_counter.txt", 20;
    the_script_keeps_the_token_bucket_table: "token_bucket.txt", 50;
    the_script_keeps_the_leaky_bucket_table: "leaky_bucket.txt", 20;
    the_script_keeps_the_lockout_table: "lockout.txt", 80;
}
