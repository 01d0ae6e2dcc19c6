//! What an override does, how long, and through reloads.

use serde_json::{Value, json};

use super::{Instance, RULES, ask, refuse, text};
use crate::support::soon;

/// Guards the whole purpose: another number without a file, in force at once, with what was counted kept, its words told to
/// whoever is refused, and the file's terms back when it is removed, with nothing refilled.
#[tokio::test]
async fn a_number_is_in_force_at_once_and_the_files_comes_back_with_all_counts_kept() {
    let one = Instance::alone().await;
    for expected in [true, true] {
        assert_eq!(one.allows("/verify", "ada").await, expected);
    }
    let call = json!({ "limit": "verify/per-account", "number": 6, "for": "2h", "because": "a campaign" });
    let answer = one.put(call.clone()).await;
    assert_eq!(answer["replaced"], false);
    let over = &answer["override"];
    assert_eq!(
        over["in_force"],
        json!([{ "says": "6 requests at once, then 1 every 30 minutes, per account.",
                 "numbers": "token_bucket: capacity 6, refill 1 per 30m",
                 "was": "token_bucket: capacity 3, refill 1 per 1h", "at_once_was": 3, "at_once": 6,
                 "effect": "looser" }])
    );
    assert_eq!(over["effect"], "looser");
    assert_eq!(
        (&over["by"], &over["applies"], &over["key"]),
        (&json!("127.0.0.1"), &json!(true), &Value::Null)
    );
    assert!((7_190..=7_200).contains(&over["ends_in_seconds"].as_u64().unwrap()), "{over}");
    assert_eq!(one.put(call).await["replaced"], true, "the same again is the same");
    assert_eq!(one.list().await.len(), 1);
    // One was left of three and is of six; nothing is given.
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "ada").await);
    for allowed in [true, true, true, true, true, true, false] {
        assert_eq!(one.allows("/verify", "bob").await, allowed);
    }
    let told = one.check("/verify", "bob").await.to_string();
    assert!(told.contains("6 requests at once, then 1 every 30 minutes, per account."), "{told}");
    let gone = one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await;
    assert_eq!((gone.0, &gone.1["removed"]["number"]), (200, &json!(6)));
    assert_eq!(one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await.0, 404);
    assert!(
        !one.allows("/verify", "ada").await && !one.allows("/verify", "bob").await,
        "nothing is refilled"
    );
    for allowed in [true, true, true, false] {
        assert_eq!(one.allows("/verify", "eve").await, allowed, "three again");
    }
}

/// Each mode does what it says, for everybody and for one key, and what was counted before is found after.
#[tokio::test]
async fn modes_hold_for_everybody_or_for_one_key_alone() {
    let one = Instance::alone().await;
    let limit = "verify/per-account";
    assert!(one.allows("/verify", "ada").await);
    let mode = |mode: &str, keys: Value| json!({ "limit": limit, "keys": keys, "mode": mode, "for": "1h", "because": "night" });
    let ada = json!({ "account": " ADA " });
    let told = one.put(mode("refuse", ada.clone())).await;
    let name = told["override"]["key"].as_str().unwrap().to_owned();
    assert!(name.starts_with("hmac:"), "{told}");
    assert!(!one.allows("/verify", "ada").await && one.allows("/verify", "bob").await);
    let refused = one.check("/verify", "ada").await;
    assert_eq!(refused["retry_after"], Value::Null, "never, and so no time is told: {refused}");
    one.put(mode("off", json!({}))).await;
    assert!(!one.allows("/verify", "ada").await, "a key goes before everybody");
    for _ in 0..9 {
        assert!(one.allows("/verify", "bob").await, "nobody looks");
    }
    // By the name that logs and answers have, as well.
    let by_name = json!({ "limit": limit, "key": name });
    assert_eq!(one.admin("DELETE", &by_name).await.0, 200);
    assert!(one.allows("/verify", "ada").await, "off as all others");
    assert_eq!(one.admin("DELETE", &json!({ "limit": limit })).await.0, 200);
    // One was used before the night, by ada and by bob, and none since.
    for name in ["ada", "bob"] {
        for allowed in [true, true, false] {
            assert_eq!(one.allows("/verify", name).await, allowed, "{name}");
        }
    }
    one.put(mode("shadow", json!({ "account": "ada" }))).await;
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "bob").await);
    let checked = one.check("/verify", "ada").await.to_string();
    assert!(checked.contains("\"shadow\":true"), "{checked}");
}

