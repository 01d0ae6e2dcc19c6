//! Counters over servers of several kinds: clusters, other ages and houses, ones that are gone or permit little.

use std::time::Duration;

use tidegate_redis_kit::{Cluster, Server, Version};
use tidegate_store::{Give, Refund, Store};
use tidegate_store_redis::{COUNTER_RIGHTS, Finding, RIGHTS, Secret};

use super::{KEY, a_minute, ask, check, decide, get, number};
use crate::tools::{SOON, an_hour, cluster_of, connect, options, runtime, standalone, store_of};

/// Servers of other ages and houses put errors in other words, and a count that is read wrongly shuts a client out.
#[test]
fn other_servers_count_alike() {
    for version in [Version::Redis62, Version::Valkey] {
        let server = Server::start_version(version, &["--maxmemory-policy", "noeviction"]);
        let store = store_of(&server);
        runtime().block_on(async {
            crate::tools::recovered(&store).await;
            let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
            let receipt = ask(&store, limit, &quota).await.receipt.unwrap();
            assert_eq!(number(&server, "INCR rate-limit:192.0.2.7:/a"), 2);
            store.refund(&[Refund { receipt, quota: &quota, give: Give::Charge }], None).await.unwrap();
            assert_eq!(get(&server).as_deref(), Some("1"), "{version:?}");
            for make in ["SET rate-limit:192.0.2.7:/a 1.5", "HSET rate-limit:192.0.2.7:/a f 1"] {
                store.reset(limit, KEY).await.unwrap();
                server.ask(make);
                let error = store.decide(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
                assert!(error.to_string().contains("no whole number"), "{version:?}: {error}");
            }
            server.ask("SET rate-limit:192.0.2.7:/a 9223372036854775807");
            assert!(!ask(&store, limit, &quota).await.decision.is_admitted(), "{version:?}");
            assert!(number(&server, "PTTL rate-limit:192.0.2.7:/a") > 0, "{version:?}");
            tokio::task::block_in_place(|| server.ask("CONFIG SET maxmemory 1"));
            let error = store.decide(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
            assert!(error.is_unavailable() && !error.may_have_counted(), "{version:?}: {error}");
        });
    }
}

/// Keys of counters lie in slots of their own, beside those of other limits.
#[test]
fn in_a_cluster_each_counter_is_where_its_name_leads() {
    let cluster = Cluster::start();
    let store = connect(options(cluster_of(&cluster)));
    runtime().block_on(async {
        crate::tools::recovered(&store).await;
        let (own, log) = (store.limit("r/own"), an_hour(100));
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(2));
        for address in 0..20 {
            // Of braces in a path the server takes what is between them for the name.
            let path = ["/a", "/{b}/a", "/{}/a", "/}{"][address % 4];
            let key = format!("rate-limit:192.0.2.{address}:{path}");
            let batch = [check(own, key.as_bytes(), &log, 1), check(limit, key.as_bytes(), &quota, 1)];
            let admitted =
                [decide(&store, &batch).await, decide(&store, &batch).await, decide(&store, &batch).await];
            assert_eq!(admitted.map(|decided| decided.admitted), [true, true, false], "{key}");
            let left = store.peek(&batch[..1], None).await.unwrap();
            assert_eq!(left.outcomes[0].decision.remaining, 98, "what refused was given back");
        }
    });
}

/// A server that does not answer is an error to the limiter, which has the rule's choice; never an admission.
#[test]
fn a_server_that_is_gone_is_an_error_that_says_whether_it_counted() {
    let mut server = Server::start(&[]);
    let mut options = options(standalone(server.port()));
    options.timeout = Duration::from_millis(300);
    let store = connect(options);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        crate::tools::recovered(&store).await;
        server.ask("SCRIPT FLUSH");
        assert!(
            ask(&store, limit, &quota).await.decision.is_admitted(),
            "a script that was forgotten is brought back"
        );
        server.freeze();
        let frozen = store.decide(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
        assert!(frozen.may_have_counted());
        let looked = store.peek(&[check(limit, KEY, &quota, 1)], None).await.unwrap_err();
        assert!(!looked.may_have_counted());
        server.thaw();
        tokio::task::block_in_place(|| server.kill());
        assert!(store.decide(&[check(limit, KEY, &quota, 1)], None).await.is_err());
    });
}

/// An operator who grants what the page lists has to be done.
#[test]
fn a_user_needs_the_rights_to_counters_and_no_more() {
    let server = Server::start(&[]);
    let mut own = options(standalone(server.port()));
    let prefix = own.prefix.clone();
    let rights = format!("~{prefix}:* ~rate-limit:* {RIGHTS} {COUNTER_RIGHTS}");
    server.ask(&format!("ACL SETUSER tidegate reset on >word {rights}"));
    own.username = Some("tidegate".to_owned());
    own.password = Some(Secret::new("word"));
    own.shared_counters = vec!["rate-limit".to_owned()];
    let store = connect(own);
    runtime().block_on(async {
        let (limit, quota) = (store.plain_counter("r/l"), a_minute(3));
        let outcome = ask(&store, limit, &quota).await;
        let refund = [Refund { receipt: outcome.receipt.unwrap(), quota: &quota, give: Give::Charge }];
        store.refund(&refund, None).await.unwrap();
        store.reset(limit, KEY).await.unwrap();
        let told =
            |findings: Vec<Finding>| findings.into_iter().find(|finding| finding.about == "shared counters");
        assert_eq!(told(store.diagnose(SOON).await), None);
        tokio::task::block_in_place(|| {
            server.ask(&format!("ACL SETUSER tidegate -decrby resetkeys ~{prefix}:*"))
        });
        let found = told(store.diagnose(SOON).await).expect("what is missing is told");
        assert_eq!(found.remedy.as_deref(), Some("ACL SETUSER tidegate +decrby ~rate-limit:*"), "{found:?}");
        assert!(store.decide(&[check(limit, KEY, &quota, 1)], None).await.is_err());
        assert_eq!(get(&server), None, "nothing was counted");
    });
}
