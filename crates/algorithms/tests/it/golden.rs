//! The golden tables of `tests/golden`, replayed.

#[path = "../golden/format.rs"]
mod format;

use std::collections::HashMap;

use format::{Bound, Case, Step};
use tidegate_algorithms::{Ask, Quota, State, Timestamp, decide, keep_until, peek, refund};

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

/// Replays a case; returns how many expectations it held.
fn replay(file: &str, case: &Case) -> usize {
    let (mut quota, mut state, mut receipts) = (None::<Quota>, None::<State>, HashMap::new());
    let mut held = 0;
    for (line, step) in &case.steps {
        let place = format!("{file}:{line} ({})", case.title);
        if let Step::Quota(next) = step {
            quota = Some(*next);
            continue;
        }
        let quota = quota.unwrap_or_else(|| panic!("{place} stands before its quota"));
        held += 1;
        match step {
            Step::Quota(_) => {}
            Step::Ask { at: now, cost, within, name, peek: peeks, expect } => {
                let ask = Ask::units(*cost);
                let ask = within.map_or(ask, |within| ask.within(within));
                if *peeks {
                    expect.hold(&place, &peek(&quota, state.as_ref(), ask, at(*now)));
                    continue;
                }
                let outcome = decide(&quota, state.as_ref(), ask, at(*now));
                expect.hold(&place, &outcome.decision);
                outcome.change.apply(&mut state);
                if let (Some(name), Some(receipt)) = (name, outcome.receipt) {
                    receipts.insert(name.as_str(), receipt);
                }
            }
            Step::Refund { at: now, name } => {
                let receipt = receipts.remove(name.as_str()).unwrap_or_else(|| panic!("{place}: no receipt"));
                refund(&quota, state.as_ref(), &receipt, at(*now)).apply(&mut state);
            }
            Step::Keep { at: now, until } => {
                let kept = state.as_ref().map_or(at(*now), |state| keep_until(&quota, state, at(*now)));
                assert_eq!(kept, at(*until), "{place} is kept");
            }
            Step::Bound { kind, span, most } => {
                let bound = match kind {
                    Bound::Closed => quota.most_in_closed(*span),
                    Bound::HalfOpen => quota.most_in_half_open(*span),
                    Bound::Idle => quota.most_from_idle(*span),
                    Bound::Started => quota.most_started_in_closed(*span),
                    Bound::Careful => match quota {
                        Quota::Lockout(lockout) => lockout.most_without_locking_in_closed(*span),
                        _ => panic!("{place} is no lockout's"),
                    },
                    Bound::Deny => u128::from(quota.requests_to_deny(*span).unwrap()),
                };
                assert_eq!(bound, *most, "{place} is the most");
            }
        }
    }
    held
}

macro_rules! tables {
    ($($name:ident: $file:literal, $least:literal;)*) => { $(
        #[test]
        fn $name() {
            let cases = format::read(include_str!(concat!("../golden/", $file)));
            let held: usize = cases.iter().map(|case| replay($file, case)).sum();
            assert!(held >= $least, "only {held} expectations were read from {}", $file);
        }
    )* };
}

tables! {
    fixed_window_table: "fixed_window.txt", 120;
    sliding_log_table: "sliding_log.txt", 30;
    sliding_counter_table: "sliding_counter.txt", 30;
    token_bucket_table: "token_bucket.txt", 90;
    leaky_bucket_table: "leaky_bucket.txt", 30;
    lockout_table: "lockout.txt", 100;
}
