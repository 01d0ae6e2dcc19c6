//! What holds for every file and every request.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use tidegate_policy::{Policy, Presence, ReadyKeys, Request, parse};

const EXAMPLE: &str = include_str!("../../../../examples/quillon.yaml");

/// A policy of one limit over `parts` ready-made keys, each perhaps a choice of two.
fn policy(parts: usize) -> Policy {
    let mut text = "tidegate: 1\nhealth: { listen: 127.0.0.1:0 }\nkeys:\n".to_owned();
    let mut names = Vec::new();
    for part in 0..parts {
        writeln!(
            text,
            "  a{part}: {{ header: x-a{part} }}\n  b{part}: {{ header: x-b{part}, normalize: [hash] }}"
        )
        .unwrap();
        writeln!(text, "  c{part}: {{ first_of: [a{part}, b{part}, client_ip] }}").unwrap();
        names.push(format!("c{part}"));
    }
    writeln!(
        text,
        "rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - name: l\n        says: One.\n        \
         key: [{}]\n        sliding_log: {{ limit: 1, window: 1m }}",
        names.join(", ")
    )
    .unwrap();
    parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn key(policy: &Policy, values: &[(bool, String)]) -> Vec<u8> {
    let mut ready = ReadyKeys::new();
    for (part, (first, value)) in values.iter().enumerate() {
        ready.insert(format!("{}{part}", if *first { 'a' } else { 'b' }), value.clone());
    }
    let headers = HeaderMap::new();
    let request = Request {
        method: "GET",
        host: None,
        path: "/",
        query: None,
        headers: &headers,
        peer: Some("192.0.2.1".parse().unwrap()),
        body: None,
    };
    let seen = policy.see_at(&request, Some(&ready), tidegate_algorithms::Timestamp::default()).unwrap();
    let matched = policy.matching(&seen).next().unwrap();
    let mut out = Vec::new();
    assert_eq!(matched.rule.limits[0].key.read(&matched.facts, &mut out), Ok(Presence::Present));
    out
}

/// Values that are close enough to collide when they are joined carelessly.
fn value() -> impl Strategy<Value = (bool, String)> {
    (any::<bool>(), "[ab:/,|0-2é]{1,4}")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Guards against two different lists of values that are counted as one key.
    #[test]
    fn different_values_never_give_one_key(
        a in prop::collection::vec(value(), 1..4),
        b in prop::collection::vec(value(), 1..4),
    ) {
        let same = key(&policy(a.len()), &a) == key(&policy(b.len()), &b);
        prop_assert_eq!(same, a == b);
    }

    /// Guards against a file that brings the reader down.
    #[test]
    fn any_text_is_answered(text in "(?s).{0,200}") {
        let _ = parse("p.yaml", &text);
    }

    /// Guards against a slip in a good file that brings the reader down, or is refused without a place in the file.
    #[test]
    fn a_damaged_file_is_accepted_or_refused_at_a_place(
        at in 0..EXAMPLE.len(),
        cut in 0..12_usize,
        put in "[\\[\\]{}:,&*!|>'\"%@`#\\-? \\t\\nNa0\u{85}\u{2028}\u{feff}é]{0,3}",
    ) {
        let floor = |at: usize| (0..=at.min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap();
        let text = format!("{}{put}{}", &EXAMPLE[..floor(at)], &EXAMPLE[floor(at + cut).max(floor(at))..]);
        if let Err(problems) = parse("p.yaml", &text) {
            prop_assert!(!problems.list().is_empty());
            let lines = u32::try_from(text.lines().count()).unwrap();
            for problem in problems.list() {
                prop_assert!(problem.place.line >= 1 && problem.place.line <= lines + 1, "{}", problems);
                prop_assert!(problem.place.column >= 1, "{}", problems);
            }
        }
    }

    /// Guards against a request that brings the matcher or a key down, and against a path whose normal form is not
    /// its own normal form.
    #[test]
    fn any_request_is_answered(
        path in "[/a-c.%;\\\\A0-9F~é{}*]{0,24}",
        query in "[a-c=&%+0-9;]{0,16}",
        forwarded in prop::collection::vec("[0-9a-f.:,\\[\\]%\"=;for ]{0,40}", 0..3),
        body in "[\\[\\]{}\",:a-c0-9.\\\\u ]{0,40}",
    ) {
        let policy = parse("quillon.yaml", EXAMPLE).unwrap();
        let mut headers = HeaderMap::new();
        for line in &forwarded {
            headers.append(HeaderName::from_static("x-forwarded-for"), HeaderValue::from_str(line).unwrap());
        }
        let raw = format!("/{path}");
        let request = Request {
            method: "POST",
            host: Some("[::1]:80"),
            path: &raw,
            query: Some(&query),
            headers: &headers,
            peer: Some("10.0.0.1".parse().unwrap()),
            body: Some(body.as_bytes()),
        };
        policy.needs_body(&request);
        if let Ok(seen) = policy.see(&request) {
            let again = policy.see(&Request { path: seen.path(), ..request }).unwrap();
            prop_assert_eq!(again.path(), seen.path());
            for matched in policy.matching(&seen) {
                for limit in &matched.rule.limits {
                    let _ = limit.key.read(&matched.facts, &mut Vec::new());
                }
            }
        }
    }
}

/// Guards against input that exhausts the stack, the memory or the patience of whoever starts the process.
#[test]
fn large_and_hostile_files_are_answered() {
    let head = "tidegate: 1\nhealth: { listen: 127.0.0.1:0 }\n";
    let rules: String = (0..5_000).fold("rules:\n".to_owned(), |mut text, index| {
        writeln!(text, "  - {{ name: r{index}, match: {{ path: /a{index} }}, limits: [] }}").unwrap();
        text
    });
    for text in [
        "[".repeat(1_000_000),
        "{a: ".repeat(200_000),
        "- ".repeat(500_000),
        "? ".repeat(300_000),
        "a: ".repeat(300_000),
        format!("{head}x: {}", "&a ".repeat(100_000)),
        format!("{head}x: \"{}", "a".repeat(1_000_000)),
        format!("{head}{rules}"),
        format!("{head}{}", "#".repeat(1_000_000)),
        "x".repeat(2_000_000),
        "\u{feff}".to_owned(),
        "\0".to_owned(),
    ] {
        let problems = parse("big.yaml", &text).expect_err("refused");
        assert!(!problems.list().is_empty());
    }
}
