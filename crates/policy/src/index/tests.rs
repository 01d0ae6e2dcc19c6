//! What the index finds is what comparing all rules one by one finds, and it looks at few.

use http::HeaderMap;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::Index;
use crate::descriptor::{Descriptor, DescriptorPattern, EntryPattern, ValuePattern};
use crate::matcher::{Except, HostPattern, Matcher};
use crate::parse_embedded;
use crate::policy::Policy;
use crate::request::{Request, Seen};
use crate::rule::Rule;
use crate::rules::Rules;
use crate::validate::path_pattern as read_pattern;

/// A policy of rules with these matches and exceptions.
fn policy(rules: impl IntoIterator<Item = (Vec<Matcher>, Vec<Except>)>) -> Policy {
    let text = "tidegate: 1\npaths: { encoded_slash: keep }\nrules: [{ name: r, match: { path: /** }, on_store_failure: deny, \
                limits: [{ name: l, says: One., key: global, sliding_log: { limit: 1, window: 1m } }] }]";
    let policy = parse_embedded("test.yaml", text).unwrap();
    let rule = |(matches, except)| Rule { matches, except, ..policy.rules[0].clone() };
    Policy { rules: Rules::new(rules.into_iter().map(rule).collect()), ..policy.clone() }
}

fn paths(paths: &[impl AsRef<str>]) -> Matcher {
    let paths = paths.iter().map(|path| read_pattern(path.as_ref()).unwrap()).collect();
    Matcher { paths, ..Matcher::ANY }
}

fn hosts(hosts: &[impl AsRef<str>]) -> Vec<HostPattern> {
    let host = |host: &str| match host.strip_prefix('*') {
        Some(below) => HostPattern::Below(below.to_owned()),
        None => HostPattern::Exact(host.to_owned()),
    };
    hosts.iter().map(|name| host(name.as_ref())).collect()
}

fn request<'a>(method: &'a str, host: Option<&'a str>, path: &'a str, headers: &'a HeaderMap) -> Request<'a> {
    let peer = Some("192.0.2.1".parse().unwrap());
    Request { method, host, path, query: None, headers, peer, body: None }
}

/// Returns the rules that apply, with the routes they apply by, as the policy finds them and by comparing each.
fn both<'a>(policy: &'a Policy, seen: &'a Seen<'a>) -> [Vec<(usize, String)>; 2] {
    let found = policy.matching(seen).map(|one| (one.index.unwrap(), format!("{:?}", one.facts.route())));
    let each = policy
        .rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((index, format!("{:?}", rule.facts(seen)?.route()))));
    [found.collect(), each.collect()]
}

fn agree(policy: &Policy, seen: &Seen<'_>) -> Result<(), TestCaseError> {
    let [found, each] = both(policy, seen);
    prop_assert_eq!(found, each);
    Ok(())
}

/// Segments of few kinds, so that patterns and paths meet often.
const SEGMENTS: [&str; 7] = ["a", "A", "b", "%C5%BF", "a%2Fb", "v1", "a;x"];

fn pattern() -> impl Strategy<Value = String> {
    let segment = prop_oneof![4 => select(&SEGMENTS[..]), 2 => Just("{}")];
    let end = select(&["", "/", "/**"][..]);
    (prop::collection::vec(segment, 0..4), end).prop_map(|(segments, end)| {
        let named = segments.iter().enumerate().map(|(index, segment)| match *segment {
            "{}" => format!("/{{p{index}}}"),
            segment => format!("/{segment}"),
        });
        let path = named.collect::<String>() + end;
        if path.is_empty() { "/".to_owned() } else { path }
    })
}

