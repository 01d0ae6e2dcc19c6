//! One server that fails in every way: nobody is admitted beyond the limit, everybody is answered, and it comes back.

use std::time::Duration;

use tidegate_redis_kit::Server;
use tidegate_store::Store;

use crate::tools::{an_hour, connect, crowd, one, options, recovered, runtime, standalone, store_of};

/// 64 callers on one key get the limit, and not one more.
#[test]
fn a_crowd_on_one_key_gets_exactly_the_limit() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    let [admitted, perhaps, failed] = runtime().block_on(crowd(&store, 64, 50, an_hour(1_000)));
    assert_eq!((admitted, perhaps, failed), (1_000, 0, 0));
    let calls = store.measures().calls[0].1;
    assert!(calls < 3_200, "questions are gathered: {calls} calls for 3,200");
}

/// Two instances share one count.
#[test]
fn two_instances_get_the_limit_between_them() {
    let server = Server::start(&[]);
    let options = options(standalone(server.port()));
    let (one, two) = (connect(options.clone()), connect(options));
    let both = async { tokio::join!(crowd(&one, 64, 20, an_hour(700)), crowd(&two, 64, 20, an_hour(700))) };
    let (one, two) = runtime().block_on(both);
    assert_eq!(one[0] + two[0], 700);
    assert_eq!((one[1] + two[1], one[2] + two[2]), (0, 0));
}

/// A charge whose answer was lost is not sent again: more answers than charges would be a double charge somewhere.
#[test]
fn a_server_that_dies_under_load_admits_no_more_than_its_limit_and_comes_back_empty() {
    let mut server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let load = crowd(&store, 64, 400, an_hour(5_000));
        let kill = async {
            while store.measures().calls[0].1 < 20 {
                crate::tools::a_moment().await;
            }
            tokio::task::block_in_place(|| server.kill());
        };
        let ([admitted, perhaps, failed], ()) = tokio::join!(load, kill);
        assert!(admitted <= 5_000, "{admitted}");
        assert!(perhaps + failed > 0, "it died under load");
        tokio::task::block_in_place(|| server.restart());
        recovered(&store).await;
        let [admitted, ..] = crowd(&store, 16, 100, an_hour(5_000)).await;
        assert_eq!(admitted, 1_600);
    });
}

/// A machine that hangs keeps its sockets open: only a deadline notices.
#[test]
fn a_server_that_hangs_is_noticed_and_taken_back() {
    let server = Server::start(&[]);
    let mut options = options(standalone(server.port()));
    options.timeout = Duration::from_millis(100);
    let store = connect(options);
    let quota = an_hour(100);
    runtime().block_on(async {
        let limit = store.limit("crowd");
        recovered(&store).await;
        assert!(one(&store, limit, b"everybody", &quota).await.unwrap());
        server.freeze();
        let [admitted, perhaps, failed] = crowd(&store, 32, 10, quota).await;
        assert_eq!(admitted, 0);
        assert_eq!(perhaps + failed, 320, "everybody was answered");
        assert!(perhaps <= 2 * 128, "no more than is under way may have counted: {perhaps}");
        server.thaw();
        recovered(&store).await;
        let [admitted, ..] = crowd(&store, 16, 20, quota).await;
        assert!(admitted <= 99 && admitted + 1 + perhaps >= 99, "{admitted} after {perhaps} perhaps");
    });
}

/// A restart or a failover forgets scripts, and nothing ran then.
#[test]
fn a_forgotten_script_is_loaded_again_and_nobody_notices() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let load = crowd(&store, 32, 100, an_hour(2_000));
        let flush = async {
            for _ in 0..20 {
                tokio::task::block_in_place(|| server.ask("SCRIPT FLUSH"));
            }
        };
        let (counts, ()) = tokio::join!(load, flush);
        assert_eq!(counts, [2_000, 0, 0]);
    });
    let loads = store.measures().events.iter().find(|(name, _)| *name == "script_loads").unwrap().1;
    assert!(loads > 0);
}

