//! A primary that fails over.

use std::time::Duration;

use tidegate_redis_kit::Watched;
use tidegate_store::Store;
use tidegate_store_redis::Servers;

use crate::tools::{an_hour, connect, crowd, one, options, recovered, runtime};

/// After a failover counts are there, but for what was not replicated yet; nothing is restarted.
#[test]
fn a_failover_is_followed_and_counts_stay() {
    let mut watched = Watched::start();
    let servers = Servers::Sentinel {
        sentinels: watched.addresses(),
        name: watched.name().to_owned(),
        username: None,
        password: None,
    };
    let mut options = options(servers);
    options.timeout = Duration::from_secs(1);
    let store = connect(options);
    runtime().block_on(async {
        let [admitted, ..] = crowd(&store, 8, 5, an_hour(100)).await;
        assert_eq!(admitted, 40);
        // What is replicated is not lost: the replica has taken it in.
        let replicated = || {
            let written = watched.primary.info("master_repl_offset")?;
            (watched.replica.info("slave_repl_offset")? >= written).then_some(())
        };
        tokio::task::block_in_place(|| tidegate_redis_kit::soon("the replica", replicated));
        tokio::task::block_in_place(|| watched.primary.kill());
        let limit = store.limit("crowd");
        let error = one(&store, limit, b"everybody", &an_hour(100)).await.unwrap_err();
        assert!(error.is_unavailable() || error.is_timeout(), "{error}");
        recovered(&store).await;
        let [admitted, ..] = crowd(&store, 8, 20, an_hour(100)).await;
        assert_eq!(admitted, 60, "forty were counted before the failover");
    });
}

/// A primary that is demoted while connected takes no writes any more: the store leaves it.
#[test]
fn a_demoted_primary_is_left() {
    let watched = Watched::start();
    let servers = Servers::Sentinel {
        sentinels: watched.addresses(),
        name: watched.name().to_owned(),
        username: None,
        password: None,
    };
    let store = connect(options(servers));
    runtime().block_on(async {
        let [admitted, ..] = crowd(&store, 4, 5, an_hour(1_000)).await;
        assert_eq!(admitted, 20);
        tokio::task::block_in_place(|| {
            watched.sentinels[0].ask(&format!("SENTINEL FAILOVER {}", watched.name()))
        });
        let demoted = || {
            let role = watched.primary.try_ask("ROLE").ok()?;
            format!("{role:?}").contains("slave").then_some(())
        };
        tokio::task::block_in_place(|| tidegate_redis_kit::soon("the demotion", demoted));
        let back = async {
            while !one(&store, store.limit("crowd"), b"somebody", &an_hour(100_000)).await.unwrap_or(false) {
                crate::tools::a_moment().await;
            }
        };
        tokio::time::timeout(crate::tools::SOON, back).await.expect("the new primary is found");
        let [admitted, ..] = crowd(&store, 4, 300, an_hour(1_000)).await;
        assert!((980..=1_000).contains(&admitted), "{admitted}");
    });
}
