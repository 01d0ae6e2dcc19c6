//! What cannot be overridden, and a look at what is counted.

use serde_json::{Value, json};

use super::{Instance, ask, refuse};

/// Whatever cannot be is refused with what can, and changes nothing.
#[tokio::test]
async fn what_cannot_be_is_refused_with_the_remedy() {
    let one = Instance::alone().await;
    let limit = "verify/per-account";
    for (call, code, says) in [
        (
            json!({ "limit": "verify/per-acount", "number": 1, "for": "1h", "because": "x" }),
            404,
            "did you mean \"verify/per-account\"?",
        ),
        (
            json!({ "limit": "verify/per-acount", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            404,
            "verify/per-account",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h", "because": " " }), 422, "`because`: say why"),
        (
            json!({ "limit": limit, "number": 1, "for": "1h", "because": "x".repeat(501) }),
            422,
            "`because`: has 501",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h" }), 422, "because"),
        (json!({ "limit": limit, "number": 1, "because": "x" }), 422, "for"),
        (
            json!({ "limit": limit, "number": 1, "for": "31d", "because": "x" }),
            422,
            "`for`: an override holds from 1s to 30d",
        ),
        (json!({ "limit": limit, "number": 1, "for": "999ms", "because": "x" }), 422, "`for`:"),
        (
            json!({ "limit": limit, "number": 1, "for": "99999999999999999999d", "because": "x" }),
            422,
            "`for`:",
        ),
        (json!({ "limit": limit, "number": 1, "for": "2", "because": "x" }), 422, "did you mean 2s?"),
        (
            json!({ "limit": limit, "number": 0, "for": "1h", "because": "x" }),
            422,
            "`number`: a token_bucket of 0 is none",
        ),
        (json!({ "limit": limit, "number": -1, "for": "1h", "because": "x" }), 422, "number"),
        (
            json!({ "limit": limit, "for": "1h", "because": "x" }),
            422,
            "give one of `number`, `terms` and `mode`",
        ),
        (
            json!({ "limit": limit, "number": 1, "mode": "off", "for": "1h", "because": "x" }),
            422,
            "changes one thing",
        ),
        (
            json!({ "limit": limit, "mode": "on", "for": "1h", "because": "x" }),
            422,
            "write one of shadow, off, refuse",
        ),
        (
            json!({ "limit": limit, "terms": "tokn_bucket: {}", "for": "1h", "because": "x" }),
            422,
            "did you mean \"token_bucket\"?",
        ),
        (
            json!({ "limit": limit, "terms": "x".repeat(501), "for": "1h", "because": "x" }),
            422,
            "`terms`: is longer",
        ),
        (
            json!({ "limit": limit, "keys": { "user": "ada" }, "number": 1, "for": "1h", "because": "x" }),
            422,
            "it reads account",
        ),
        (
            json!({ "limit": limit, "key": "ada", "keys": { "account": "ada" }, "number": 1, "for": "1h", "because": "x" }),
            422,
            "one of the two",
        ),
        (
            json!({ "limit": "sell/pair", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            422,
            "give them in `keys`: account, route",
        ),
        (
            json!({ "limit": "sell/log", "key": "ada", "number": 1, "for": "1h", "because": "x" }),
            422,
            "counts everyone together",
        ),
        (
            json!({ "limit": "sell/log", "key": format!("hmac:{:032}", 0), "number": 1, "for": "1h", "because": "x" }),
            422,
            "has no such key",
        ),
        (json!({ "limit": limit, "number": 1, "for": "1h", "because": "x", "who": "me" }), 422, "who"),
    ] {
        let (status, problem) = one.admin("PUT", &call).await;
        let detail = problem["detail"].as_str().unwrap();
        assert_eq!(status, code, "{call}: {problem}");
        assert!(detail.contains(says), "{call}: {detail}");
    }
    let put = refuse("sell/log").to_string();
    let admin = one.at.admin.unwrap();
    assert_eq!(ask(admin, "PUT", "/v1/overrides", &put, "origin: http://evil.example\r\n").await.0, 403);
    assert_eq!(ask(admin, "PUT", "/v1/overrides", "[1]", "").await.0, 422);
    assert_eq!(ask(admin, "PUT", "/v1/overrides", "{", "").await.0, 400);
    assert_eq!(ask(admin, "POST", "/v1/overrides", &put, "").await.0, 405);
    assert_eq!(one.list().await, [] as [Value; 0]);
    assert!(one.allows("/sell", "ada").await);
}

/// What a limit remembers of a key is told in numbers, by any spelling, and nothing is charged for it.
#[tokio::test]
async fn a_look_at_a_key_tells_what_is_counted_and_takes_nothing() {
    let one = Instance::alone().await;
    let inspect =
        async |call: Value| ask(one.at.admin.unwrap(), "POST", "/inspect", &call.to_string(), "").await;
    let ada = json!({ "limit": "verify/per-account", "keys": { "account": " Ada" } });
    let (status, nothing) = inspect(ada.clone()).await;
    assert_eq!((status, &nothing["counted"], &nothing["states"]), (200, &json!(false), &json!([])));
    assert!(one.allows("/verify", "ada").await && one.allows("/verify", "ada").await);
    for _ in 0..3 {
        let (_, seen) = inspect(ada.clone()).await;
        let state = &seen["states"][0];
        assert_eq!((&state["used"], &state["remaining"], &state["limit"]), (&json!(2), &json!(1), &json!(3)));
        assert_eq!(state["numbers"], "token_bucket: capacity 3, refill 1 per 1h");
        assert!(state["reset_after_micros"].as_u64().unwrap() > 7_000_000_000, "{seen}");
    }
    let by_value = json!({ "limit": "verify/per-account", "key": "ADA" });
    assert_eq!(inspect(by_value).await.1["states"][0]["used"], 2);
    assert_eq!(inspect(json!({ "limit": "verify/nothing" })).await.0, 404);
    assert_eq!(inspect(json!({ "limit": "verify/per-account" })).await.0, 422);
    drop(one.folder);
}
