//! Random calls, compared decision by decision and state by state.

use tidegate_store_redis::testing::differential;

use tidegate_redis_kit::Server;

use super::scripted;

/// A second writing that decides otherwise than the first, in any place of the domain: shared limits would admit other
/// requests than those of one instance, and nobody could say which.
#[test]
fn the_script_decides_and_writes_as_the_naive_store_does() {
    let server = Server::start(&[]);
    let tally = differential(&scripted(&server, &[]), 1, 250_000).unwrap_or_else(|fault| panic!("{fault}"));
    let share = |count: u64, of: u64| assert!(count * of >= tally.decisions, "{count} of {tally:#?}");
    // A run that never meets what it is there for proves nothing.
    share(tally.refused, 4);
    share(tally.decisions - tally.refused, 4);
    share(tally.aimed, 10);
    share(tally.after_a_step_back, 20);
    let [clock, log, counter, token, leaky, hit, lockout] = tally.kinds;
    for count in [clock + hit, log, counter, token, leaky, lockout] {
        share(count, 10);
    }
    assert!(tally.refunds > 5_000 && tally.resets > 1_000, "{tally:#?}");
    assert!(tally.several > 1_000 && tally.long_logs > 300, "{tally:#?}");
}
