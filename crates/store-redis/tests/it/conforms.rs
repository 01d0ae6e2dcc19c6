//! The conformance suite, over the script alone, one server and a cluster.

use std::sync::OnceLock;

use tidegate_redis_kit::{Cluster, Server, Version};
use tidegate_store::conformance::Harness;
use tidegate_store::{Reply, StoreError};
use tidegate_store_redis::RedisStore;

use crate::tools::{cluster_of, connect, options, runtime, standalone};

/// A server for the tests that share a process.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(&[]))
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

fn redis_6_2() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start_version(Version::Redis62, &[]))
}

fn valkey() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start_version(Version::Valkey, &[]))
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
    use tidegate_store::conformance_tests;
    use tidegate_store_redis::testing::Scripted;

    conformance_tests!(|| Scripted::new(super::server().connection(), &crate::tools::prefix(), &[]));
}

/// The script on the oldest Redis that is supported, whose errors and Lua are not the later ones'.
mod script_on_redis_6_2 {
    use tidegate_store::conformance_tests;
    use tidegate_store_redis::testing::Scripted;

    conformance_tests!(|| Scripted::new(super::redis_6_2().connection(), &crate::tools::prefix(), &[]));
}

/// One Valkey.
mod valkey {
    use tidegate_store::conformance_tests;

    use super::{Over, connect, options, standalone, valkey};

    conformance_tests!(Over(|| connect(options(standalone(valkey().port())))));
}

/// One server.
mod alone {
    use tidegate_store::conformance_tests;

    use super::{Over, connect, options, server, standalone};

    conformance_tests!(Over(|| connect(options(standalone(server().port())))));
}

/// A cluster, where a batch lies on several nodes.
mod clustered {
    use tidegate_store::conformance_tests;

    use super::{Over, cluster, cluster_of, connect, options};

    conformance_tests!(Over(|| connect(options(cluster_of(cluster())))));
}