/// What a rule may be for: any of methods, hosts and paths, or of descriptors.
fn matcher() -> impl Strategy<Value = Matcher> {
    let methods = prop::collection::vec(select(&["GET", "POST", "HEAD"][..]), 0..3);
    let names = select(&["h.com", "*.h.com", "a.h.com", "*.com", "2001:db8::1", "com"][..]);
    let names = prop::collection::vec(names, 0..4);
    let descriptor = prop::option::weighted(0.3, descriptor());
    let case = (any::<bool>(), any::<bool>());
    (methods, names, prop::collection::vec(pattern(), 0..7), descriptor, case).prop_map(
        |(methods, names, patterns, descriptor, (loose, strict_slash))| {
            let methods = methods.into_iter().map(str::to_owned).collect();
            Matcher { methods, hosts: hosts(&names), loose, strict_slash, descriptor, ..paths(&patterns) }
        },
    )
}

/// Patterns of values of which many begin alike.
const VALUES: [&str; 12] = ["", "a", "ab", "a*", "ab*", "abc*", "b*", "*", "*b", "a*b", "abd*", "abcd*"];

fn descriptor() -> impl Strategy<Value = DescriptorPattern> {
    let value =
        prop_oneof![1 => Just(ValuePattern::Any), 5 => select(&VALUES[..]).prop_map(ValuePattern::of)];
    let entry = (select(&["k", "l"][..]), value).prop_map(|(key, value)| EntryPattern {
        key: key.to_owned(),
        value,
        except: Vec::new(),
        called: None,
    });
    let entries = prop::option::weighted(0.8, prop::collection::vec(entry, 0..4));
    (select(&["d", "e"][..]), entries)
        .prop_map(|(domain, entries)| DescriptorPattern { domain: domain.to_owned(), entries })
}

fn rules() -> impl Strategy<Value = Vec<(Vec<Matcher>, Vec<Except>)>> {
    let except = matcher().prop_map(|matcher| Except { clients: Vec::new(), matcher });
    let rule = (prop::collection::vec(matcher(), 0..4), prop::collection::vec(except, 0..2));
    prop::collection::vec(rule, 1..16)
}

fn path() -> impl Strategy<Value = String> {
    const ODD: [&str; 16] =
        ["", ".", "..", "a", "A", "%61", "b", "%c5%bf", "S", "s", "a%2fb", "V1", "a;x", "A;y=1", "c", "%2e"];
    let segments = prop::collection::vec(select(&ODD[..]), 0..6);
    (segments, select(&["", "/", "//"][..]))
        .prop_map(|(segments, end)| format!("/{}{end}", segments.join("/")))
}

proptest! {
    /// Guards against a rule that the index does not find, finds twice or out of order: its limits would not hold.
    #[test]
    fn the_index_finds_what_comparing_every_rule_finds(
        rules in rules(),
        asked in prop::collection::vec((select(&METHODS[..]), prop::option::of(select(&HOSTS[..])), path()), 1..12),
    ) {
        let policy = policy(rules);
        let headers = HeaderMap::new();
        for (method, host, path) in &asked {
            if let Ok(seen) = policy.see(&request(method, *host, path, &headers)) {
                agree(&policy, &seen)?;
            }
        }
    }

    /// The same for descriptors, whose values may be patterns that begin alike.
    #[test]
    fn the_index_finds_what_comparing_every_descriptor_finds(
        rules in rules(),
        asked in prop::collection::vec(
            (select(&["d", "e", "f"][..]), prop::collection::vec((select(&["k", "l"][..]), "[a-d]{0,4}"), 0..4)),
            1..16,
        ),
    ) {
        let policy = policy(rules);
        let headers = HeaderMap::new();
        for (domain, entries) in &asked {
            let entries: Vec<(&str, &str)> = entries.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let seen = policy.see_descriptor(Descriptor { domain, entries: &entries }, &headers, None);
            agree(&policy, &seen)?;
        }
    }
}

const METHODS: [&str; 4] = ["GET", "HEAD", "post", "PUT"];
const HOSTS: [&str; 9] =
    ["h.com", "H.com:80", "a.h.com.", "b.a.H.com", ".h.com", "..h.com", "[2001:DB8::0:1]:8", "com", ""];