/// Guards against an exception that nobody sees again: everything that tells of the policy tells of it.
#[tokio::test]
async fn whoever_looks_sees_that_something_is_overridden() {
    let one = Instance::alone().await;
    let health = |one: &Instance| one.at.health.unwrap();
    let (_, ready) = ask(health(&one), "GET", "/readyz", "", "").await;
    assert_eq!(ready["overrides"], Value::Null);
    one.put(refuse("sell/log")).await;
    let keyed = json!({ "limit": "verify/per-account", "key": "ada", "number": 1, "for": "1h", "because": "seen \u{1b}[31m" });
    one.put(keyed).await;
    let (_, ready) = ask(health(&one), "GET", "/readyz", "", "").await;
    assert_eq!(ready["overrides"], 2);
    assert_eq!(one.metric("tidegate_overrides{limit=\"sell/log\"}").await.as_deref(), Some("1"));
    assert_eq!(one.metric("tidegate_overrides{limit=\"verify/per-account\"}").await.as_deref(), Some("1"));
    assert_eq!(one.metric("tidegate_overrides_idle").await.as_deref(), Some("0"));
    let (_, policy) = ask(one.at.api.unwrap(), "GET", "/v1/policy", "", "").await;
    let over = policy["run_time_overrides"].as_array().unwrap();
    assert_eq!(over.len(), 2, "{policy}");
    assert_eq!((&over[1]["limit"], &over[1]["sets"]), (&json!("sell/log"), &json!("mode refuse")));
    let (_, by_operator) = ask(one.at.admin.unwrap(), "GET", "/v1/policy", "", "").await;
    assert_eq!(by_operator, policy, "whoever has no API sees the same");
    let limit = &policy["rules"][1]["limits"][0];
    assert_eq!(
        (&limit["exceptions"][0]["sets"], &limit["exceptions"][0]["because"]),
        (&json!("mode refuse"), &json!("it burns"))
    );
    assert_eq!(limit["quota"]["limit"], 0, "{limit}");
    let call = json!({ "method": "GET", "path": "/verify", "keys": { "account": "ada" } });
    let (_, why) = ask(one.at.api.unwrap(), "POST", "/v1/why", &call.to_string(), "").await;
    let notes = why["rules"][0]["limits"][0]["notes"].to_string();
    assert!(notes.contains("overridden for this key until") && notes.contains("limit 1, because"), "{notes}");
    assert!(
        notes.contains("seen \\\\\\\\u{1b}[31m") || notes.contains("seen \\\\u{1b}[31m"),
        "escaped: {notes}"
    );
    let (status, by_operator) = ask(one.at.admin.unwrap(), "POST", "/v1/why", &call.to_string(), "").await;
    assert_eq!((status, &by_operator["rules"]), (200, &why["rules"]));
    let other = json!({ "method": "GET", "path": "/verify", "keys": { "account": "bob" } });
    let (_, why) = ask(one.at.api.unwrap(), "POST", "/v1/why", &other.to_string(), "").await;
    assert_eq!(why["rules"][0]["limits"][0]["notes"], json!([]));
}

/// An override ends by itself, and the file's terms are back within a second, without anybody asking.
#[tokio::test]
async fn an_override_ends_by_itself() {
    let one = Instance::alone().await;
    let call = json!({ "limit": "sell/log", "mode": "refuse", "for": "1s", "because": "a second" });
    one.put(call).await;
    assert!(!one.allows("/sell", "ada").await);
    one.until("/sell", "ada", true).await;
    assert_eq!(one.list().await, [] as [Value; 0]);
}

/// Guards against a reload that drops the exceptions, and against one that the file has left without a limit being lost or
/// in the way: it is told, and holds again once the limit is back.
#[tokio::test]
async fn a_reload_keeps_overrides_on_top_and_tells_which_apply_to_nothing() {
    let one = Instance::alone().await;
    let call = json!({ "limit": "verify/per-account", "number": 1, "for": "1h", "because": "slow" });
    one.put(call).await;
    one.put(refuse("sell/log")).await;
    let rules = RULES.replace("3 at once", "4 at once").replace("capacity: 3", "capacity: 4");
    let without = rules.replace("name: log,", "name: journal,");
    std::fs::write(&one.file, text("", &without)).unwrap();
    soon(one.reloader.reload()).await.unwrap();
    assert!(one.allows("/verify", "ada").await && !one.allows("/verify", "ada").await, "one at once still");
    let list = one.list().await;
    let of = |name: &str| list.iter().find(|one| one["limit"] == name).unwrap().clone();
    assert_eq!(
        of("verify/per-account")["in_force"][0]["numbers"],
        "token_bucket: capacity 1, refill 1 per 4h",
        "of four now"
    );
    assert_eq!(of("sell/log")["applies"], false);
    assert!(of("sell/log")["problem"].as_str().unwrap().contains("no limit is called \"sell/log\""));
    assert_eq!(one.metric("tidegate_overrides_idle").await.as_deref(), Some("1"));
    assert!(one.allows("/sell", "ada").await);
    std::fs::write(&one.file, text("", &rules)).unwrap();
    soon(one.reloader.reload()).await.unwrap();
    assert!(!one.allows("/sell", "ada").await, "refused again");
    assert_eq!(one.admin("DELETE", &json!({ "limit": "verify/per-account" })).await.0, 200);
    for allowed in [true, true, true, true, false] {
        assert_eq!(one.allows("/verify", "eve").await, allowed, "the file's own, as it is by now");
    }
}

/// Guards against a change that is lost when several come at once, with reloads among them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_once_are_all_kept() {
    let one = std::sync::Arc::new(Instance::alone().await);
    let mut tasks = tokio::task::JoinSet::new();
    for account in 0..12 {
        let one = std::sync::Arc::clone(&one);
        tasks.spawn(async move {
            let call = json!({ "limit": "verify/per-account", "key": format!("a{account}"), "mode": "refuse", "for": "1h", "because": "x" });
            one.put(call).await;
            soon(one.reloader.reload()).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(one.list().await.len(), 12);
    for account in 0..12 {
        assert!(!one.allows("/verify", &format!("a{account}")).await, "{account}");
    }
    assert!(one.allows("/verify", "b").await);
}

/// An end that comes while reloads do is an end, and no reload brings back what it had read before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_override_that_ends_during_reloads_stays_ended() {
    let one = Instance::alone().await;
    one.put(json!({ "limit": "sell/log", "mode": "refuse", "for": "1s", "because": "short" })).await;
    soon(async {
        while !one.list().await.is_empty() {
            one.reloader.reload().await.unwrap();
        }
    })
    .await;
    for _ in 0..3 {
        soon(one.reloader.reload()).await.unwrap();
    }
    assert!(one.allows("/sell", "ada").await);
}
