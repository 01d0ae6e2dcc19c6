//! Configuration files of envoyproxy/ratelimit: what they come to, and what is wrong with them.

mod reference;

use std::collections::BTreeMap;

use http::HeaderMap;
use proptest::prelude::*;
use tidegate_policy::import::envoy;
use tidegate_policy::{Descriptor, Mode, Policy, Presence, Reading, Surroundings, parse};

use reference::{Limited, Tree};

const SHOP: &str = include_str!("../import/shop.yaml");

fn policy(text: &str) -> Policy {
    parse("made.yaml", text).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn imported(text: &str) -> Policy {
    policy(&envoy(&[("shop.yaml", text)]).unwrap_or_else(|problems| panic!("{problems}\n{text}")).text)
}

/// Returns what a policy says of a descriptor.
fn said(policy: &Policy, domain: &str, entries: &[(&str, &str)]) -> Option<Limited> {
    let headers = HeaderMap::new();
    let seen = policy.see_descriptor(Descriptor { domain, entries }, &headers, None);
    let mut matched = policy.matching(&seen);
    let found = matched.next()?;
    assert!(matched.next().is_none(), "two rules apply to {entries:?}");
    let rule = found.rule;
    assert!(policy.fallback.is_none());
    let limit = rule.limits.first();
    assert_eq!(limit.is_none(), rule.envoy.unlimited);
    let key = limit.filter(|limit| limit.key.to_string() != "global").map(|limit| {
        let mut key = Vec::new();
        assert_eq!(limit.key.read(&found.facts, &mut key), Ok(Presence::Present));
        key
    });
    Some(Limited {
        numbers: limit.map(|limit| limit.terms.numbers.clone()),
        key: key.unwrap_or_default(),
        label: rule.envoy.label.clone().unwrap_or_else(|| "?".to_owned()),
        shadow: rule.mode == Mode::Shadow,
        quota: rule.envoy.quota,
        metric: rule.envoy.metric.len(),
        replaces: replaced(policy, &rule.envoy.replaces),
    })
}

/// Returns the labels of rules.
fn replaced(policy: &Policy, names: &[String]) -> Vec<String> {
    let label = |name: &String| {
        let rule = policy.rules.iter().find(|rule| rule.name == *name).unwrap();
        rule.envoy.label.clone().unwrap()
    };
    let mut labels: Vec<String> = names.iter().map(label).collect();
    labels.sort();
    labels.dedup();
    labels
}

/// Guards each kind of match of the format, in the words of the documentation of that service.
#[test]
fn a_configuration_means_what_it_meant() {
    let policy = imported(SHOP);
    assert!(policy.unread.is_empty(), "{:?}", policy.unread);
    let numbers =
        |entries: &[(&str, &str)]| said(&policy, "shop", entries).and_then(|limited| limited.numbers);
    let per = |limit: u32, window: &str| Some(format!("limit {limit}, window {window}, anchor clock"));
    assert_eq!(numbers(&[("ip", "50.0.0.5")]), per(0, "1s"), "a value of its own");
    assert_eq!(numbers(&[("ip", "10.0.0.1")]), None, "an allowed value");
    assert_eq!(numbers(&[("ip", "192.0.2.1")]), per(10, "1s"), "any other");
    assert_eq!(numbers(&[("path", "/files/a")]), per(100, "7d"));
    assert_eq!(numbers(&[("path", "/files/private/a")]), per(100, "7d"), "the first pattern takes it");
    assert_eq!(numbers(&[("path", "/private")]), per(3, "365d"));
    assert_eq!(numbers(&[("path", "/other"), ("user", "ada")]), per(60, "1m"));
    assert_eq!(numbers(&[("path", "/files/a"), ("user", "ada")]), None, "and none goes back");
    assert_eq!(numbers(&[("path", "/other")]), None);
    assert_eq!(numbers(&[("user", "ada"), ("path", "/other")]), None);
    let unlimited = said(&policy, "shop", &[("partner", "gold")]).unwrap();
    assert_eq!((unlimited.numbers, unlimited.label.as_str()), (None, "gold"));
    assert_eq!(unlimited.replaces, ["per-user"]);
    let shadow = said(&policy, "shop", &[("hop", "a"), ("hop", "b")]).unwrap();
    assert!(shadow.shadow && shadow.quota && shadow.metric == 2, "{shadow:?}");
    assert_ne!(shadow.key, said(&policy, "shop", &[("hop", "b"), ("hop", "a")]).unwrap().key);
    assert_eq!(said(&policy, "elsewhere", &[("ip", "192.0.2.1")]), None);
    let rule = policy.rules.iter().find(|rule| rule.envoy.label.as_deref() == Some("per-user")).unwrap();
    assert_eq!(
        serde_json::json!(rule.envoy.metadata),
        serde_json::json!({"tier": 2, "owner": "web: team", "of": [true, "1"]})
    );
    assert_eq!(rule.name, "shop.path.user", "names are readable");
}

/// Guards against counts that start afresh: the same limits have the same names, whatever stands around them.
#[test]
fn names_stay_when_descriptors_change_places_or_come_and_go() {
    let entry =
        |key: &str| format!("  - {{ key: {key}, rate_limit: {{ unit: hour, requests_per_unit: 5 }} }}\n");
    let names = |keys: &[&str]| -> Vec<String> {
        let list: String = keys.iter().map(|key| entry(key)).collect();
        imported(&format!("domain: d\ndescriptors:\n{list}"))
            .limits()
            .map(|limit| limit.name.clone())
            .collect()
    };
    assert_eq!(names(&["a", "b"]), ["d.a/limit", "d.b/limit"]);
    assert_eq!(names(&["c", "b", "a"]), ["d.c/limit", "d.b/limit", "d.a/limit"]);
    let (slash, hyphen) = ("a/b", "a-b");
    let forth = names(&[slash, hyphen]);
    let back = names(&[hyphen, slash]);
    assert_eq!(forth, [back[1].clone(), back[0].clone()]);
    let (early, late) = ("a, value: b_c", "a_b, value: c");
    let forth = names(&[early, late]);
    let back = names(&[late, early]);
    assert_eq!(forth, [back[1].clone(), back[0].clone()], "where a key ends and its value begins");
}

/// Files in memory.
struct InMemory(BTreeMap<&'static str, String>);

impl Surroundings for InMemory {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let found = self.0.get(path).map(|text| text.clone().into_bytes());
        found.ok_or_else(|| "is not there".to_owned())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

fn beside(files: &[(&'static str, &str)], policy: &str) -> Result<Policy, String> {
    let files = InMemory(files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
    Reading::of(&files).parse("conf/policy.yaml", policy).map_err(|problems| problems.to_string())
}

const SERVES: &str = "tidegate: 1\nenvoy: { listen: 127.0.0.1:0, files: [shop.yaml, mail.yaml] }\n";
const MAIL: &str =
    "domain: mail\ndescriptors:\n  - key: to\n    rate_limit: { unit: day, requests_per_unit: 5 }\n";

/// Guards the move from the one way to the other: both have to keep the same counts.
#[test]
fn files_that_are_served_come_to_the_same_as_files_that_are_imported() {
    let served = beside(&[("shop.yaml", SHOP), ("mail.yaml", MAIL)], SERVES).unwrap();
    let imported = policy(&envoy(&[("shop.yaml", SHOP), ("mail.yaml", MAIL)]).unwrap().text);
    assert_eq!(served.rules, imported.rules);
    assert_eq!(served.rules[0].at.0.line, 4, "a rule stands where its descriptor does");
    assert_eq!(served.file_of(served.rules[0].at.0), "conf/shop.yaml");
}

#[test]
fn what_is_wrong_with_a_served_file_is_told_at_its_place_in_it() {
    let wrong =
        beside(&[("shop.yaml", &SHOP.replace("unit: Minute", "unit: minutte")), ("mail.yaml", MAIL)], SERVES);
    let wrong = wrong.unwrap_err();
    assert!(wrong.starts_with("conf/shop.yaml:"), "{wrong}");
    assert!(wrong.contains("the unit \"minutte\" is not known; did you mean minute?"), "{wrong}");
    let missing = beside(&[("shop.yaml", SHOP)], SERVES).unwrap_err();
    assert_eq!(
        missing,
        "conf/policy.yaml:2:50: the file mail.yaml is not there; its path is meant from the folder of the policy file"
    );
    let merged = beside(&[("shop.yaml", MAIL), ("mail.yaml", MAIL)], SERVES).unwrap_err();
    assert!(
        merged.starts_with(
            "conf/mail.yaml:1:9: the domain mail is here a second time, first at conf/shop.yaml:1:9; move"
        ),
        "{merged}"
    );
    assert!(merged.contains("MERGE_DOMAIN_CONFIG"), "{merged}");
}

/// Guards against a limit that is missing without a word, since it is longer as a rule than what is read of a policy.
#[test]
fn a_served_descriptor_that_makes_no_rule_is_told_of() {
    let long = MAIL.replace("key: to", &format!("key: to\n    value: \"{}\"", "\\x01".repeat(150_000)));
    let wrong = beside(&[("shop.yaml", &long), ("mail.yaml", SHOP)], SERVES).unwrap_err();
    assert!(
        wrong.starts_with("conf/shop.yaml:3:10: what is to be written of this cannot be read back; shorten"),
        "{}",
        &wrong[..wrong.len().min(200)]
    );
}

/// Guards against two rules that would share their counts, and against a key that means two things.
#[test]
fn names_of_the_policy_s_own_do_not_mix_with_those_that_are_made() {
    let files = [("shop.yaml", MAIL)];
    let head = "tidegate: 1\nenvoy: { listen: 127.0.0.1:0, files: shop.yaml }\n";
    let own = "rules:\n  - name: NAME\n    match: { path: /a }\n    limits:\n      - { name: l, says: \"Ten a minute, per to.\", key: KEY, sliding_counter: { limit: 10, window: 1m } }\n";
    let with = |name: &str, key: &str| own.replace("NAME", name).replace("KEY", key);
    let clash = beside(&files, &format!("{head}{}", with("mail.to", "{ header: to }"))).unwrap_err();
    assert!(clash.contains("conf/policy.yaml:4:11: the rule mail.to has the name of the one made of conf/shop.yaml:3:10; give"), "{clash}");
    let keys = format!("{head}keys: {{ to: {{ header: to }} }}\n{}", with("other", "to"));
    let clash = beside(&files, &keys).unwrap_err();
    assert!(
        clash
            .contains("conf/policy.yaml:3:9: the key to is another one than the descriptors' entry to; give"),
        "{clash}"
    );
    let same = format!("{head}keys: {{ to: {{ descriptor: to }} }}\n{}", with("other", "{ header: to }"));
    let policy = beside(&files, &same).unwrap();
    assert_eq!(policy.rules.len(), 2);
}

/// Guards each check of a file, its words and its place, and that all of them are told at once.
#[test]
fn everything_that_is_wrong_is_told_at_its_place() {
    let cases = include_str!("../import/wrong.txt");
    for case in cases.split("\n=====\n") {
        let (text, expected) = case.split_once("\n-----\n").unwrap();
        let problems = envoy(&[("c.yaml", text)]).expect_err(text);
        assert_eq!(problems.to_string(), expected.trim_end(), "{text}");
    }
}

#[test]
fn what_is_not_as_it_seems_is_remarked() {
    let text = "\
domain: d
descriptors:
  - key: a
    rate_limit: { unit: second, requests_per_unit: 4000000000, name: 'x\"y', shadow_mode: true }
  - key: b
    rate_limit: { unit: second, replaces: [{ name: nobody }] }
  - key: c
    shadow_mode: true
    quota_mode: false
    detailed_metric: yes
    metadata: { a: b }
    descriptors:
      - { key: d, rate_limit: { unit: second, requests_per_unit: 1 } }
";
    let made = envoy(&[("c.yaml", text)]).unwrap();
    let remarks: Vec<String> = made.remarks.iter().map(|one| format!("{}: {one}", one.place)).collect();
    assert_eq!(
        remarks,
        [
            "4:77: a rate_limit does not heed `shadow_mode`, and nothing comes of it; move it to where it belongs, or remove it",
            "6:17: a rate_limit without `requests_per_unit` is one of 0: nothing passes; write it out, if that is not meant",
            "3:10: 4000000000 is more than a limit can be, and 1073741824 is written; write `unlimited: true`, if nothing is to be limited",
            "3:10: the name \"x\\\"y\" stands in headers as it is, and x_y is written",
            "6:52: no limit of the domain d is called nobody; nothing is replaced",
            "8:5: a descriptor without `rate_limit` does not heed `shadow_mode`, and nothing comes of it; write it at each descriptor below that has one, or remove it",
            "10:5: a descriptor without `rate_limit` does not heed `detailed_metric`, and nothing comes of it; write it at each descriptor below that has one, or remove it",
            "11:5: a descriptor without `rate_limit` does not heed `metadata`, and nothing comes of it; write it at each descriptor below that has one, or remove it",
        ]
    );
    assert!(
        made.text.contains("label: \"x_y\"") && made.text.contains("limit: 1073741824,"),
        "{}",
        made.text
    );
    assert!(made.text.contains("fixed_window: { limit: 0, window: 1s }"), "{}", made.text);
}

/// Guards against names of entries that end the text they stand in, or that no sentence can say.
#[test]
fn whatever_an_entry_is_called_the_policy_can_be_read() {
    for key in [
        "1",
        "no",
        "null",
        "method",
        "global",
        "per minute",
        "a\"b",
        "é",
        "${HOME}",
        "x: y",
        "5 and 6",
        "at once",
        "a_b.c-d1",
        "$",
        "day",
        "then",
        "every",
        "#",
        "up-to-3",
        "IP",
    ] {
        let quoted = serde_json::to_string(key).unwrap();
        let limit = "rate_limit: { unit: minute, requests_per_unit: 5 }";
        let text = format!(
            "domain: {quoted}\ndescriptors:\n  - {{ key: {quoted}, {limit}, descriptors: [{{ key: path, {limit} }}] }}\n  - {{ key: {quoted}, value: {quoted} }}\n"
        );
        let policy = imported(&text);
        assert!(
            policy.unread.is_empty() && policy.misleading.is_empty(),
            "{key}: {:?} {:?}",
            policy.unread,
            policy.misleading
        );
        assert_eq!(
            said(&policy, key, &[(key, "v")]).unwrap().numbers,
            Some("limit 5, window 1m, anchor clock".to_owned())
        );
        assert_eq!(said(&policy, key, &[(key, key)]), None);
        let served = beside(
            &[("shop.yaml", &text)],
            "tidegate: 1\nenvoy: { listen: 127.0.0.1:0, files: shop.yaml }\n",
        )
        .unwrap();
        assert_eq!(served.rules, policy.rules);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    /// Guards the heart of it: whatever is nested in whatever, a descriptor meets the limit that it met there, on the same
    /// values.
    #[test]
    fn a_descriptor_meets_the_limit_that_a_walk_down_the_tree_finds(
        tree in reference::tree(),
        descriptors in prop::collection::vec(reference::descriptor(), 1..24),
    ) {
        let made = match envoy(&[("t.yaml", &tree.text())]) {
            Ok(made) => made.text,
            Err(problems) => {
                prop_assert!(!tree.has_limit(), "{}\n{}", problems, tree.text());
                return Ok(());
            }
        };
        let policy = policy(&made);
        prop_assert!(policy.unread.is_empty() && policy.misleading.is_empty(), "{}", made);
        for entries in &descriptors {
            let entries: Vec<(&str, &str)> = entries.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let wanted = Tree::walk(&tree, &entries);
            prop_assert_eq!(said(&policy, "d", &entries), wanted, "{:?}\n{}\n{}", entries, tree.text(), made);
        }
    }

    /// Guards against a file that brings the reader down, or makes a policy that is none.
    #[test]
    fn a_damaged_file_is_refused_or_comes_to_a_policy(
        at in 0..SHOP.len(),
        cut in 0..12_usize,
        put in "[\\[\\]{}:,*'\"#\\-? \\nNa0\u{85}é]{0,3}",
    ) {
        let floor = |at: usize| (0..=at.min(SHOP.len())).rev().find(|at| SHOP.is_char_boundary(*at)).unwrap();
        let text = format!("{}{put}{}", &SHOP[..floor(at)], &SHOP[floor(at + cut).max(floor(at))..]);
        if let Ok(made) = envoy(&[("t.yaml", &text)]) {
            prop_assert!(parse("made.yaml", &made.text).is_ok(), "{}\n{}\n{:?}", text, made.text, parse("made.yaml", &made.text));
        }
    }
}