/// How many rules are looked at, and how many places in the tree, for a request.
fn looks(index: &Index, seen: &Seen<'_>) -> (usize, usize) {
    let path = seen.normal().reading(true);
    let mut places = 0;
    let segments = (0..path.len()).map(|index| path.segment(index));
    index.tree.walk(index.requests, segments, |_| places += 1);
    (index.candidates(seen).len(), places)
}

/// Guards what a policy of many rules costs, by counting: a request must not pay for rules that are not for it, and whoever
/// chooses the path must not choose the cost.
#[test]
fn a_request_looks_at_few_of_ten_thousand_rules() {
    let matchers = (0..10_000).map(|index| match index % 4 {
        0 => paths(&[format!("/v1/things{index}")]),
        1 => paths(&[format!("/v1/tenants/{{id}}/things{index}/**")]),
        2 => paths(&[format!("/v1/{{kind}}/{index}/last")]),
        _ => Matcher { hosts: hosts(&[format!("t{index}.example.com")]), ..paths(&["/login"]) },
    });
    let policy = policy(matchers.map(|matcher| (vec![matcher], Vec::new())));
    let index = Index::of(&policy.rules);
    let headers = HeaderMap::new();
    let long = "/v1/tenants/things1".repeat(500);
    for (host, path, rules) in [
        ("h", "/v1/things8000", 1),
        ("h", "/V1/THINGS8000/", 1),
        ("h", "/v1/tenants/7/things9001/a/b/c", 1),
        ("h", "/v1/tenants/9002/last", 1),
        ("t9003.example.com", "/login", 1),
        ("h", "/login", 0),
        ("h", "/", 0),
        ("h", "/v1/tenants/7/things", 0),
        ("h", long.as_str(), 0),
    ] {
        let seen = policy.see(&request("GET", Some(host), path, &headers)).unwrap();
        let (looked, places) = looks(&index, &seen);
        assert_eq!(looked, rules, "{path}");
        assert!(places <= 16, "{path}: {places} places");
    }
}

/// Guards the same for descriptors.
#[test]
fn a_descriptor_looks_at_few_of_ten_thousand_rules() {
    let entry =
        |key: &str, value| EntryPattern { key: key.to_owned(), value, except: Vec::new(), called: None };
    let rules = (0..10_000).map(|index| {
        let begins = if index % 2 == 0 { format!("/things{index}") } else { format!("/begins{index}-*") };
        let entries = vec![entry("path", ValuePattern::of(&begins)), entry("user", ValuePattern::Any)];
        let descriptor = DescriptorPattern { domain: "d".to_owned(), entries: Some(entries) };
        (vec![Matcher { descriptor: Some(descriptor), ..Matcher::ANY }], Vec::new())
    });
    let policy = policy(rules);
    let headers = HeaderMap::new();
    for (path, rules) in [("/things8000", 1), ("/begins9001-x", 1), ("/begins9001", 0), ("/z", 0), ("", 0)] {
        let entries = [("path", path), ("user", "ada")];
        let seen = policy.see_descriptor(Descriptor { domain: "d", entries: &entries }, &headers, None);
        assert_eq!(policy.rules.candidates(&seen).len(), rules, "{path}");
    }
}

/// Guards the index's own size: hosts times paths of one match must not fill it.
#[test]
fn a_match_of_many_hosts_and_paths_does_not_multiply() {
    let list = |name: &str| (0..200).map(|index| format!("{name}{index}")).collect::<Vec<_>>();
    let policy = policy([(vec![Matcher { hosts: hosts(&list("h")), ..paths(&list("/p")) }], Vec::new())]);
    let headers = HeaderMap::new();
    for (host, applies) in [("h7", true), ("g", false)] {
        let seen = policy.see(&request("GET", Some(host), "/p199", &headers)).unwrap();
        assert_eq!(policy.matching(&seen).count() == 1, applies);
    }
    assert!(Index::of(&policy.rules).tree.len() < 1_000);
}