/// A full server refuses writes: that is an outage, not an admission, and nothing was counted.
#[test]
fn a_full_server_counts_nothing_and_recovers_when_it_has_room() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let store = store_of(&server);
    runtime().block_on(async {
        let limit = store.limit("l");
        let quota = an_hour(10);
        assert!(one(&store, limit, b"ada", &quota).await.unwrap());
        tokio::task::block_in_place(|| server.ask("CONFIG SET maxmemory 1"));
        for _ in 0..5 {
            let error = one(&store, limit, b"ada", &quota).await.unwrap_err();
            assert!(error.is_unavailable() && !error.may_have_counted(), "{error}");
        }
        tokio::task::block_in_place(|| server.ask("CONFIG SET maxmemory 0"));
        let mut admitted = 0;
        while one(&store, limit, b"ada", &quota).await.unwrap() {
            admitted += 1;
        }
        assert_eq!(admitted, 9, "the five that failed took nothing");
    });
}

/// What ends an outage has to be what a decision needs: a full server, a replica and one that permits nothing answer `PING`
/// all the same, and an outage that ends with that begins anew at once, a dozen times a second.
#[test]
fn a_server_that_answers_and_decides_nothing_answers_no_ping() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let store = store_of(&server);
    let tell = |words: &str| tokio::task::block_in_place(|| server.ask(words));
    runtime().block_on(async {
        store.ping().await.unwrap();
        for (done, undone) in [
            ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
            ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
            ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
            ("ACL SETUSER default -evalsha", "ACL SETUSER default +evalsha"),
        ] {
            tell(done);
            let error = store.ping().await.unwrap_err();
            assert!(error.is_unavailable() && !error.may_have_counted(), "{done}: {error}");
            tell(undone);
            recovered(&store).await;
        }
    });
}

/// A value that somebody else wrote under one of our keys is that key's trouble alone.
#[test]
fn a_foreign_value_is_told_for_its_key_alone_and_can_be_reset() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let (limit, quota) = (store.limit("l"), an_hour(10));
        for key in [b"ada", b"bob", b"eve"] {
            assert!(one(&store, limit, key, &quota).await.unwrap());
        }
        let keys: Vec<Vec<u8>> =
            redis::cmd("KEYS").arg("*:???????????").query(&mut server.connection()).unwrap();
        assert_eq!(keys.len(), 3);
        let mut connection = server.connection();
        let () = redis::cmd("SET").arg(&keys[0]).arg("junk").query(&mut connection).unwrap();
        let () = redis::cmd("DEL").arg(&keys[1]).query(&mut connection).unwrap();
        let () = redis::cmd("LPUSH").arg(&keys[1]).arg("junk").query(&mut connection).unwrap();
        let mut told = 0;
        for key in [b"ada", b"bob", b"eve"] {
            match one(&store, limit, key, &quota).await {
                Ok(admitted) => assert!(admitted),
                Err(error) => {
                    assert!(
                        !error.may_have_counted() && error.to_string().contains("none of ours"),
                        "{error}"
                    );
                    store.reset(limit, key).await.unwrap();
                    assert!(one(&store, limit, key, &quota).await.unwrap());
                    told += 1;
                }
            }
        }
        assert_eq!(told, 2);
    });
}

/// Keys have to go by themselves: nobody sweeps.
#[test]
fn every_key_expires() {
    let server = Server::start(&[]);
    let store = store_of(&server);
    runtime().block_on(async {
        let [admitted, ..] = crowd(&store, 4, 4, an_hour(10)).await;
        assert_eq!(admitted, 10);
    });
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*:???????????").query(&mut server.connection()).unwrap();
    for key in keys {
        let left: i64 = redis::cmd("PTTL").arg(key).query(&mut server.connection()).unwrap();
        assert!((1..=3_600_000 * 17 / 16).contains(&left), "an hour, and a sixteenth of it: {left}");
    }
}

/// More callers than a slow server can answer: each is answered all the same, and those who do not fit in the queue at once.
#[test]
fn ten_thousand_callers_on_a_server_that_hangs_are_all_answered() {
    let server = Server::start(&[]);
    let mut options = options(standalone(server.port()));
    options.timeout = Duration::from_millis(500);
    options.queue = 5_000;
    let store = connect(options);
    runtime().block_on(async {
        recovered(&store).await;
        server.freeze();
        let [admitted, perhaps, failed] = crowd(&store, 10_000, 1, an_hour(100)).await;
        assert_eq!((admitted, perhaps + failed), (0, 10_000));
        server.thaw();
        recovered(&store).await;
    });
    let errors = store.measures().errors;
    let full = errors.iter().find(|(kind, _)| *kind == "queue_full").unwrap().1;
    assert!(full > 0, "{errors:?}");
    // Who gave up is taken out when the next call is made up.
    tidegate_redis_kit::soon("an empty queue", || (store.measures().queued == 0).then_some(()));
}
