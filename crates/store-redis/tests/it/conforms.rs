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

/// What a cluster does not promise, and why. Everything else of the suite it does.
const LEFT_OUT: [(&str, &str); 6] = [
    ("a_batch_sees_one_instant", "each node has a clock of its own"),
    ("a_refused_batch_still_redates", "slots after the one that refuses are only looked at"),
    ("only_a_decision_carries_a_state_over", "the same: the next batch that gets to them carries over"),
    ("a_wait_is_exact_across_a_change_of_plan", "the same"),
    ("it_decides_as_the_naive_store_does", "the same, and what was charged and given back has another date"),
    ("it_decides_as_the_naive_store_does_while_time_goes_back", "the same"),
];

#[test]
fn a_cluster_behaves_as_one_server_does() {
    let cluster = Cluster::start();
    let harness = Clustered(&cluster);
    let mut failed = Vec::new();
    for (name, _) in LEFT_OUT {
        assert!(BEHAVIOURS.iter().any(|(known, _)| *known == name), "{name} is no behaviour");
    }
    for (name, behaviour) in BEHAVIOURS.iter().filter(|(name, _)| LEFT_OUT.iter().all(|(out, _)| out != name))
    {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| behaviour(&harness))).is_err() {
            failed.push(*name);
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
    (=> $($name:ident)*) => { &[$((stringify!($name), |harness| tidegate_store::conformance::$name(harness))),*] };
}

const BEHAVIOURS: &[Behaviour] = tidegate_store::each_behaviour! { [behaviours] };
