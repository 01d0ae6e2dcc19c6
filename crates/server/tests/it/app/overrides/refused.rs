//! What cannot be overridden, and a look at what is counted.

use serde_json::{Value, json};

use super::{Instance, RULES, ask, refuse};

/// Calls that cannot be, as the members in which they differ from one that can (null: it is not there), each with its status
/// and what the answer says.
const WRONG: [(&str, u16, &str); 21] = [
    (r#"{ "limit": "verify/per-acount" }"#, 404, "did you mean \"verify/per-account\"?"),
    (r#"{ "limit": "verify/per-acount", "key": "ada" }"#, 404, "verify/per-account"),
    (r#"{ "because": " " }"#, 422, "`because`: say why"),
    (r#"{ "because": null }"#, 422, "because"),
    (r#"{ "for": null }"#, 422, "for"),
    (r#"{ "for": "31d" }"#, 422, "`for`: an override holds from 1s to 30d"),
    (r#"{ "for": "999ms" }"#, 422, "`for`:"),
    (r#"{ "for": "99999999999999999999d" }"#, 422, "`for`:"),
    (r#"{ "for": "2" }"#, 422, "did you mean 2s?"),
    (r#"{ "number": 0 }"#, 422, "`number`: a token_bucket of 0 is none"),
    (r#"{ "number": -1 }"#, 422, "number"),
    (r#"{ "number": null }"#, 422, "give one of `number`, `terms` and `mode`"),
    (r#"{ "mode": "off" }"#, 422, "changes one thing"),
    (r#"{ "number": null, "mode": "on" }"#, 422, "write one of shadow, off, refuse"),
    (r#"{ "number": null, "terms": "tokn_bucket: {}" }"#, 422, "did you mean \"token_bucket\"?"),
    (r#"{ "keys": { "user": "ada" } }"#, 422, "it reads account"),
    (r#"{ "key": "ada", "keys": { "account": "ada" } }"#, 422, "one of the two"),
    (r#"{ "limit": "sell/pair", "key": "ada" }"#, 422, "give them in `keys`: account, route"),
    (r#"{ "limit": "sell/log", "key": "ada" }"#, 422, "counts everyone together"),
    (r#"{ "limit": "sell/log", "key": "hmac:00000000000000000000000000000000" }"#, 422, "has no such key"),
    (r#"{ "who": "me" }"#, 422, "who"),
];

/// Returns a call that can be, but for some members.
fn but(members: &Value) -> Value {
    let mut call = json!({ "limit": "verify/per-account", "number": 1, "for": "1h", "because": "x" });
    for (name, value) in members.as_object().unwrap() {
        call[name.as_str()] = value.clone();
    }
    call.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    call
}

/// Whatever cannot be is refused with what can, and changes nothing.
#[tokio::test]
async fn what_cannot_be_is_refused_with_the_remedy() {
    let one = Instance::alone().await;
    let long = "x".repeat(501);
    let too_long = [
        (json!({ "because": long }), 422, "`because`: has 501"),
        (json!({ "number": null, "terms": long }), 422, "`terms`: is longer"),
    ];
    let wrong = WRONG.map(|(members, code, says)| (serde_json::from_str(members).unwrap(), code, says));
    for (members, code, says) in wrong.into_iter().chain(too_long) {
        let call = but(&members);
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

/// Guards against a key that is shown what holds for another, and against one that is blocked and about which nothing is said.
#[tokio::test]
async fn a_look_at_a_key_tells_what_holds_for_it_alone() {
    let rules = RULES.replace(
        "refill: 1 per 1h } }",
        "refill: 1 per 1h }, overrides: [ { value: vip, because: contract, says: \"9 in any minute, per account.\", \
         sliding_log: { limit: 9, window: 1m } } ] }",
    );
    let one = Instance::start("", &rules).await;
    let (limit, admin) = ("verify/per-account", one.at.admin.unwrap());
    let look = async |account: &str| {
        let call = json!({ "limit": limit, "keys": { "account": account } });
        let (code, seen) = ask(admin, "POST", "/inspect", &call.to_string(), "").await;
        assert_eq!(code, 200, "{seen}");
        let states = seen["states"].as_array().unwrap().iter();
        let numbers: Vec<String> =
            states.map(|state| state["numbers"].as_str().unwrap().to_owned()).collect();
        (numbers, seen["run_time_override"].clone())
    };
    assert!(one.allows("/verify", "ada").await && one.allows("/verify", "vip").await);
    let own = vec!["token_bucket: capacity 3, refill 1 per 1h".to_owned()];
    let of_file = vec!["sliding_log: limit 9, window 1m".to_owned()];
    assert_eq!(look("ada").await, (own.clone(), Value::Null), "nothing of a key that the file names");
    assert_eq!(look("vip").await, (of_file.clone(), Value::Null));
    one.put(json!({ "limit": limit, "key": "Mallory", "mode": "refuse", "for": "1h", "because": "a bot" }))
        .await;
    assert_eq!(look("ada").await, (own, Value::Null), "nothing of Mallory's");
    let (states, over) = look("mallory").await;
    assert_eq!(states, [] as [String; 0], "nothing is counted");
    assert_eq!((&over["mode"], &over["because"]), (&json!("refuse"), &json!("a bot")));
    one.put(json!({ "limit": limit, "number": 2, "for": "1h", "because": "guessing" })).await;
    let (states, over) = look("ada").await;
    assert_eq!(states, ["token_bucket: capacity 2, refill 1 per 90m"]);
    assert_eq!((&over["sets"], &over["key"]), (&json!("limit 2"), &Value::Null));
    assert_eq!(look("vip").await, (of_file, Value::Null), "terms of the file stay");
}

/// Guards against a slip of a zero that nobody is told of.
#[tokio::test]
async fn a_looser_limit_is_told_with_what_the_review_finds_in_it() {
    let rules = RULES.replace("class: login\n", "class: verify\n    guesses: pin\n");
    let rules = format!("codes: {{ pin: {{ digits: 8 }} }}\n{rules}");
    let one = Instance::start("", &rules).await;
    let call =
        |number: u64| json!({ "limit": "verify/per-account", "number": number, "for": "1h", "because": "x" });
    let tighter = one.put(call(2)).await;
    assert_eq!((&tighter["override"]["effect"], &tighter["warnings"]), (&json!("tighter"), &json!([])));
    let looser = one.put(call(100_000)).await;
    assert_eq!(looser["override"]["effect"], "looser");
    let found = looser["warnings"].as_array().unwrap();
    assert!(!found.is_empty() && found[0]["about"].as_str().unwrap().starts_with("verify"), "{looser}");
    let off = json!({ "limit": "verify/per-account", "mode": "off", "for": "1h", "because": "x" });
    assert_eq!(one.put(off).await["override"]["effect"], "looser");
    assert_eq!(one.put(refuse("verify/per-account")).await["warnings"], json!([]));
}

/// A key of several parts is told part by part, and a route by the patterns there are.
#[tokio::test]
async fn a_key_that_lacks_a_part_is_told_all_of_them() {
    let one = Instance::alone().await;
    let parts = json!([{ "name": "account", "values": [] }, { "name": "route", "values": ["/sell"] }]);
    for keys in [
        json!({ "key": "ada" }),
        json!({ "keys": { "account": "ada" } }),
        json!({ "keys": { "user": "ada" } }),
    ] {
        let mut call = json!({ "limit": "sell/pair" });
        call.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        for path in ["/inspect", "/reset"] {
            let (status, problem) = ask(one.at.admin.unwrap(), "POST", path, &call.to_string(), "").await;
            assert_eq!((status, &problem["parts"]), (422, &parts), "{path} {call}: {problem}");
        }
        let (status, problem) = one.admin("DELETE", &call).await;
        assert_eq!((status, &problem["parts"]), (422, &parts), "{call}: {problem}");
    }
    let (status, problem) = one.admin("DELETE", &json!({ "limit": "sell/pairs" })).await;
    assert!(problem["detail"].as_str().unwrap().contains("did you mean \"sell/pair\"?"), "{problem}");
    assert_eq!(status, 404);
}
