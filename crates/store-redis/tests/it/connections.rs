//! Connections that cannot be made, that break, and that are lost without a word.

use std::time::Duration;

use tidegate_redis_kit::{Proxy, Server};
use tidegate_store::Store;

use crate::tools::{an_hour, connect, crowd, one, options, recovered, runtime, standalone, store_of};

/// A connection that breaks in the middle of a reply: what it was about may have counted, and is never asked again.
#[test]
fn a_connection_cut_in_a_reply_admits_nothing_twice() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port());
    let store = connect(options(standalone(proxy.port())));
    runtime().block_on(async {
        recovered(&store).await;
        let mut admitted = 0;
        let mut perhaps = 0;
        for round in 0..10 {
            proxy.cut_after(300 + round * 37);
            let counts = crowd(&store, 8, 10, an_hour(400)).await;
            admitted += counts[0];
            perhaps += counts[1];
            proxy.mend();
            recovered(&store).await;
        }
        let [rest, failed, _] = crowd(&store, 8, 60, an_hour(400)).await;
        assert_eq!(failed, 0);
        assert!(admitted + rest <= 400, "{admitted} and {rest}");
        assert!(admitted + rest + perhaps * 128 >= 400, "no more was lost than was under way");
    });
}

/// A connection that the network forgot stays open at both ends for hours: only an answer that stays away tells of it.
#[test]
fn a_connection_that_is_lost_without_a_word_is_made_anew() {
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port());
    let mut options = options(standalone(proxy.port()));
    options.timeout = Duration::from_millis(500);
    let store = connect(options);
    runtime().block_on(async {
        recovered(&store).await;
        let (limit, quota) = (store.limit("l"), an_hour(3));
        assert!(one(&store, limit, b"ada", &quota).await.unwrap());
        proxy.swallow();
        let error = one(&store, limit, b"ada", &quota).await.unwrap_err();
        assert!(error.is_timeout() && error.may_have_counted(), "{error}");
        recovered(&store).await;
        let mut admitted = 0;
        while one(&store, limit, b"ada", &quota).await.unwrap() {
            admitted += 1;
        }
        assert_eq!(admitted, 2, "what was lost has charged nothing, and was not sent again");
    });
}

/// A server that has restarted and reads its data answers everything with one word, also to whoever connects: an operator
/// who is told "unreachable" looks at the network.
#[test]
fn a_server_that_still_reads_its_data_is_told_as_one() {
    let mut server = Server::start(
        &[
            ["--rdbcompression", "no", "--key-load-delay", "200000"],
            ["--loading-process-events-interval-bytes", "1024", "--loglevel", "notice"],
        ]
        .concat(),
    );
    let fill = "for i = 1, 300 do redis.call('SET', i, string.rep('x', 2000)) end";
    let () = redis::cmd("EVAL").arg(fill).arg(0).query(&mut server.connection()).unwrap();
    server.ask("SAVE");
    server.restart();
    let store = store_of(&server);
    runtime().block_on(async {
        let error = one(&store, store.limit("l"), b"ada", &an_hour(1)).await.unwrap_err();
        assert!(error.is_unavailable() && !error.may_have_counted(), "{error}");
        assert!(error.to_string().contains("still reading its data"), "{error}");
        tokio::task::block_in_place(|| server.ask("CONFIG SET key-load-delay 0"));
        recovered(&store).await;
        assert!(one(&store, store.limit("l"), b"ada", &an_hour(1)).await.unwrap());
    });
    let errors = store.measures().errors;
    assert!(errors.iter().any(|(kind, count)| *kind == "loading" && *count > 0), "{errors:?}");
}

/// Whoever starts before its Redis serves without it and finds it.
#[test]
fn a_store_that_is_there_first_finds_its_server() {
    let mut server = Server::start(&[]);
    server.kill();
    let store = store_of(&server);
    runtime().block_on(async {
        let error = one(&store, store.limit("l"), b"ada", &an_hour(1)).await.unwrap_err();
        assert!(error.is_unavailable() && !error.may_have_counted(), "{error}");
        tokio::task::block_in_place(|| server.restart());
        recovered(&store).await;
        assert!(one(&store, store.limit("l"), b"ada", &an_hour(1)).await.unwrap());
    });
}

/// A wrong password is an outage that says so, and does not say the password.
#[test]
fn a_wrong_password_is_told() {
    let server = Server::start(&["--requirepass", "right"]);
    let connect_with = |password: &str| {
        let mut options = options(standalone(server.port()));
        options.password = Some(tidegate_store_redis::Secret::new(password));
        connect(options)
    };
    runtime().block_on(async {
        let wrong = connect_with("not-this-one");
        let error = one(&wrong, wrong.limit("l"), b"ada", &an_hour(1)).await.unwrap_err();
        assert!(error.is_unavailable() && !error.may_have_counted(), "{error}");
        let words = error.to_string();
        assert!(words.contains("the password is another") && !words.contains("not-this-one"), "{words}");
        let errors = wrong.measures().errors;
        assert!(errors.contains(&("noperm", 1)), "{errors:?}");
        let right = connect_with("right");
        assert!(one(&right, right.limit("l"), b"ada", &an_hour(1)).await.unwrap());
    });
}
