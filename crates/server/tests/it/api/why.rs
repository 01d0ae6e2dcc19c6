//! What is behind a verdict: that it is the verdict's, that looking costs nothing, and that nobody is named.

use http::StatusCode;
use serde_json::{Value, json};

use super::check::{VERIFY, remaining, verify, with};
use super::world::{Answer, Served};

/// Rules that leave requests out for every reason there is.
const REASONS: &str = r"
trusted_proxies: [10.0.0.0/8]
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  api_key: { header: x-api-key }
rules:
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 403, because: not for the public }
  - name: verify
    match: { method: POST, host: api.example.com, path: /otp/verify }
    except: [{ client: [198.51.100.0/24] }]
    limits:
      - name: per-account
        says: Two at once, then one every 24 hours, per account.
        key: account
        token_bucket: { capacity: 2, refill: 1 per 24h }
  - name: keyed
    match: { path: /** }
    limits:
      - name: per-key
        says: Two at once, then one every 24 hours, per API key.
        key: api_key
        token_bucket: { capacity: 2, refill: 1 per 24h }
fallback:
  on_store_failure: allow
  limits:
    - name: all
      says: Nine at once, then one every 24 hours, for everyone together.
      key: global
      token_bucket: { capacity: 9, refill: 1 per 24h }
";

async fn why(api: &Served, call: &Value) -> Value {
    let answer = api.post("/v1/why", call.to_string()).await;
    explained(&answer)
}

async fn why_query(api: &Served, query: &str) -> Value {
    explained(&api.get(&format!("/v1/why?{query}")).await)
}

fn explained(answer: &Answer) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

/// Returns an answer without what goes on while a test runs: the spans, and what is made of them.
fn timeless(answer: &Value) -> Value {
    match answer {
        Value::Object(members) => {
            let timed = |name: &str| name.ends_with("_micros") || ["headers", "explain"].contains(&name);
            let kept = members.iter().filter(|(name, _)| !timed(name));
            kept.map(|(name, value)| (name.clone(), timeless(value))).collect()
        }
        Value::Array(items) => items.iter().map(timeless).collect(),
        other => other.clone(),
    }
}

/// Returns a rule's members by its name.
fn rule<'a>(why: &'a Value, name: &str) -> &'a Value {
    why["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == name).unwrap()
}

/// Guards against an explanation that takes units, or that is not about what has been counted.
#[tokio::test]
async fn looking_costs_nothing_and_sees_what_was_counted() {
    let api = Served::api(VERIFY).await;
    for left in [2, 1, 0] {
        for _ in 0..3 {
            let why = why(&api, &verify("ada")).await;
            assert_eq!(why["verdict"]["allowed"], left > 0, "{why}");
            assert_eq!(remaining(&why["verdict"], "verify/per-account"), left, "{why}");
            assert_eq!(why["verdict"]["receipt"], Value::Null);
        }
        api.check(verify("ada")).await;
    }
    assert_eq!(why(&api, &verify("bea")).await["verdict"]["allowed"], true);
}

/// Guards against an explanation that says otherwise than the check does.
#[tokio::test]
async fn its_verdict_is_that_of_a_check_that_only_looks() {
    let api = Served::api(VERIFY).await;
    api.check(verify("ada")).await;
    let calls = [
        verify("ada"),
        json!({}),
        json!({ "method": "POST", "path": "/otp/verify" }),
        json!({ "path": "/a%2fb" }),
        with(verify("ada"), &json!({ "cost": 3 })),
        with(verify(""), &json!({ "keys": { "account": "ADA" } })),
    ];
    for call in calls {
        let why = why(&api, &call).await;
        let check = api.check(with(call.clone(), &json!({ "peek": true }))).await;
        assert_eq!(timeless(&why["verdict"]), timeless(&check), "{call}");
    }
}

#[tokio::test]
async fn each_rule_says_why_it_applies_or_does_not() {
    let api = Served::api(REASONS).await;
    let call = json!({
        "method": "POST", "host": "api.example.com", "path": "//otp/verify/", "client": "192.0.2.7",
        "headers": { "content-type": "application/json" }, "body": "{\"account\": \"ada\"}",
    });
    let first = why(&api, &call).await;
    assert_eq!(first["path"], "/otp/verify");
    assert_eq!(first["forwarded"], false);
    assert_eq!(rule(&first, "closed")["because"], "is for /internal/**, and this is /otp/verify");
    assert_eq!(rule(&first, "verify")["because"], "applies by /otp/verify");
    assert_eq!(rule(&first, "keyed")["limits"][0]["looked"], "skipped");
    assert_eq!(rule(&first, "fallback")["applies"], false);
    let get = why(&api, &with(call.clone(), &json!({ "method": "GET" }))).await;
    assert_eq!(rule(&get, "verify")["because"], "is for POST, and this is GET");
    assert_eq!(rule(&get, "fallback")["because"], "applies, since no enforced limit looked");
    let host = why(&api, &with(call.clone(), &json!({ "host": "example.com:443" }))).await;
    assert_eq!(rule(&host, "verify")["because"], "is for api.example.com, and this is for example.com");
    let left_out = why(&api, &with(call.clone(), &json!({ "client": "198.51.100.3" }))).await;
    assert_eq!(rule(&left_out, "verify")["because"], "leaves it out by exception 1: client 198.51.100.0/24");
    let closed = why(&api, &json!({ "path": "/internal/x", "headers": { "x-api-key": "k" } })).await;
    assert_eq!(closed["verdict"]["ruling"], "denied");
    assert_eq!(
        rule(&closed, "closed")["because"],
        "applies by /internal/** and lets nothing through: not for the public"
    );
    assert_eq!(rule(&closed, "keyed")["limits"][0]["looked"], "not_asked");
    let unreadable = why(&api, &json!({ "path": "/a%2fb" })).await;
    assert_eq!((&unreadable["path"], &unreadable["rules"]), (&Value::Null, &json!([])));
}

/// Guards against identities that leave the process, and against names that tell two keys or two limits to be one.
#[tokio::test]
async fn keys_are_named_by_keyed_hashes() {
    let api = Served::api(VERIFY).await;
    let name =
        |why: &Value, limit: usize| why["rules"][0]["limits"][limit]["identity"].as_str().unwrap().to_owned();
    let ada = why(&api, &verify("Ada-Quillon")).await;
    let again = why(&api, &verify(" ada-quillon ")).await;
    let bea = why(&api, &verify("bea")).await;
    assert_eq!(name(&ada, 0), name(&again, 0));
    assert_ne!(name(&ada, 0), name(&bea, 0));
    assert_ne!(name(&ada, 0), name(&ada, 1));
    assert_eq!(name(&ada, 1), name(&bea, 1));
    assert!(name(&ada, 0).starts_with("hmac:"));
    let shown = ada.to_string().to_lowercase();
    assert!(!shown.contains("quillon") && !shown.contains("192.0.2.7"), "{shown}");
    assert_eq!(
        ada["rules"][0]["limits"][0]["key"],
        json!([{ "name": "account", "source": "JSON body /account", "found": true }])
    );
}

/// Guards against a query that means something else than the call it stands for.
#[tokio::test]
async fn a_query_describes_what_a_body_does() {
    let api = Served::api(VERIFY).await;
    api.check(verify("ada")).await;
    let by_query = why_query(
        &api,
        "method=POST&path=%2Fotp%2Fverify&client=192.0.2.7&key.account=ADA+&header=x-a:%20b&header=X-A:c",
    )
    .await;
    let by_body = why(
        &api,
        &json!({
            "method": "POST", "path": "/otp/verify", "client": "192.0.2.7", "keys": { "account": "ADA " },
            "headers": { "x-a": ["b", "c"] },
        }),
    )
    .await;
    assert_eq!(timeless(&by_query), timeless(&by_body));
    assert_eq!(remaining(&by_query["verdict"], "verify/per-account"), 1);
    assert_eq!(why_query(&api, "").await["path"], "/");
}

#[tokio::test]
async fn a_query_at_fault_is_told_its_parameter() {
    let api = Served::api(VERIFY).await;
    let many = "header=a:b&".repeat(9);
    let long = format!("query={}", "a".repeat(257));
    let table = [
        ("methd=POST", "methd"),
        ("method=GET&method=POST", "method"),
        ("method=", "method"),
        ("path=otp", "path"),
        ("path=%ff", "path"),
        ("client=example.com", "client"),
        ("header=x-a", "header"),
        ("header=:a", "header"),
        ("header=a%20b:c", "headers.a b"),
        ("key.nobody=ada", "keys.nobody"),
        ("key.account=ada&key.account=bea", "key.account"),
        (&many, "header"),
        (&long, "query"),
    ];
    for (query, member) in table {
        let answer = api.get(&format!("/v1/why?{query}")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
        let problem = answer.problem();
        assert_eq!(problem["member"], member, "{query}: {problem}");
    }
}

/// Rules for descriptors, of which one is over soon and one counts on a key that nobody may be named by.
const DESCRIPTORS: &str = r"
envoy: { listen: 127.0.0.1:0 }
keys: { caller: { descriptor: remote_address } }
rules:
  - name: checkout
    match: { domain: shop, descriptor: [path, remote_address] }
    limits:
      - name: per-caller
        says: Two at once, then one every 24 hours, per caller.
        key: caller
        token_bucket: { capacity: 2, refill: 1 per 24h }
  - name: staff
    match: { domain: shop, descriptor: [staff] }
    envoy: { unlimited: true }
";

/// Guards against a call of Envoy's that is explained otherwise than a request, charged, or told with the values of keys.
#[tokio::test]
async fn a_call_about_descriptors_is_explained_as_requests_are() {
    let api = Served::api(DESCRIPTORS).await;
    let entry = |key: &str, value: &str| json!({ "key": key, "value": value });
    let call = json!({ "domain": "shop", "descriptors": [
        { "entries": [entry("path", "/checkout"), entry("remote_address", "192.0.2.7")], "hits": 3 },
        { "entries": [entry("staff", "ada")] },
    ] });
    let told = why(&api, &call).await;
    let again = why(&api, &call).await;
    assert_eq!(timeless(&told), timeless(&again), "looking has cost something");
    let status = |index: usize| told["descriptors"][index]["status"].clone();
    assert_eq!([status(0), status(1)], [json!("over"), json!("unlimited")], "{told}");
    assert_eq!(told["descriptors"][0]["limit"], "checkout/per-caller");
    let rule = &told["descriptors"][0]["rules"][0];
    assert_eq!(rule["applies"], true);
    let limit = &rule["limits"][0];
    assert_eq!([&limit["looked"], &limit["units"]], [&json!("asked"), &json!(3)]);
    assert_eq!(
        limit["key"][0],
        json!({ "name": "caller", "source": "descriptor remote_address", "found": true })
    );
    assert!(limit["identity"].as_str().unwrap().starts_with("hmac:"));
    assert_eq!(told["verdict"]["allowed"], false);
    assert!(!told.to_string().contains("192.0.2.7"), "{told}");
}

#[tokio::test]
async fn a_call_about_descriptors_that_nobody_can_mean_is_a_problem_that_names_its_member() {
    let api = Served::api(DESCRIPTORS).await;
    let one = json!([{ "entries": [{ "key": "a", "value": "b" }] }]);
    for (call, member) in [
        (json!({ "domain": "", "descriptors": one }), "domain"),
        (json!({ "domain": null, "descriptors": one }), "domain"),
        (json!({ "domain": "shop", "descriptors": [] }), "descriptors"),
        (json!({ "domain": "shop", "descriptors": one, "path": "/x" }), "path"),
        (json!({ "domain": "shop", "descriptors": [{ "entries": [] }] }), "descriptors[0].entries"),
        (
            json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "", "value": "" }] }] }),
            "descriptors[0].entries",
        ),
        (
            json!({ "domain": "shop", "descriptors": [{ "entries": one[0]["entries"], "hits": 1_073_741_825 }] }),
            "descriptors[0].hits",
        ),
    ] {
        let answer = api.post("/v1/why", call.to_string()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{call}");
        assert_eq!(answer.problem()["member"], member, "{call}: {answer:?}");
    }
}
