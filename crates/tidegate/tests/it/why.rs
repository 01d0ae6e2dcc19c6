//! What is behind a verdict, held against the verdict.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use tidegate::policy_file::{self, Request};
use tidegate::why::{Looked, Why};
use tidegate::{CheckOptions, Limiter, Ruling, Span, Timestamp};

use crate::world::by;

/// Every way to leave a request out, to skip it, to share a key, to refuse and to choose.
const RULES: &str = r#"
tidegate: 1
trusted_proxies: [10.0.0.0/8]
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  api_key: { header: x-api-key }
  client: { client_ip: { ipv4: 24, ipv6: 64 } }
  caller: { first_of: [api_key, client] }
rules:
  - name: required
    class: verify
    match: [{ method: POST, path: /verify }, { host: b.example, path: "/v/{id}" }]
    except: [{ client: [198.51.100.0/24] }]
    on_store_failure: deny
    limits:
      - { name: account, says: "Two at once, then one every ten seconds, per account.", key: account,
          token_bucket: { capacity: 2, refill: 1 per 10s } }
  - name: skipped
    match: { path: [/verify, /search] }
    limits:
      - { name: key, says: "Never more than three in any minute, per API key.", key: api_key,
          sliding_log: { limit: 3, window: 1m } }
      - name: plans
        key: caller
        plan: { header: x-plan, from: trusted_proxies, default: free }
        plans:
          free: { says: "Four a minute, per caller.", sliding_counter: { limit: 4, window: 1m } }
          paid: { says: "Eight a minute, per caller.", sliding_counter: { limit: 8, window: 1m } }
  - name: watched
    mode: shadow
    match: { path: [/search, /watched] }
    limits:
      - { name: all, says: "One a minute, for everyone together.", key: global, sliding_log: { limit: 1, window: 1m } }
  - name: keyed
    match: { path: /keyed }
    limits:
      - { name: key, says: "Two a minute, per API key.", key: api_key, sliding_log: { limit: 2, window: 1m } }
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 403, because: not for the public }
fallback:
  on_store_failure: allow
  limits:
    - { name: rest, says: "Five a minute, per client.", key: client, sliding_log: { limit: 5, window: 1m } }
"#;

/// A request that is put together from what the rules look at.
#[derive(Debug, Clone)]
struct Asked {
    method: &'static str,
    host: &'static str,
    path: &'static str,
    peer: &'static str,
    fields: Vec<(&'static str, &'static str)>,
    body: &'static str,
    peek: bool,
}

