//! What changes between two policies.

use tidegate_policy::{Diff, Effect, Fate, LimitDiff, Strictness, parse_embedded};

fn rule(limit: &str) -> String {
    format!("rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - {limit}\n")
}

fn between(old: &str, new: &str) -> Diff {
    let keys = "keys: { user: { json: /user }, device: { json: /device } }\n";
    let read = |text: &str| parse_embedded("policy.yaml", &format!("tidegate: 1\n{keys}{text}")).unwrap();
    Diff::between(&read(old), &read(new))
}

fn limits(old: &str, new: &str) -> Vec<LimitDiff> {
    let of = |algorithm: &str| rule(&format!("{{ name: l, says: Words., key: user, {algorithm} }}"));
    between(&of(old), &of(new)).limits
}

fn one(old: &str, new: &str) -> LimitDiff {
    let mut found = limits(old, new);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Guards against telling of limits that stay as they are.
#[test]
fn what_is_written_otherwise_and_means_the_same_is_no_change() {
    assert!(
        between(
            &rule("{ name: l, says: Words., key: user, sliding_log: { limit: 9, window: 24h } }"),
            &rule("{ name: l, says: Words., key: [user], sliding_log: { limit: 9, window: 1d } }")
        )
        .is_empty()
    );
}

#[test]
fn more_at_once_is_looser_and_keeps_its_counts() {
    let diff = one(
        "token_bucket: { capacity: 4, refill: 1 per 10s }",
        "token_bucket: { capacity: 5, refill: 1 per 10s }",
    );
    assert_eq!((diff.strictness, diff.fate), (Strictness::Looser, Fate::Kept));
    let told: Vec<String> = diff.changes.iter().map(ToString::to_string).collect();
    assert!(told.contains(&"at once: 4 -> 5".to_owned()), "{told:?}");
    assert!(told.contains(&"at most in any 1m: 9 -> 10".to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("long run")), "{told:?}");
}

#[test]
fn fewer_is_tighter_and_clamps() {
    let diff = one("sliding_log: { limit: 9, window: 24h }", "sliding_log: { limit: 5, window: 24h }");
    assert_eq!((diff.strictness, diff.fate), (Strictness::Tighter, Fate::Clamped));
    assert!(
        diff.changes.iter().any(|one| one.to_string() == "in the long run: 9 a day -> 5 a day"),
        "{diff:?}"
    );
}

/// Guards against a single verdict where a second and a day point apart.
#[test]
fn a_smaller_burst_at_a_higher_rate_is_both() {
    let diff = one(
        "token_bucket: { capacity: 10, refill: 1 per 1m }",
        "token_bucket: { capacity: 2, refill: 1 per 1s }",
    );
    assert_eq!((diff.strictness, diff.fate), (Strictness::Mixed, Fate::Clamped));
    assert!(diff.strictness.is_looser() && diff.strictness.is_tighter());
}

/// Guards against comparing nominal numbers alone: a fixed window admits twice its limit over its edge.
#[test]
fn the_same_numbers_under_another_algorithm_are_compared_by_what_they_admit() {
    let diff = one("fixed_window: { limit: 5, window: 30s }", "sliding_log: { limit: 5, window: 30s }");
    assert_eq!((diff.strictness, diff.fate), (Strictness::Tighter, Fate::Carried));
    assert!(diff.changes.iter().any(|one| one.to_string() == "at most in any 1s, 30s: 10 -> 5"), "{diff:?}");
}

#[test]
fn another_key_starts_fresh() {
    let of = |key: &str| {
        rule(&format!("{{ name: l, says: Words., key: {key}, sliding_log: {{ limit: 9, window: 24h }} }}"))
    };
    let diff = between(&of("user"), &of("[user, device]"));
    assert_eq!(diff.limits[0].fate, Fate::Fresh);
    // Counted on two things, a key is used up later; on another one, nobody can tell.
    assert_eq!(diff.limits[0].strictness, Strictness::Unclear);
    assert!(!diff.limits[0].is_new() && diff.starts_fresh());
}

#[test]
fn a_renamed_limit_keeps_its_counts_only_when_it_says_so() {
    let log = "key: user, sliding_log: { limit: 9, window: 24h }";
    let old = rule(&format!("{{ name: old, says: Words., {log} }}"));
    let silent = between(&old, &rule(&format!("{{ name: new, says: Words., {log} }}")));
    let told: Vec<_> =
        silent.limits.iter().map(|one| (one.name.as_str(), one.strictness, one.fate)).collect();
    assert_eq!(
        told,
        [("r/new", Strictness::Added, Fate::Fresh), ("r/old", Strictness::Removed, Fate::Dropped)]
    );
    let said = between(&old, &rule(&format!("{{ name: new, was: old, says: Words., {log} }}")));
    assert_eq!(said.limits.len(), 1);
    assert_eq!(said.limits[0].renamed_from.as_deref(), Some("r/old"));
    assert_eq!(said.limits[0].fate, Fate::Kept);
}

/// Guards a second renaming: the counts still lie under the first name.
#[test]
fn a_second_renaming_that_forgets_the_first_name_is_told_with_its_remedy() {
    let log = "key: user, sliding_log: { limit: 9, window: 24h }";
    let second = rule(&format!("{{ name: b, was: a, says: Words., {log} }}"));
    let diff = between(&second, &rule(&format!("{{ name: c, was: b, says: Words., {log} }}")));
    assert_eq!(diff.limits[0].fate, Fate::Fresh);
    assert!(diff.limits[0].hint.contains("was: [r/b, r/a]"), "{}", diff.limits[0].hint);
    let both = between(&second, &rule(&format!("{{ name: c, was: [b, a], says: Words., {log} }}")));
    assert_eq!(both.limits[0].fate, Fate::Kept);
}

#[test]
fn each_plan_is_compared_with_the_plan_of_its_name() {
    let of = |free: u32, more: &str| {
        rule(&format!(
            "{{ name: l, key: user, plan: {{ header: x-plan, from: trusted_proxies, default: free }}, plans: {{ \
             free: {{ says: Words., sliding_log: {{ limit: {free}, window: 1m }} }}{more} }} }}"
        ))
    };
    let paid = ", paid: { says: Words., token_bucket: { capacity: 9, refill: 1 per 1s } }";
    let diff = between(&of(5, ""), &of(4, paid));
    let told: Vec<_> =
        diff.limits.iter().map(|one| (one.whose.as_deref().unwrap(), one.strictness, one.fate)).collect();
    assert_eq!(
        told,
        [("free", Strictness::Tighter, Fate::Clamped), ("paid", Strictness::Added, Fate::Carried)]
    );
}

#[test]
fn what_else_changes_in_rules_and_around_them_is_told() {
    let of = |more: &str| {
        format!(
            "{}{more}",
            rule("{ name: l, says: Words., key: user, sliding_log: { limit: 9, window: 24h } }")
        )
    };
    let diff =
        between(&of("    on_store_failure: deny\n"), &of("    on_store_failure: allow\nmode: shadow\n"));
    assert_eq!(diff.rules.len(), 1);
    assert_eq!(diff.rules[0].strictness, Strictness::Looser);
    let told: Vec<String> = diff.rules[0].changes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["on_store_failure: deny -> allow", "mode: enforce -> shadow"]);
    assert_eq!(diff.settings[0].to_string(), "mode: enforce -> shadow");
    // A limit that refuses nothing any more is looser whatever its numbers.
    assert_eq!(diff.limits[0].strictness, Strictness::Looser);
}

