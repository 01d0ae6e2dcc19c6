//! One behaviour suite for every store: each function is a behaviour and a test of its own.
//!
//! [`conformance_tests!`](crate::conformance_tests) makes a test of each for one store:
//!
//! ```
//! # mod tests {
//! use tidegate_store::{MemoryOptions, MemoryStore, conformance_tests};
//!
//! conformance_tests!(|| MemoryStore::with_secret(MemoryOptions::default(), [7; 16]));
//! # }
//! ```
//!
//! A store that answers over a network implements [`Harness`] instead, to say how its replies are waited for. Each
//! behaviour asks for a store of its own and passes every instant.

mod batches;
mod differential;
mod keys;
mod lockout;
mod naive;
mod numbers;
mod plans;
mod refunds;
mod single;
mod threads;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tidegate_algorithms::{Anchor, Ask, Calendar, Quota, Rate, Span, State, Timestamp};

use crate::{Check, Decided, LimitId, Refund, Reply, Store, StoreError};

pub use batches::*;
pub use differential::*;
pub use keys::*;
pub use lockout::*;
pub use naive::Naive;
pub use numbers::Numbers;
pub use plans::*;
pub use refunds::*;
pub use single::*;
pub use threads::*;

/// Makes a test of each behaviour, for the store that a [`Harness`] builds.
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr) => {
        $crate::each_behaviour! { [$crate::conformance_tests] $harness }
    };
    ($harness:expr => $($behaviour:ident)*) => {
        $(
            #[test]
            fn $behaviour() {
                $crate::conformance::$behaviour(&$harness);
            }
        )*
    };
}

/// Gives the names of all behaviours to a macro, which stands in brackets, behind what else it is to be given and `=>`.
#[macro_export]
macro_rules! each_behaviour {
    ([$($then:tt)*] $($given:tt)*) => {
        $($then)* ! { $($given)* =>
            a_batch_is_charged_wholly
            a_refused_batch_charges_nothing
            every_check_is_evaluated_after_a_refusal
            the_wait_of_a_batch_is_the_longest
            a_shadow_check_never_blocks
            a_shadow_check_is_charged_as_if_enforced
            a_shadow_check_that_refuses_is_not_charged
            a_shadow_check_is_not_charged_when_an_enforced_one_refuses
            a_key_named_twice_sees_its_first_charge
            a_key_named_twice_is_left_alone_when_the_second_refuses
            an_empty_batch_is_admitted
            outcomes_come_in_the_order_of_checks
            more_checks_than_fit_without_an_allocation
            a_batch_sees_one_instant
            each_algorithm_admits_its_numbers_and_then_refuses
            a_wait_is_exact_to_the_microsecond
            a_cost_above_capacity_is_never_admitted
            a_limit_of_zero_refuses_for_ever
            zero_units_take_nothing
            a_peek_writes_nothing
            time_that_goes_back_keeps_what_was_charged
            a_refused_batch_still_redates
            changed_numbers_mint_nothing
            a_smaller_plan_clamps
            a_month_of_the_calendar_ends_with_it
            a_lockout_locks_with_its_last_attempt
            attempts_are_forgotten_with_their_window
            a_refund_undoes_the_lock_it_began
            a_success_opens_the_lock
            a_change_of_plan_never_refills
            alternating_plans_admit_no_more_than_the_larger
            alternating_plans_stay_within_both_bounds
            a_raised_rate_counts_from_the_change_on
            a_wait_is_exact_across_a_change_of_plan
            only_a_decision_carries_a_state_over
            a_key_named_under_two_plans_is_charged_twice
            a_refund_gives_back_what_was_charged
            a_refund_never_gives_more_than_there_was
            a_refund_after_a_change_of_plan_gives_nothing
            a_reset_by_receipt_forgets_all_of_one_key
            a_thousand_charges_at_once_that_are_all_given_back_leave_nothing
            a_refund_of_a_batch_gives_back_each_charge
            a_refund_of_a_forgotten_key_gives_nothing
            what_a_state_holds_is_given_back_by_the_keys_name
            limits_do_not_share
            keys_do_not_share
            any_bytes_are_a_key
            a_name_has_one_id
            a_reset_forgets_one_key_of_one_limit
            an_inspection_shows_the_state
            a_limit_that_was_never_given_out_is_an_error
            it_answers_a_ping
            it_decides_as_the_naive_store_does
            it_decides_as_the_naive_store_does_while_time_goes_back
            threads_together_get_no_more_than_the_limit
            overlapping_batches_are_never_half_charged
        }
    };
}

