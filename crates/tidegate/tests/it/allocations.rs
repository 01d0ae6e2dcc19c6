//! A check on a hot key allocates nothing: the allocator itself counts. Whoever adds an allocation to a request's way pays for
//! it at every request, and for the lock behind it at every other one's.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tidegate::{CheckOptions, Limit, Limiter, Quota, Span};

use crate::world::{Ask, by};

/// Returns how many allocations a check makes that has been made before.
fn allocations(mut check: impl FnMut()) -> u64 {
    check();
    check();
    allocation_counter::measure(check).count_total
}

/// Returns what a future answers at once, as all do that ask a memory store.
fn done<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a memory store answers at once"),
    }
}

/// Guards against a counter that sees nothing, by which every other test here would pass.
#[test]
fn an_allocation_is_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

#[test]
fn a_check_of_two_limits_in_code_allocates_nothing_whether_it_passes_or_not() {
    for (limit, passes) in [(1_000, true), (1, false)] {
        let counter = Quota::sliding_counter(limit, Span::from_secs(3_600)).unwrap();
        let limits = ["per-client", "per-account"].map(|name| Limit::new(name, counter));
        let limiter = Limiter::in_memory(limits).unwrap();
        let check = || {
            let keys = [("per-client", "192.0.2.7"), ("per-account", "odalys@example.com")];
            done(limiter.check_keys(keys, CheckOptions::default())).unwrap()
        };
        assert_eq!(allocations(|| drop(check())), 0, "with {limit}");
        assert_eq!(check().is_allowed(), passes);
    }
}

#[test]
fn a_check_of_a_request_by_two_rules_allocates_nothing_whether_it_passes_or_not() {
    for (limit, passes) in [(1_000, true), (1, false)] {
        let limiter = by(&format!(
            "
keys: {{ account: {{ header: x-account }} }}
rules:
  - name: all
    match: {{ path: /** }}
    limits:
      - {{ name: per-client, says: x, key: client_ip, token_bucket: {{ capacity: {limit}, refill: 1 per 1h }} }}
  - name: search
    match: {{ method: GET, path: '/shops/{{shop}}/search' }}
    limits:
      - {{ name: per-account, says: x, key: account, sliding_counter: {{ limit: {limit}, window: 1h }} }}
"
        ));
        let ask = Ask::get("/shops/17/search?q=tide").header("x-account", "odalys@example.com");
        let check = || done(limiter.check(&ask.as_seen()));
        assert_eq!(allocations(|| drop(check())), 0, "with {limit}");
        assert_eq!((check().is_allowed(), check().decisions().len()), (passes, 2));
    }
}

/// Requests that are under way at once each hold a verdict: with one spare buffer a thread, all but one would allocate.
#[test]
fn checks_allocate_nothing_while_other_verdicts_are_held() {
    let counter = Quota::sliding_counter(1_000, Span::from_secs(3_600)).unwrap();
    let limiter = Limiter::in_memory([Limit::new("per-client", counter)]).unwrap();
    let check = || done(limiter.check_key("per-client", "192.0.2.7")).unwrap();
    assert_eq!(allocations(|| drop([check(), check(), check()])), 0);
}