/// Guards the spans that are told together, and the order that tells a reader where the figures part.
#[test]
fn spans_that_fare_alike_are_told_in_one_line() {
    let diff = one("sliding_log: { limit: 5, window: 24h }", "sliding_log: { limit: 10, window: 24h }");
    let told: Vec<String> = diff.changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "at once: 5 -> 10",
            "at most in any 1s, 1m, 1h, 1d: 5 -> 10",
            "at most in any 30d: 150 -> 300",
            "in the long run: 5 a day -> 10 a day",
        ]
    );
}

/// Guards against a renaming that loses its counts without a word.
#[test]
fn a_limit_that_looks_renamed_is_told_with_its_remedy() {
    let log = "key: user, sliding_log: { limit: 9, window: 24h }";
    let old = rule(&format!("{{ name: old, says: Words., {log} }}"));
    let diff = between(&old, &rule(&format!("{{ name: new, says: Words., {log} }}")));
    assert_eq!(diff.limits[0].hint, "if it is r/old under another name, write `was: old` to keep its counts");
    let other = "key: device, sliding_log: { limit: 9, window: 24h }";
    let diff = between(&old, &rule(&format!("{{ name: new, says: Words., {other} }}")));
    assert_eq!(diff.limits[0].hint, "");
}

/// What a policy says beside numbers, one change each, and which way it points. None of them may go untold, nor pass
/// where looser changes are denied.
#[test]
fn every_change_that_may_let_more_through_is_told_and_can_be_denied() {
    const BASE: &str = "\
costs: { cents: { by: land, default: 30, values: { GB: 4 } } }
keys: { user: { json: /user }, land: { header: x-land }, client: { client_ip: { ipv4: 32 } } }
rules:
  - name: sign-in
    class: login
    match: { path: /session }
    on_store_failure: deny
    limits:
      - { name: wrong, says: W., key: user, count: { failures: true, success: { status: 200 } }, lockout: { attempts: 5, within: 1m, lock: 1h } }
  - name: send
    match: { path: /sms }
    limits:
      - { name: money, says: W., key: global, cost: cents, sliding_log: { limit: 900, window: 24h } }
  - name: api
    match: { path: /v1/** }
    limits:
      - name: pace
        key: client
        plan: { header: x-plan, from: trusted_proxies, default: free }
        plans:
          free: { says: W., sliding_log: { limit: 5, window: 1m } }
          paid: { says: W., sliding_log: { limit: 50, window: 1m } }
        overrides: [{ value: 192.0.2.1, until: 2027-03-31, because: c, says: W., sliding_log: { limit: 500, window: 1m } }]
  - name: closed
    match: { path: /ops/** }
    refuse: { status: 403, because: not for the public }
";
    let changes = [
        ("GB: 4", "GB: 1", "cost of GB: 4 -> 1"),
        ("default: 30", "default: 1", "cost of what is not listed: 30 -> 1"),
        ("by: land", "by: user", "cost by: land -> user"),
        ("default: free", "default: paid", "plan unless said: free -> paid"),
        ("header: x-plan", "header: x-tier", "plan by: header x-plan -> header x-tier"),
        ("2027-03-31", "2028-03-31", "until: 2027-03-31 -> 2028-03-31"),
        (
            "ipv4: 32",
            "ipv4: 24",
            "key: client (client address, /32 and /64) -> client (client address, /24 and /64)",
        ),
        ("status: 200", "status: [200, 302]", "counts:"),
        ("attempts: 5", "attempts: 6", "at once: 5 -> 6"),
        ("path: /session", "path: /sess", "applies to:"),
        (
            "refuse: { status: 403, because: not for the public }",
            "mode: shadow\n    refuse: { status: 403, because: not for the public }",
            "mode: enforce -> shadow",
        ),
        ("on_store_failure: deny", "on_store_failure: allow", "on_store_failure: deny -> allow"),
        (
            "class: login\n",
            "class: login\n    except: [{ client: 198.51.100.0/24 }]\n",
            "except: nothing -> client 198.51.100.0/24",
        ),
        (
            "costs:",
            "trusted_proxies: { hops: 1 }\ncosts:",
            "trusted_proxies: nobody in x-forwarded-for -> one hop in x-forwarded-for",
        ),
    ];
    let read = |text: &str| parse_embedded("policy.yaml", &format!("tidegate: 1\n{text}")).unwrap();
    let old = read(BASE);
    assert!(Diff::between(&old, &old.clone()).is_empty());
    for (from, to, told) in changes {
        assert_eq!(BASE.matches(from).count(), 1, "{from}");
        let diff = Diff::between(&old, &read(&BASE.replace(from, to)));
        let limits = diff.limits.iter().flat_map(|limit| &limit.changes);
        let rules = diff.rules.iter().flat_map(|rule| &rule.changes);
        let lines: Vec<String> = limits.chain(rules).chain(&diff.settings).map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.starts_with(told)), "{told:?} is not in {lines:#?}");
        assert!(diff.is_looser(), "{to}: {diff:#?}");
    }
    let gone = Diff::between(&old, &read(BASE.split("  - name: closed").next().unwrap()));
    assert!(gone.is_looser() && gone.rules[0].strictness == Strictness::Removed);
}

/// Guards a rule that is renamed as a whole: its limits' counts go along when it says so, and it is told when not.
#[test]
fn a_renamed_rule_is_told_as_one() {
    let of = |more: &str| {
        rule("{ name: l, says: Words., key: user, sliding_log: { limit: 9, window: 24h } }")
            .replace("name: r\n", more)
    };
    let silent = between(&of("name: r\n"), &of("name: s\n"));
    assert_eq!(silent.rules[0].hint, "if it is r under another name, write `was: r` to keep its counts");
    let said = between(&of("name: r\n"), &of("name: s\n    was: r\n"));
    assert_eq!(said.rules.len(), 1, "{said:#?}");
    assert_eq!(said.rules[0].renamed_from.as_deref(), Some("r"));
    assert_eq!((said.limits[0].fate, said.limits[0].strictness), (Fate::Kept, Strictness::Same));
}

/// Guards words that change nothing for anybody against alarming whoever denies.
#[test]
fn words_and_reasons_are_neither_looser_nor_tighter() {
    let of = |says: &str| {
        rule(&format!("{{ name: l, says: {says}, key: user, sliding_log: {{ limit: 9, window: 24h }} }}"))
    };
    let hidden = of("Words., client_sees: nothing");
    for (after, told) in [(of("Other words."), "says:"), (hidden, "client_sees: the rule's -> nothing")] {
        let diff = between(&of("Words."), &after);
        let change = &diff.limits[0].changes[0];
        assert!(change.to_string().starts_with(told), "{change}");
        assert_eq!(change.effect, Effect::None);
        assert!(!diff.is_empty() && !diff.is_looser() && !diff.is_tighter());
    }
}

/// Returns the lines of what changes of rules and outside of them.
fn told(diff: &Diff) -> Vec<String> {
    let rules = diff.rules.iter().flat_map(|rule| &rule.changes);
    rules.chain(&diff.settings).map(ToString::to_string).collect()
}

/// Guards against a pattern of descriptors, or what a rule says to Envoy, that changes unseen.
#[test]
fn what_a_rule_for_descriptors_says_is_compared() {
    let rule = |descriptor: &str, envoy: &str| {
        let limits =
            "limits: [{ name: l, says: Words., key: global, sliding_log: { limit: 9, window: 24h } }]";
        format!(
            "rules:\n  - {{ name: a, match: {{ domain: d, descriptor: [{descriptor}] }}{envoy}, {limits} }}\n  \
             - {{ name: b, match: {{ domain: d }}, {limits} }}\n"
        )
    };
    let diff = between(&rule("{ key: path, value: /a }", ""), &rule("{ key: path, value: \"/a*\" }", ""));
    assert_eq!(
        told(&diff),
        ["applies to: domain d, descriptor (path=/a) -> domain d, descriptor (path=/a*)"]
    );
    assert!(diff.is_looser() && diff.is_tighter());
    let diff = between(&rule("path", ""), &rule("{ key: path, as: page }", ""));
    assert_eq!(
        told(&diff),
        ["applies to: domain d, descriptor (path) -> domain d, descriptor (path as page)"]
    );
    let diff =
        between(&rule("path", ""), &rule("path", ", envoy: { replaces: b, label: x, metadata: { a: 1 } }"));
    assert_eq!(
        told(&diff),
        ["envoy.label: none -> x", "envoy.replaces: none -> b", "envoy.metadata: {} -> {\"a\":1}"]
    );
    assert!(diff.is_looser() && !diff.is_tighter());
    let diff = between(&rule("path", ", envoy: { quota: true }"), &rule("path", ", envoy: { metric: path }"));
    assert_eq!(told(&diff), ["envoy.quota: true -> false", "envoy.metric: none -> path"]);
    assert!(!diff.is_looser() && diff.is_tighter());
}

/// Guards against settings that are told as the program holds them, and against faces that change untold.
#[test]
fn faces_headers_and_bodies_are_told_in_words() {
    let with = |settings: &str| {
        format!(
            "{settings}{}",
            rule("{ name: l, says: Words., key: user, sliding_log: { limit: 9, window: 24h } }")
        )
    };
    let gateway = |more: &str| {
        with(&format!("gateway: {{ listen: 8080, upstream: \"http://127.0.0.1:3000\"{more} }}\n"))
    };
    let diff =
        between(&gateway(""), &gateway(", idle_timeout: 90s, tls: { certificate: chain.pem, key: key.pem }"));
    assert_eq!(
        told(&diff),
        ["gateway.tls: none -> certificate in chain.pem, key in key.pem", "gateway.idle_timeout: 75s -> 90s"]
    );
    let diff = between(
        &with("headers: [ietf]\nproblem: { title: Slow down, members: { code: 1 } }\n"),
        &with(
            "headers: [draft-03, { x-ratelimit: epoch-seconds }]\nproblem: { title: \"{limit}: slow down\" }\n",
        ),
    );
    assert_eq!(
        told(&diff),
        [
            "headers: ietf -> draft-03, x-ratelimit in epoch-seconds",
            "problem.title: Slow down -> {limit}: slow down",
            "problem.members.code: 1 -> as usual",
        ]
    );
    let diff = between(
        &with("envoy: { listen: 8082 }\nresp: { listen: 8085 }\n"),
        &with(
            "envoy: { listen: 8082, on_deny: unavailable, timeout: 15ms }\napi: { listen: 8081, forward_auth: { request_id: x-id } }\n",
        ),
    );
    assert_eq!(
        told(&diff),
        [
            "api: none -> 127.0.0.1:8081",
            "api.forward_auth.request_id: not said -> x-id",
            "resp: 127.0.0.1:8085 -> none",
            "envoy.on_deny: over_limit -> unavailable",
            "envoy.timeout: 12ms -> 15ms",
        ]
    );
    assert!(diff.is_looser());
}
