//! Rules for Envoy's descriptors, as a configuration of envoyproxy/ratelimit has them.

use std::sync::Arc;

use tidegate_attack::bench::{Effort, Options, attack};
use tidegate_attack::report::{Report, RuleReport};
use tidegate_policy::{Policy, import, parse_embedded};

/// A limit of each window, each with a number of its own.
const FILE: &str = "
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 5 }
    descriptors:
      - key: remote_address
        rate_limit: { unit: hour, requests_per_unit: 10 }
  - key: path
    value: /api*
    rate_limit: { unit: second, requests_per_unit: 20 }
  - key: path
    rate_limit: { unit: day, requests_per_unit: 50 }
  - key: user
    value: staff
    rate_limit: { unlimited: true }
";

/// The rules that it becomes, each with its window in microseconds and its number.
const RULES: [(&str, u64, u64); 4] = [
    ("shop.path_login", 60_000_000, 5),
    ("shop.path_login.remote_address", 3_600_000_000, 10),
    ("shop.path_api-any", 1_000_000, 20),
    ("shop.path", 86_400_000_000, 50),
];

fn imported() -> Arc<Policy> {
    let imported = import::envoy(&[("ratelimit.yaml", FILE)]).unwrap_or_else(|problems| panic!("{problems}"));
    let policy =
        parse_embedded("policy.yaml", &imported.text).unwrap_or_else(|problems| panic!("{problems}"));
    Arc::new(policy)
}

fn attacked(adversaries: &[&str], long_requests: u64) -> Report {
    let adversaries = adversaries.iter().map(|name| (*name).to_owned()).collect();
    let options =
        Options { adversaries, effort: Effort { long_requests, ..Effort::quick() }, ..Options::default() };
    attack(&imported(), "policy.yaml", &options, &|_| ()).unwrap()
}

fn of<'r>(report: &'r Report, rule: &str) -> &'r RuleReport {
    report.rules.iter().find(|found| found.rule == rule).unwrap()
}

/// Guards a file of Envoy's against being told as safe: its windows begin by the clock, and whoever knows that gets twice the
/// number in one of them. It fails too if rules for descriptors are passed over.
#[test]
fn windows_of_an_imported_file_admit_twice_their_number_and_no_more() {
    let report = attacked(&["boundary-straddler"], 20_000);
    assert!(!report.is_exceeded());
    for (name, window, limit) in RULES {
        let rule = of(&report, name);
        assert_eq!((rule.skipped.as_deref(), rule.rows.len()), (None, 1), "{name}");
        let peaks = &rule.rows[0].worst.peaks;
        let peak = peaks.iter().find(|peak| peak.micros == window).unwrap();
        assert_eq!((peak.seen, peak.bound), (2 * limit, Some(u128::from(2 * limit))), "{name}");
    }
    let unlimited = of(&report, "shop.user_staff");
    assert!(unlimited.rows.is_empty() && unlimited.skipped.as_ref().unwrap().contains("unlimited"));
}

/// Guards against an adversary that a call about a descriptor makes get more than closed forms allow, or that is never played
/// at one.
#[test]
fn no_adversary_gets_more_by_calls_than_the_closed_forms_allow() {
    let report = attacked(&[], 5_000);
    assert!(!report.is_exceeded() && report.requests > 50_000, "{}", report.requests);
    let played =
        |rule: &str, adversary: &str| of(&report, rule).rows.iter().any(|row| row.adversary == adversary);
    for (rule, ..) in RULES {
        for adversary in ["greedy", "boundary-straddler", "paced", "burst-and-wait", "refill", "race"] {
            assert!(played(rule, adversary), "{adversary} is not played at {rule}");
        }
    }
    assert!(played("shop.path_login.remote_address", "many-addresses"));
    assert!(played("shop.path", "session-cycling"), "there is always another path");
    assert!(!played("shop.path_login", "many-addresses"), "one key for everyone");
}
