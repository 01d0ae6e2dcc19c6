//! The counters of descriptors' hits.

use super::world::{Filed, World, hits, question, with_hits};
use crate::tls::Folder;

const RULES: &str = "
keys: { user: { descriptor: user } }
rules:
  - name: per-user
    match: { domain: shop, descriptor: [ { key: path, value: /login }, user ] }
    envoy: { metric: [ user ] }
    limits:
      - { name: l, says: \"Ten in any hour, per user.\", key: user, sliding_log: { limit: 10, window: 1h } }
  - name: trial
    mode: shadow
    match: { domain: shop, descriptor: [ { key: trial } ] }
    limits:
      - { name: l, says: One in any hour for everyone together., key: global, sliding_log: { limit: 1, window: 1h } }
  - name: free
    match: { domain: shop, descriptor: [ { key: free, value: \"a*\" } ] }
    envoy: { unlimited: true }
";

#[tokio::test]
async fn hits_are_counted_by_what_became_of_them_and_by_values_where_the_rule_says_so() {
    let world = World::by(RULES).await;
    let of = |user: &str| question("shop", &[&[("path", "/login"), ("user", user)]]);
    for request in
        [with_hits(of("ada"), 8), of("ada"), with_hits(of("ada"), 5), with_hits(of("ada"), 0), of("bob")]
    {
        world.ask(request).await.unwrap();
    }
    for _ in 0..3 {
        world.ask(question("shop", &[&[("trial", "x")], &[("free", "abc")]])).await.unwrap();
    }
    let metrics = world.metrics().await;
    let count = |descriptor: &str, result: &str| hits(&metrics, "shop", descriptor, result);
    let ada = ["within_limit", "near_limit", "over_limit"].map(|it| count("path_/login.user_ada", it));
    assert_eq!(ada, [8, 1, 5], "{metrics}");
    assert_eq!(count("path_/login.user_bob", "within_limit"), 1);
    assert_eq!((count("trial", "shadow_over_limit"), count("free_a*", "unlimited")), (2, 3));
}

/// Guards the page of metrics against a client's value that ends a label.
#[tokio::test]
async fn a_value_with_quotes_is_one_label() {
    let world = World::by(RULES).await;
    let value = "a\"} 7 evil{x=\"\\";
    world.ask(question("shop", &[&[("path", "/login"), ("user", value)]])).await.unwrap();
    let metrics = world.metrics().await;
    let written = "path_/login.user_a\\\"} 7 evil{x=\\\"\\\\";
    assert_eq!(hits(&metrics, "shop", written, "within_limit"), 1, "{metrics}");
}

/// Guards against hits that are counted under what a rule in the same place was about before a reload.
#[tokio::test]
async fn after_a_reload_hits_are_counted_by_the_rules_in_force() {
    let of = |key: &str| {
        format!(
            "tidegate: 1\nenvoy: {{ listen: 127.0.0.1:0, timeout: 10s }}\nadmin: {{ listen: 127.0.0.1:0 }}\n\
             rules: [{{ name: free, match: {{ domain: shop, descriptor: [ {{ key: {key} }} ] }}, \
             envoy: {{ unlimited: true }} }}]"
        )
    };
    let world = Filed::by(Folder::new("envoy-hits"), &of("old")).await;
    for key in ["old", "new"] {
        world.folder.write("policy.yaml", of(key));
        world.reloader.reload().await.unwrap();
        for _ in 0..2 {
            world.ask(question("shop", &[&[(key, "x")]])).await.unwrap();
        }
    }
    assert_eq!(world.hits("shop", "old", "unlimited").await, 2);
    assert_eq!(world.hits("shop", "new", "unlimited").await, 2);
}