fn asked() -> impl Strategy<Value = Asked> {
    let method = prop::sample::select(vec!["GET", "POST"]);
    let host = prop::sample::select(vec!["a.example", "b.example"]);
    let path = prop::sample::select(vec![
        "/verify",
        "/v/7",
        "/search",
        "/internal/x",
        "/watched",
        "/keyed",
        "/else",
        "/a%2fb",
        "//search/",
    ]);
    let peer = prop::sample::select(vec!["192.0.2.7", "198.51.100.1", "10.0.0.1"]);
    let fields = prop::sample::subsequence(
        vec![
            ("x-api-key", "k1"),
            ("x-api-key", "k2"),
            ("x-plan", "paid"),
            ("x-plan", "none"),
            ("x-forwarded-for", "203.0.113.5"),
        ],
        0..3,
    );
    let body = prop::sample::select(vec!["", r#"{"account":"ada"}"#, r#"{"account":1,"account":2}"#, "[]"]);
    (method, host, path, peer, fields, body, any::<bool>()).prop_map(
        |(method, host, path, peer, fields, body, peek)| Asked {
            method,
            host,
            path,
            peer,
            fields,
            body,
            peek,
        },
    )
}

/// Checks a request and explains what came of it.
async fn explain(limiter: &Limiter, asked: &Asked, at: Timestamp) -> Why {
    let mut headers = HeaderMap::new();
    for (name, value) in &asked.fields {
        headers.append(*name, HeaderValue::from_static(value));
    }
    let request = Request {
        method: asked.method,
        host: Some(asked.host),
        path: asked.path,
        query: None,
        headers: &headers,
        peer: Some(asked.peer.parse().unwrap()),
        body: Some(asked.body.as_bytes()).filter(|body| !body.is_empty()),
    };
    let options = CheckOptions { at: Some(at), peek: asked.peek, ..CheckOptions::default() };
    let in_force = limiter.snapshot();
    let before = in_force.why(&request, None, options).await;
    let verdict = in_force.check_with(&request, None, options).await;
    assert_eq!(before.verdict.ruling(), verdict.ruling(), "a look says otherwise than the check after it");
    in_force.why_of(&request, None, options, &verdict)
}

/// Asserts that an explanation says of each limit what the verdict does.
fn agrees(why: &Why) {
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let said = |wanted: fn(&Looked) -> bool| {
        names(why.limits().filter(|limit| wanted(&limit.looked)).map(|limit| limit.name.as_str()).collect())
    };
    let verdict = &why.verdict;
    let decided = names(verdict.decisions().iter().map(|decision| decision.limit.name()).collect());
    let skipped = names(verdict.skipped().iter().map(tidegate::Limit::name).collect());
    match verdict.ruling() {
        Ruling::BadRequest(bad) => {
            let unread = why.limits().find_map(|limit| match &limit.looked {
                Looked::Unreadable(found) => Some(found),
                _ => None,
            });
            assert_eq!(unread.or(why.path.as_ref().err()), Some(bad), "{why:#?}");
        }
        Ruling::Denied(denial) => assert!(why.applying().any(|rule| rule == &*denial.rule), "{why:#?}"),
        _ => {
            assert_eq!(said(|looked| matches!(looked, Looked::Asked { .. })), decided, "{why:#?}");
            // A shadow limit that cannot be read is skipped.
            assert_eq!(said(|looked| !matches!(looked, Looked::Asked { .. })), skipped, "{why:#?}");
            for limit in why.limits() {
                let plan = limit.decision().and_then(|decision| decision.limit.plan());
                let Looked::Asked { terms, decision, .. } = &limit.looked else { continue };
                assert!(decision.is_some(), "{why:#?}");
                assert_eq!(terms.as_ref().map(|terms| terms.name.as_str()), plan, "{why:#?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Guards against an explanation of something else than what happened: rules, skips, plans, the fallback.
    #[test]
    fn what_is_told_is_what_was_decided(requests in prop::collection::vec(asked(), 1..12)) {
        let policy = policy_file::parse_embedded("why.yaml", RULES).unwrap_or_else(|problems| panic!("{problems}"));
        let limiter = Limiter::from_policy(policy).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let start = Timestamp::from_micros(1_800_000_000_000_000).unwrap();
        for (second, asked) in (0..).zip(&requests) {
            let at = start.saturating_add(Span::from_secs(second));
            agrees(&runtime.block_on(explain(&limiter, asked, at)));
        }
    }
}

/// Guards against a path without meaning that is explained as if it had one, and a limiter without a policy that is not.
#[test]
fn what_no_rule_is_asked_about_is_said() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let headers = HeaderMap::new();
    let request = Request {
        method: "GET",
        host: None,
        path: "/a%2fb",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    let policy =
        policy_file::parse_embedded("why.yaml", RULES).unwrap_or_else(|problems| panic!("{problems}"));
    let why = runtime.block_on(Limiter::from_policy(policy).unwrap().snapshot().why(
        &request,
        None,
        CheckOptions::default(),
    ));
    assert_eq!(why.path.unwrap_err().part(), "path");
    assert!(why.rules.is_empty() && !why.verdict.is_allowed());
    let why = runtime.block_on(Limiter::in_memory([]).unwrap().snapshot().why(
        &request,
        None,
        CheckOptions::default(),
    ));
    assert!(why.rules.is_empty() && why.verdict.is_allowed());
}

/// Guards against a rule that only watches and is told as one that lets nothing through.
#[test]
fn a_shadow_rule_that_refuses_is_told_as_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let headers = HeaderMap::new();
    let request = Request {
        method: "GET",
        host: None,
        path: "/internal/x",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    for (mode, allowed, told) in [
        ("enforce", false, "and lets nothing through: not for the public"),
        ("shadow", true, "and would let nothing through, were it no shadow: not for the public"),
    ] {
        let text = RULES.replace("  - name: closed\n", &format!("  - name: closed\n    mode: {mode}\n"));
        let policy =
            policy_file::parse_embedded("why.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        let limiter = Limiter::from_policy(policy).unwrap();
        let why = runtime.block_on(limiter.snapshot().why(&request, None, CheckOptions::default()));
        let closed = why.rules.iter().find(|rule| rule.name == "closed").unwrap();
        assert!(closed.because.ends_with(told), "{}", closed.because);
        assert_eq!(why.verdict.is_allowed(), allowed);
    }
}

/// Guards against a plan or a cost that is sent, ignored, and missing in the explanation.
#[tokio::test]
async fn what_an_untrusted_peer_claims_is_told_to_be_not_believed() {
    let limiter = by("
trusted_proxies: [192.0.2.7]
rules:
  - name: api
    match: { path: /** }
    limits:
      - name: l
        key: client_ip
        cost: { header: x-cost, from: trusted_proxies, default: 1 }
        plan: { header: x-plan, from: trusted_proxies, default: free }
        plans:
          free: { says: Ten a minute per client., sliding_counter: { limit: 10, window: 1m } }
          paid: { says: 20 a minute per client., sliding_counter: { limit: 20, window: 1m } }
");
    let mut headers = HeaderMap::new();
    headers.insert("x-plan", HeaderValue::from_static("paid"));
    headers.insert("x-cost", HeaderValue::from_static("0"));
    for (peer, told) in [("203.0.113.1", 2), ("192.0.2.7", 0)] {
        let peer = Some(peer.parse().unwrap());
        let request = Request {
            method: "GET",
            host: None,
            path: "/",
            query: None,
            headers: &headers,
            peer,
            body: None,
        };
        let why = limiter.snapshot().why(&request, None, CheckOptions::default()).await;
        let notes = &why.limits().next().unwrap().notes;
        let all = [
            r#"header x-plan = "paid" is not believed, since 203.0.113.1 is no trusted proxy"#,
            r#"header x-cost = "0" is not believed, since 203.0.113.1 is no trusted proxy"#,
        ];
        assert_eq!(notes[..], all[..told]);
    }
}
