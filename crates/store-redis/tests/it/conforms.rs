//! The conformance suite, over the script alone, one server and a cluster.

use tidegate_redis_kit::{Cluster, Server};
use tidegate_store::conformance::Harness;
use tidegate_store::{Reply, StoreError};
use tidegate_store_redis::RedisStore;
use tidegate_store_redis::testing::Scripted;

use crate::tools::{cluster_of, connect, options, prefix, runtime, standalone};

/// A server of one test; a static would outlive it, for those are never dropped.
struct Alone(Server);

impl Harness for Alone {
    type Store = RedisStore;

    fn store(&self) -> RedisStore {
        connect(options(standalone(self.0.port())))
    }

    fn wait<T>(&self, reply: Reply<'_, T>) -> Result<T, StoreError> {
        runtime().block_on(reply)
    }
}

fn scripted(server: Server) -> impl Fn() -> Scripted {
    move || Scripted::new(server.connection(), &prefix(), &[])
}

/// The script, asked by one blocking connection.
mod script {
    use tidegate_redis_kit::Server;

    tidegate_store::conformance_tests!(super::scripted(Server::start(&[])));
}

/// The script on the oldest Redis that is supported, whose errors and Lua are not the later ones'.
mod script_on_redis_6_2 {
    use tidegate_redis_kit::{Server, Version};

    tidegate_store::conformance_tests!(super::scripted(Server::start_version(Version::Redis62, &[])));
}

/// One Valkey.
mod valkey {
    use tidegate_redis_kit::{Server, Version};

    tidegate_store::conformance_tests!(super::Alone(Server::start_version(Version::Valkey, &[])));
}

/// One server.
mod alone {
    use tidegate_redis_kit::Server;

    tidegate_store::conformance_tests!(super::Alone(Server::start(&[])));
}

/// A cluster keeps every promise but those that only one server can:
/// - that a batch over several slots sees one instant: each node has its own clock;
/// - that a batch which is refused carries over the state of a key whose quota changed
///   (`only_a_decision_carries_a_state_over`, the one behaviour left out): slots after the one that refuses are only looked
///   at, so their states are carried over by the next batch that gets to them. None is refilled by that.
#[test]
fn a_cluster_behaves_as_one_server_does() {
    let cluster = Cluster::start();
    let harness = Clustered(&cluster);
    let mut failed = Vec::new();
    for (name, behaviour) in BEHAVIOURS {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| behaviour(&harness))).is_err() {
            failed.push(name);
        }
    }
    assert_eq!(failed, [""; 0]);
}

struct Clustered<'c>(&'c Cluster);

impl Harness for Clustered<'_> {
    type Store = RedisStore;

    fn store(&self) -> RedisStore {
        connect(options(cluster_of(self.0)))
    }

    fn wait<T>(&self, reply: Reply<'_, T>) -> Result<T, StoreError> {
        runtime().block_on(reply)
    }
}

type Behaviour = (&'static str, fn(&Clustered<'_>));

macro_rules! behaviours {
    ($($name:ident)*) => { [$((stringify!($name), |harness| tidegate_store::conformance::$name(harness))),*] };
}

const BEHAVIOURS: [Behaviour; 46] = behaviours! {
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
    each_algorithm_admits_its_numbers_and_then_refuses
    a_wait_is_exact_to_the_microsecond
    a_cost_above_capacity_is_never_admitted
    a_limit_of_zero_refuses_for_ever
    zero_units_take_nothing
    a_peek_writes_nothing
    time_that_goes_back_keeps_what_was_charged
    changed_numbers_mint_nothing
    a_smaller_plan_clamps
    a_month_of_the_calendar_ends_with_it
    a_lockout_locks_with_its_last_attempt
    attempts_are_forgotten_with_their_window
    a_refund_undoes_the_lock_it_began
    a_success_opens_the_lock
    a_change_of_plan_never_refills
    alternating_plans_admit_no_more_than_the_larger
    a_raised_rate_counts_from_the_change_on
    a_key_named_under_two_plans_is_charged_twice
    a_refund_gives_back_what_was_charged
    a_refund_never_gives_more_than_there_was
    a_refund_after_a_change_of_plan_gives_nothing
    a_reset_by_receipt_forgets_all_of_one_key
    a_thousand_charges_at_once_that_are_all_given_back_leave_nothing
    a_refund_of_a_batch_gives_back_each_charge
    a_refund_of_a_forgotten_key_gives_nothing
    limits_do_not_share
    keys_do_not_share
    any_bytes_are_a_key
    a_name_has_one_id
    a_reset_forgets_one_key_of_one_limit
    an_inspection_shows_the_state
    a_limit_that_was_never_given_out_is_an_error
    threads_together_get_no_more_than_the_limit
};
