//! A server whose clock steps.

use tidegate_redis_kit::Clocked;
use tidegate_store::Store;

use crate::tools::{an_hour, one, runtime, store_of};

const HOUR: i64 = 3_600;

/// A clock that goes back must not admit anew: what was charged stays charged.
#[test]
fn a_clock_set_back_admits_nothing_anew() {
    let clocked = Clocked::start();
    let store = store_of(&clocked.server);
    runtime().block_on(async {
        let (limit, quota) = (store.limit("l"), an_hour(3));
        for _ in 0..3 {
            assert!(one(&store, limit, b"ada", &quota).await.unwrap());
        }
        for back in [-1, -HOUR, -24 * HOUR] {
            clocked.step_to(back);
            assert!(!one(&store, limit, b"ada", &quota).await.unwrap(), "{back} s");
        }
    });
}

/// Expiry and windows follow one clock: what a step ahead passes is over, and no more than a window's units are there anew.
#[test]
fn a_clock_set_ahead_ends_the_windows_that_it_passes() {
    let clocked = Clocked::start();
    let store = store_of(&clocked.server);
    runtime().block_on(async {
        let (limit, quota) = (store.limit("l"), an_hour(3));
        for hours in [0, 2, 48] {
            clocked.step_to(hours * HOUR);
            let mut admitted = 0;
            for _ in 0..5 {
                admitted += u32::from(one(&store, limit, b"ada", &quota).await.unwrap());
            }
            assert_eq!(admitted, 3, "{hours} h ahead");
        }
    });
}
