//! What good files mean: values, defaults and the pieces that stand for each other.

use std::time::Duration;

use tidegate_algorithms::Span;

use tidegate_policy::{
    Class, ClientSees, EncodedSlash, HeaderStyle, MemoryChoice, Mode, OnMissingKey, OnStoreFailure, Policy,
    ProblemTemplate, ResetUnit, StoreChoice, TrustedProxies, parse, parse_embedded,
};

const LIMITS: &str =
    "limits: [{ name: l, says: Ten., key: client_ip, fixed_window: { limit: 10, window: 1m } }]";

fn accepted(text: &str) -> Policy {
    parse("test.yaml", text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

fn with_rule(members: &str) -> Policy {
    accepted(&format!(
        "tidegate: 1\nhealth: {{ listen: 8084 }}\nrules:\n  - {{ name: r, match: {{ path: /a }}, {members} }}\n"
    ))
}

/// Guards the defaults of a file that says only what it has to.
#[test]
fn what_a_file_does_not_say_has_a_safe_default() {
    let policy = accepted(&format!(
        "tidegate: 1\ngateway: {{ listen: 8080, upstream: \"http://[::1]:3000/\" }}\nfallback: {{ {LIMITS} }}\n"
    ));
    let gateway = policy.gateway.as_ref().unwrap();
    assert!(gateway.listen.ip().is_loopback() && gateway.listen.port() == 8080);
    assert_eq!((gateway.max_key_body, gateway.upstream_timeout), (65_536, Duration::from_secs(30)));
    assert_eq!(gateway.upstream.authority().map(http::uri::Authority::as_str), Some("[::1]:3000"));
    assert!(gateway.tls.is_none() && !gateway.proxy_protocol && !gateway.upstream_http2);
    assert_eq!(policy.store, StoreChoice::default());
    assert_eq!(
        (policy.mode, policy.instances, policy.encoded_slash),
        (Mode::Enforce, 1, EncodedSlash::Refuse)
    );
    assert_eq!(policy.trusted, TrustedProxies::NOBODY);
    assert!(policy.rules.is_empty());
    assert_eq!(policy.headers, [HeaderStyle::Ietf]);
    assert_eq!(policy.problem, ProblemTemplate::default());
    let fallback = policy.fallback.unwrap();
    assert_eq!((fallback.name.as_str(), fallback.limits[0].name.as_str()), ("fallback", "fallback/l"));
    assert_eq!(fallback.limits[0].cost, tidegate_policy::Cost::Units(1));
}

/// Guards what a class decides when the rule does not.
#[test]
fn defaults_follow_the_class() {
    for (class, guarded, secret) in [
        (Class::Edge, false, false),
        (Class::Api, false, false),
        (Class::Send, true, false),
        (Class::Verify, true, true),
        (Class::Recovery, true, true),
        (Class::Login, true, true),
    ] {
        let failure = if guarded { "on_store_failure: local, " } else { "" };
        let policy = with_rule(&format!("class: {}, {failure}{LIMITS}", class.name()));
        let rule = &policy.rules[0];
        assert_eq!(rule.class, class);
        assert_eq!(rule.on_missing_key == OnMissingKey::Refuse, guarded, "{class:?}");
        assert_eq!(rule.matches[0].loose, guarded, "{class:?}");
        assert_eq!(rule.client_sees == ClientSees::RetryAfter, secret, "{class:?}");
        assert_eq!(rule.on_store_failure == OnStoreFailure::Allow, !guarded, "{class:?}");
    }
    let said =
        with_rule(&format!("on_missing_key: shared, client_sees: nothing, on_store_failure: deny, {LIMITS}"));
    let rule = &said.rules[0];
    assert_eq!(rule.on_missing_key, OnMissingKey::Shared);
    assert_eq!((rule.client_sees, rule.on_store_failure), (ClientSees::Nothing, OnStoreFailure::Deny));
}

/// Guards against a limit that is enforced although something above it says shadow.
#[test]
fn shadow_anywhere_above_is_shadow_below() {
    let limits = |mode: &str| LIMITS.replace("name: l,", &format!("name: l, {mode}"));
    let mode = |policy: &Policy| (policy.rules[0].mode, policy.rules[0].limits[0].mode);
    assert_eq!(mode(&with_rule(LIMITS)), (Mode::Enforce, Mode::Enforce));
    assert_eq!(mode(&with_rule(&limits("mode: shadow,"))), (Mode::Enforce, Mode::Shadow));
    let rule = with_rule(&format!("mode: shadow, {}", limits("mode: enforce,")));
    assert_eq!(mode(&rule), (Mode::Shadow, Mode::Shadow));
    let file = format!(
        "tidegate: 1\nmode: shadow\nhealth: {{ listen: 1 }}\nrules: [{{ name: r, mode: enforce, match: {{ path: /a }}, {} }}]\n",
        limits("mode: enforce,")
    );
    assert_eq!(mode(&accepted(&file)), (Mode::Shadow, Mode::Shadow));
}

/// Guards every setting of the gateway and the rest of the first level against being read as another.
#[test]
fn everything_that_is_said_is_meant() {
    let policy = accepted(&format!(
        "tidegate: 1
gateway:
  listen: 0.0.0.0:443
  upstream: http://backend.internal
  tls: {{ certificate: chain.pem, key: key.pem }}
  proxy_protocol: true
  upstream_http2: true
  max_key_body: 1MiB
  max_header_bytes: 16KiB
  max_connections: 5
  idle_timeout: 1s
  upstream_timeout: 2s
  drain_timeout: 3s
api: {{ listen: '[::]:8081', token_file: /etc/token }}
health: {{ listen: 0.0.0.0:8084 }}
store: {{ memory: {{ max_keys: 1000, max_bytes: 64MiB }} }}
trusted_proxies: {{ networks: [0.0.0.0/0, 10.0.0.1], trust_everyone: true }}
client_header: CF-Connecting-IP
instances: 3
paths: {{ encoded_slash: keep }}
headers: [draft-03, {{ x-ratelimit: epoch-milliseconds }}]
problem: {{ type: /errors/slow, title: Slow down, detail: 'Wait {{retry_after}} s.', members: {{ code: 7, ok: false, t: '7' }} }}
codes: {{ totp: {{ digits: 6, step: 30s, skew_steps: 1 }} }}
rules:
  - {{ name: r, class: verify, guesses: totp, on_store_failure: deny, match: {{ path: /a }}, {LIMITS} }}
"
    ));
    let gateway = policy.gateway.unwrap();
    assert_eq!(gateway.tls.unwrap().key.to_str(), Some("key.pem"));
    assert!(gateway.proxy_protocol && gateway.upstream_http2);
    assert_eq!(
        (gateway.max_key_body, gateway.max_header_bytes, gateway.max_connections),
        (1 << 20, 16 << 10, 5)
    );
    let times = [gateway.idle_timeout, gateway.upstream_timeout, gateway.drain_timeout];
    assert_eq!(times.map(|time| time.as_secs()), [1, 2, 3]);
    assert_eq!(policy.api.unwrap().token_file.unwrap().to_str(), Some("/etc/token"));
    assert_eq!(
        policy.store,
        StoreChoice::Memory(MemoryChoice { max_keys: Some(1000), max_bytes: Some(64 << 20), snapshot: None })
    );
    assert!(policy.trusted.trusts("203.0.113.9".parse().unwrap()));
    assert_eq!((policy.instances, policy.encoded_slash), (3, EncodedSlash::Keep));
    assert_eq!(policy.headers, [HeaderStyle::Draft03, HeaderStyle::XRateLimit(ResetUnit::EpochMilliseconds)]);
    let ProblemTemplate::Problem { members, .. } = policy.problem else { panic!("a problem") };
    let values: Vec<String> = members.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(values, ["code=7", "ok=false", "t=\"7\""]);
    let code = &policy.codes[0];
    assert_eq!((code.digits, code.step, code.skew_steps), (6, Some(Span::from_secs(30)), 1));
    assert_eq!(policy.rules[0].guesses.as_deref(), Some("totp"));
}

/// Guards aliases and the places where one value stands for a list of one.
#[test]
fn aliases_and_single_values_stand_for_what_they_name() {
    let policy = accepted(
        "tidegate: 1
health: { listen: 127.0.0.1:8084 }
headers: none
rules:
  - name: a
    match: &both { method: [GET, POST], path: /a }
    limits:
      - &limit { name: l, says: Ten a minute., key: global, sliding_log: &log { limit: 10, window: 1m } }
      - { name: m, says: Ten a minute., key: client_ip, sliding_log: *log }
  - { name: b, match: [*both, { host: example.com }], limits: [*limit] }
",
    );
    assert!(policy.headers.is_empty());
    assert_eq!(policy.rules[1].matches.len(), 2);
    assert_eq!(policy.rules[0].limits[0].terms.quota, policy.rules[0].limits[1].terms.quota);
    assert_eq!(policy.rules[1].limits[0].name, "b/l");
    assert_eq!(policy.rules[0].limits[0].key.to_string(), "global");
}

/// Guards places: counted in characters, whatever ends a line and whatever stands before.
#[test]
fn places_are_those_an_editor_shows() {
    let text = "\u{feff}tidegate: 1\r\n# \u{1F30A}\r\nhealth: { listen: 1 }\r\ncodes: { \"\u{e9}\u{1F30A}\": { digits: 6 }, x: 5 }\r\n";
    let problems = parse("a b.yaml", text).unwrap_err().to_string();
    let places: Vec<&str> =
        problems.lines().filter_map(|line| line.strip_prefix("a b.yaml:")?.split(": ").next()).collect();
    assert_eq!(places, ["1:1", "4:10", "4:34"], "{problems}");
}

/// Guards queues that cannot meet against being refused.
#[test]
fn queues_on_requests_that_differ_are_accepted() {
    let queue = "limits: [{ name: q, says: Five., key: global, leaky_bucket: { rate: 5 per 1s, queue: 1 } }]";
    let both = |a: &str, b: &str| {
        let text = format!(
            "tidegate: 1\nhealth: {{ listen: 1 }}\nrules:\n  - {{ name: a, match: {a}, {queue} }}\n  - {{ name: b, match: {b}, {queue} }}\n"
        );
        parse("test.yaml", &text).is_ok()
    };
    for (a, b, apart) in [
        ("{ path: /a }", "{ path: /b }", true),
        ("{ path: /a }", "{ path: /a/b }", true),
        ("{ path: /a }", "{ path: /A }", true),
        ("{ path: /a }", "{ path: /A, case: ignore }", false),
        ("{ path: /a }", "{ path: /a/ }", false),
        ("{ path: /a/** }", "{ path: /a }", false),
        ("{ path: /a/** }", "{ path: /b/** }", true),
        ("{ path: \"/a/{x}\" }", "{ path: /a/b }", false),
        ("{ path: \"/a/{x}/c\" }", "{ path: /a/b/d }", true),
        ("{ method: GET }", "{ method: POST }", true),
        ("{ method: GET }", "{ method: HEAD }", false),
        ("{ method: GET }", "{ path: /a }", false),
        ("{ host: a.com }", "{ host: b.com }", true),
        ("{ host: a.com }", "{ host: \"*.com\" }", false),
        ("{ host: \"*.a.com\" }", "{ host: \"*.com\" }", false),
        ("{ host: \"*.a.com\" }", "{ host: \"*.b.com\" }", true),
        ("[{ path: /a }, { path: /c }]", "[{ path: /b }, { path: /c }]", false),
    ] {
        assert_eq!((both(a, b), both(b, a)), (apart, apart), "{a} {b}");
    }
}

/// Guards what stands beside the words against being reduced: who compares the two looks for the same numbers.
#[test]
fn numbers_are_kept_as_they_are_written() {
    let limit = |name, algorithm| format!("{{ name: {name}, says: In words., key: global, {algorithm} }}");
    let algorithms = [
        ("fixed_window: { window: 24h, limit: 100 }", "limit 100, window 24h, anchor clock"),
        (
            "fixed_window: { anchor: first_hit, limit: 1, window: 60s }",
            "limit 1, window 60s, anchor first_hit",
        ),
        ("sliding_log: { limit: 9, window: 24h }", "limit 9, window 24h"),
        ("sliding_counter: { limit: \"100\", window: 1000ms }", "limit 100, window 1000ms"),
        ("token_bucket: { refill: 100 per 1m, capacity: 4 }", "capacity 4, refill 100 per 1m"),
        ("leaky_bucket: { rate: 5 per 1s, queue: 10 }", "rate 5 per 1s, queue 10"),
        ("lockout: { lock: 1h, attempts: 10, within: 30m }", "attempts 10, within 30m, lock 1h"),
        (
            "fixed_window: { limit: 10, anchor: calendar, window: month }",
            "limit 10, window month, anchor calendar",
        ),
    ];
    let limits: Vec<String> =
        (0..).zip(&algorithms).map(|(index, (text, _))| limit(format!("l{index}"), *text)).collect();
    let policy = accepted(&format!(
        "tidegate: \"1\"\nhealth: {{ listen: 1 }}\nrules: [{{ name: r, match: {{ path: /** }}, limits: [{}] }}]\n",
        limits.join(", ")
    ));
    let numbers: Vec<&str> =
        policy.rules[0].limits.iter().map(|limit| limit.terms.numbers.as_str()).collect();
    assert_eq!(numbers, algorithms.map(|(_, numbers)| numbers));
}

/// Guards library users against having to write a port that nobody opens, and processes against starting with none.
#[test]
fn a_face_may_be_missing_only_where_the_limiter_is_embedded() {
    let text = format!("tidegate: 1\nrules: [{{ name: r, match: {{ path: /** }}, {LIMITS} }}]\n");
    assert!(parse_embedded("test.yaml", &text).is_ok_and(|policy| policy.gateway.is_none()));
    assert_eq!(
        parse("test.yaml", &text).unwrap_err().to_string(),
        "test.yaml:1:1: the policy has no face, so nobody could ask it; write at least one of gateway, api, envoy, \
         resp, health; if a policy includes this file, check that policy instead"
    );
    let wrong = format!("{text}gateway: {{ listen: 8080 }}\n");
    assert!(parse_embedded("test.yaml", &wrong).is_err(), "a face that is there is checked");
}

/// Guards what a library user's `main` prints: the problems, not the fields that hold them.
#[test]
fn problems_print_their_lines_for_developers_too() {
    let problems = parse("test.yaml", "tidegate: \"2\"\nruls: []\n").unwrap_err();
    assert_eq!(format!("{problems:?}"), problems.to_string());
    assert_eq!(problems.to_string().lines().count(), problems.list().len());
}
