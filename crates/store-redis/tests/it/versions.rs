//! The store over servers of other ages and houses than the system's: what they say in other words, they must not be
//! understood otherwise.

use tidegate_redis_kit::{Server, Version, soon};
use tidegate_store::Store;
use tidegate_store_redis::{Level, RIGHTS, Secret};

use crate::tools::{SOON, an_hour, connect, crowd, one, options, recovered, runtime, standalone, store_of};

const VERSIONS: [Version; 2] = [Version::Redis62, Version::Valkey];

/// A server that is asked by 64 at once, forgets its scripts and dies admits what the limit says.
#[test]
fn a_crowd_gets_the_limit_while_scripts_are_forgotten() {
    for version in VERSIONS {
        let server = Server::start_version(version, &[]);
        let store = store_of(&server);
        runtime().block_on(async {
            let load = crowd(&store, 64, 25, an_hour(1_000));
            let flush = async {
                for _ in 0..10 {
                    tokio::task::block_in_place(|| server.ask("SCRIPT FLUSH"));
                }
            };
            let (counts, ()) = tokio::join!(load, flush);
            assert_eq!(counts, [1_000, 0, 0], "{version:?}");
        });
    }
}

/// Redis 6.2 tells an error of a script's command in a sentence of its own: read wrongly, "full" would be "the script
/// failed", which is an answer about one key and no outage.
#[test]
fn a_server_that_takes_no_writes_has_counted_nothing_and_says_why() {
    for version in VERSIONS {
        let server = Server::start_version(version, &["--maxmemory-policy", "noeviction"]);
        let store = store_of(&server);
        let tell = |words: &str| tokio::task::block_in_place(|| server.ask(words));
        runtime().block_on(async {
            let limit = store.limit("l");
            recovered(&store).await;
            let mut refusing = vec![
                ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "maxmemory"),
                ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "replica"),
            ];
            if version != Version::Redis62 {
                // There a script writes all the same, which docs/redis.md says.
                refusing.push((
                    "CONFIG SET min-replicas-to-write 1",
                    "CONFIG SET min-replicas-to-write 0",
                    "min-replicas-to-write",
                ));
            }
            let quota = an_hour(refusing.len() as u64);
            for (done, undone, word) in refusing {
                tell(done);
                let Err(error) = one(&store, limit, b"ada", &quota).await else {
                    panic!("{version:?}, {done}: it was decided");
                };
                assert!(error.is_unavailable() && !error.may_have_counted(), "{version:?}, {done}: {error}");
                assert!(error.to_string().contains(word), "{version:?}, {done}: {error}");
                assert!(store.ping().await.is_err(), "{version:?}, {done}");
                tell(undone);
                recovered(&store).await;
                assert!(one(&store, limit, b"ada", &quota).await.unwrap(), "{version:?}, {undone}");
            }
            assert!(
                !one(&store, limit, b"ada", &quota).await.unwrap(),
                "{version:?}: what was admitted counts"
            );
        });
    }
}

/// Before Redis 7 a script writes also where `min-replicas-to-write` forbids it, so that a primary that is cut off goes on
/// admitting: whoever relies on it has to be told.
#[test]
fn a_bound_that_does_not_hold_for_scripts_is_told() {
    let server = Server::start_version(Version::Redis62, &[]);
    let replica = Server::start_version(Version::Redis62, &[]);
    replica.ask(&format!("REPLICAOF 127.0.0.1 {}", server.port()));
    soon("a replica", || (server.info("connected_slaves") == Some(1)).then_some(()));
    server.ask("CONFIG SET min-replicas-to-write 1");
    let store = store_of(&server);
    let findings = runtime().block_on(store.diagnose(SOON));
    let told = findings.iter().find(|finding| finding.about == "replicas").unwrap();
    assert_eq!(told.level, Level::Doubtful, "{told:?}");
    assert!(told.remedy.as_ref().unwrap().contains("7.0"), "{told:?}");
}

/// The rights that the documentation lists are enough for every version.
#[test]
fn the_documented_rights_are_enough() {
    for version in VERSIONS {
        let server = Server::start_version(version, &[]);
        server.ask(&format!(
            "ACL SETUSER limiter on >word resetkeys ~own:* resetchannels -@all +hello +auth {RIGHTS}"
        ));
        let mut options = options(standalone(server.port()));
        (options.username, options.password) = (Some("limiter".to_owned()), Some(Secret::new("word")));
        "own".clone_into(&mut options.prefix);
        let store = connect(options);
        runtime().block_on(async {
            let (limit, quota) = (store.limit("l"), an_hour(1));
            recovered(&store).await;
            assert!(one(&store, limit, b"ada", &quota).await.unwrap(), "{version:?}");
            assert!(!one(&store, limit, b"ada", &quota).await.unwrap(), "{version:?}");
            store.reset(limit, b"ada").await.unwrap();
            assert!(store.inspect(limit, b"ada").await.unwrap().is_none(), "{version:?}");
            assert!(one(&store, limit, b"ada", &quota).await.unwrap(), "{version:?}");
        });
    }
}

/// What has another type than ours is refused for its key alone, in whatever words the server says so.
#[test]
fn a_value_of_another_type_is_told_for_its_key_alone() {
    for version in VERSIONS {
        let server = Server::start_version(version, &[]);
        let store = store_of(&server);
        runtime().block_on(async {
            let (limit, quota) = (store.limit("l"), an_hour(2));
            assert!(one(&store, limit, b"ada", &quota).await.unwrap());
            let mut connection = tokio::task::block_in_place(|| server.connection());
            let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*:???????????").query(&mut connection).unwrap();
            let () = redis::cmd("DEL").arg(&keys[0]).query(&mut connection).unwrap();
            let () = redis::cmd("HSET").arg(&keys[0]).arg("a").arg("b").query(&mut connection).unwrap();
            let error = one(&store, limit, b"ada", &quota).await.unwrap_err();
            assert!(!error.may_have_counted() && !error.is_unavailable(), "{version:?}: {error}");
            assert!(one(&store, limit, b"bob", &quota).await.unwrap(), "{version:?}");
            store.reset(limit, b"ada").await.unwrap();
            assert!(one(&store, limit, b"ada", &quota).await.unwrap(), "{version:?}");
        });
    }
}
