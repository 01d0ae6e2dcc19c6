//! The conformance suite, over the script alone, one server and a cluster.

use std::sync::OnceLock;

use tidegate_redis_kit::{Cluster, Server};
use tidegate_store::conformance::Harness;
use tidegate_store::{Reply, StoreError};
use tidegate_store_redis::RedisStore;
use tidegate_store_redis::testing::Scripted;

use crate::tools::{cluster_of, connect, options, prefix, runtime, standalone};

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

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

/// Waits on the runtime that the stores' tasks run on.
struct Over(fn() -> RedisStore);

impl Harness for Over {
    type Store = RedisStore;

    fn store(&self) -> RedisStore {
        self.0()
    }

    fn wait<T>(&self, reply: Reply<'_, T>) -> Result<T, StoreError> {
        runtime().block_on(reply)
    }
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

/// A cluster, where a batch lies on several nodes.
mod clustered {
    use tidegate_store::conformance_tests;

    use super::{Over, cluster, cluster_of, connect, options};

    conformance_tests!(Over(|| connect(options(cluster_of(cluster())))));
}