/// How to get a store and wait for what it answers.
pub trait Harness: Sync {
    /// The kind of store.
    type Store: Store;

    /// Builds an empty store.
    fn store(&self) -> Self::Store;

    /// Waits for an answer on this thread.
    ///
    /// # Errors
    /// The store's own.
    fn wait<T>(&self, reply: Reply<'_, T>) -> Result<T, StoreError> {
        block_on(reply)
    }
}

impl<S: Store, F: Fn() -> S + Sync> Harness for F {
    type Store = S;

    fn store(&self) -> S {
        self()
    }
}

/// Waits for a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A store under test, and how to wait for it.
struct Bench<'h, H: Harness> {
    harness: &'h H,
    store: H::Store,
}

impl<'h, H: Harness> Bench<'h, H> {
    fn new(harness: &'h H) -> Self {
        Self { harness, store: harness.store() }
    }

    fn limit(&self, name: &str) -> LimitId {
        self.store.limit(name)
    }

    fn decide(&self, checks: &[Check<'_>], at: Timestamp) -> Decided {
        self.wait(self.store.decide(checks, Some(at)))
    }

    fn peek(&self, checks: &[Check<'_>], at: Timestamp) -> Decided {
        self.wait(self.store.peek(checks, Some(at)))
    }

    fn refund(&self, refunds: &[Refund<'_>], at: Timestamp) {
        self.wait(self.store.refund(refunds, Some(at)));
    }

    fn inspect(&self, limit: LimitId, key: &[u8]) -> Option<State> {
        self.wait(self.store.inspect(limit, key))
    }

    fn wait<T>(&self, reply: Reply<'_, T>) -> T {
        self.harness.wait(reply).unwrap_or_else(|error| panic!("the store did not answer: {error}"))
    }

    /// Asks for one unit after the other until one is refused, and returns how many were admitted.
    fn drain(&self, check: Check<'_>, at: Timestamp) -> u32 {
        (0..1_000).take_while(|_| self.decide(&[check], at).admitted).count().try_into().unwrap_or(u32::MAX)
    }

    /// Returns the units that are left to a key.
    fn left(&self, check: Check<'_>, at: Timestamp) -> u32 {
        let decided = self.peek(&[Check { ask: Ask::units(0), ..check }], at);
        decided.outcomes.first().map_or(0, |outcome| outcome.decision.remaining)
    }
}

/// Noon of a day in 2023: half a day from every boundary of the windows below.
fn noon() -> Timestamp {
    Timestamp::saturating_from_micros((1_700_000_000 / 86_400 * 86_400 + 43_200) * 1_000_000)
}

fn secs(count: u64) -> Span {
    Span::from_secs(count)
}

fn day() -> Span {
    secs(86_400)
}

fn rate(units: u64, period: Span) -> Rate {
    Rate::new(units, period).unwrap_or_else(|error| panic!("{error}"))
}

fn built(quota: Result<Quota, tidegate_algorithms::QuotaError>) -> Quota {
    quota.unwrap_or_else(|error| panic!("{error}"))
}

/// One quota of each algorithm that admits `units` at once and hardly anything more for hours.
fn each_algorithm(units: u64) -> [Quota; 8] {
    [
        built(Quota::fixed_window(units, day(), Anchor::Clock)),
        built(Quota::fixed_window(units, day(), Anchor::FirstHit)),
        built(Quota::sliding_log(units, day())),
        built(Quota::sliding_counter(units, day())),
        built(Quota::token_bucket(units, rate(1, day()))),
        built(Quota::leaky_bucket(rate(1, day()), units - 1)),
        built(Quota::lockout(units, day(), day())),
        built(Quota::calendar_window(units, Calendar::Month)),
    ]
}

fn check<'a>(limit: LimitId, key: &'a [u8], quota: &'a Quota) -> Check<'a> {
    Check { limit, key, quota, ask: Ask::ONE, shadow: false }
}

fn asking(units: u32, check: Check<'_>) -> Check<'_> {
    Check { ask: Ask::units(units), ..check }
}

fn shadow(check: Check<'_>) -> Check<'_> {
    Check { shadow: true, ..check }
}
