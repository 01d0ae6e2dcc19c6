//! Overrides over a Redis that instances share.

use serde_json::json;
use tidegate_redis_kit::Server;

use super::{Instance, RULES, on, refuse};
use crate::support::{moment, soon};
use crate::tls::Folder;

/// Whatever somebody else writes into the hash is nobody's override, and keeps none from being read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn junk_in_the_store_is_passed_over() {
    let redis = Server::start(&[]);
    for (field, value) in [
        ("a", "junk"),
        ("b", "9999999999999999:junk"),
        ("c", "4000000000000000:{}"),
        ("d", "4000000000000000:[]"),
    ] {
        redis.ask(&format!("HSET tg:overrides {field} {value}"));
    }
    let one = Instance::on(&redis).await;
    one.put(refuse("sell/log")).await;
    assert!(!one.allows("/sell", "ada").await);
    assert_eq!(one.list().await.len(), 1);
    let two = Instance::on(&redis).await;
    two.until("/sell", "ada", false).await;
    assert_eq!(two.list().await.len(), 1);
}

/// Guards the reason for keeping them in the store: what one instance is told every other does by itself, and one that is
/// started anew does from its first request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_instance_on_one_redis_sees_a_change_by_itself() {
    let redis = Server::start(&[]);
    let (one, two) = (Instance::on(&redis).await, Instance::on(&redis).await);
    assert!(one.allows("/sell", "ada").await && two.allows("/verify", "ada").await);
    one.put(refuse("sell/log")).await;
    one.put(json!({ "limit": "verify/per-account", "key": "ADA", "mode": "refuse", "for": "1h", "because": "bot" })).await;
    two.until("/sell", "ada", false).await;
    two.until("/verify", "ada", false).await;
    assert!(two.allows("/verify", "bob").await);
    assert_eq!(two.list().await.len(), 2);
    let third = Instance::on(&redis).await;
    assert!(!third.allows("/sell", "ada").await && !third.allows("/verify", "ada").await);
    let (status, _) = two.admin("DELETE", &json!({ "limit": "sell/log" })).await;
    assert_eq!(status, 200);
    one.until("/sell", "ada", true).await;
    third.until("/sell", "ada", true).await;
}

/// Guards against an outage of the store that ends an exception, or that one is made in and lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_killed_leaves_overrides_in_force_and_takes_no_new_ones() {
    let mut redis = Server::start(&[]);
    let local = RULES.replace("class: api\n", "class: api\n    on_store_failure: local\n");
    let one = Instance::start(&on(redis.port()), &local).await;
    one.put(refuse("sell/log")).await;
    one.put(json!({ "limit": "sell/pair", "mode": "off", "for": "3s", "because": "short" })).await;
    redis.kill();
    let (status, problem) = one.admin("PUT", &refuse("verify/per-account")).await;
    assert_eq!(status, 503, "{problem}");
    let (status, problem) = one.admin("DELETE", &json!({ "limit": "sell/log" })).await;
    assert_eq!(status, 503, "{problem}");
    assert!(!one.allows("/sell", "ada").await);
    // It ends by this machine's clock, with nobody to ask.
    soon(async {
        while one.list().await.len() > 1 {
            moment().await;
        }
    })
    .await;
    assert_eq!(one.list().await[0]["limit"], "sell/log");
    redis.restart();
    soon(async {
        while one.admin("PUT", &refuse("verify/per-account")).await.0 != 200 {
            moment().await;
        }
    })
    .await;
    assert!(!one.allows("/verify", "ada").await);
}

/// One instance may have another policy than the other, while a new one is rolled out: what it has not it skips.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_with_another_policy_skips_what_it_does_not_have() {
    let redis = Server::start(&[]);
    let one = Instance::on(&redis).await;
    let other = RULES.replace("name: log,", "name: journal,");
    let two = Instance::start(&on(redis.port()), &other).await;
    one.put(refuse("sell/log")).await;
    one.put(refuse("verify/per-account")).await;
    two.until("/verify", "ada", false).await;
    assert!(two.allows("/sell", "ada").await && !one.allows("/sell", "ada").await);
    assert_eq!(two.metric("tidegate_overrides_idle").await.as_deref(), Some("1"));
    // It can be removed there as well.
    assert_eq!(two.admin("DELETE", &json!({ "limit": "sell/log" })).await.0, 200);
}

/// A user of Redis that may not write the hash limits as before, and whoever asks is told which right it lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_permits_no_overrides_decides_all_the_same() {
    let redis = Server::start(&[]);
    redis.ask(&format!("ACL SETUSER limiter reset on >word ~tg:* {}", tidegate_store_redis::RIGHTS));
    let store = format!(
        "key_secret_file: secret\nstore: {{ redis: {{ url: \"redis://127.0.0.1:{}\", timeout: 2s, username: limiter, password_file: word }} }}\n",
        redis.port()
    );
    let folder = Folder::new("overrides-word");
    let word = folder.write("word", "word");
    let one =
        Instance::start(&store.replace("file: word", &format!("file: {}", word.display())), RULES).await;
    assert!(one.allows("/sell", "ada").await);
    let (status, problem) = one.admin("PUT", &refuse("sell/log")).await;
    assert_eq!(status, 503);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("hgetall") && detail.contains("+hset +hget +hgetall +hdel"), "{detail}");
    assert!(one.allows("/sell", "ada").await);
}
