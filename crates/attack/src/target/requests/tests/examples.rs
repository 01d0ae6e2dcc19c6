//! Every rule of every policy in `examples/`.

use std::path::{Path, PathBuf};

use tidegate::{OnStoreFailure, OnSuccess, files};

use super::*;
use crate::adversary::{Keyed, OneAddress};

/// Returns the folder of the examples.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Returns the names of the examples that are policies: tests and scenarios stand beside them.
fn policies() -> Vec<String> {
    let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "yaml"));
    let is_policy = |name: &String| {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        text.lines().any(|line| line.starts_with("tidegate:"))
    };
    let mut names: Vec<String> = names.filter(is_policy).collect();
    names.sort();
    names
}

fn load(name: &str) -> Arc<Policy> {
    let loaded = files::load(&folder().join(name)).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(loaded.policy)
}

/// Guards the default run against rules that it plays nothing at, or at which it misses a limit.
#[test]
fn every_rule_of_the_examples_becomes_a_request_that_asks_all_of_its_limits() {
    let mut unreachable = Vec::new();
    let names = policies();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let policy = load(&name);
        for (index, rule) in policy.rules.iter().chain(&policy.fallback).enumerate() {
            let requests = match Requests::new(Arc::clone(&policy), index) {
                Ok(requests) => requests,
                Err(why) => {
                    unreachable.push(format!("{name}: {why}"));
                    continue;
                }
            };
            let aim = requests.aim();
            for limit in &rule.limits {
                assert!(aim.guards.iter().any(|guard| guard.name == limit.name), "{name}: {}", limit.name);
            }
        }
    }
    assert_eq!(
        unreachable,
        [
            "envoy.yaml: monitoring limits nothing, as its `unlimited` says: there is nothing that could be attacked",
            "otp-payments.yaml: other-hosts refuses whatever it applies to: nothing passes that could be attacked",
            "public-api.yaml: closed refuses whatever it applies to: nothing passes that could be attacked",
        ]
    );
}

/// Returns the rule of an example.
fn example(name: &str, rule: &str) -> Requests {
    let policy = load(name);
    let mut rules = policy.rules.iter().chain(&policy.fallback);
    let index = rules.position(|known| known.name == rule).unwrap();
    Requests::new(Arc::clone(&policy), index).unwrap()
}

/// Guards adversaries against a policy that is read to them wrongly: each of what an aim says, at a rule that has it.
#[test]
fn an_aim_says_what_the_policy_says() {
    let verify = example("quillon.yaml", "verify").aim();
    let names: Vec<&str> = verify.guards.iter().map(|guard| guard.name.as_str()).collect();
    assert_eq!(
        names,
        ["edge/per-client", "verify/per-account", "verify/per-challenge", "verify/wrong-per-day"]
    );
    assert_eq!(verify.focus, 1, "a schedule is made for the rule's own limit first");
    let keyed: Vec<_> = verify.guards.iter().map(|guard| guard.keyed).collect();
    let none = Keyed::default();
    let (subject, session) = (Keyed { subject: true, ..none }, Keyed { session: true, ..none });
    assert_eq!(keyed, [Keyed { address: Some((32, 64)), ..none }, subject, session, subject]);
    assert_eq!(verify.guards[3].failures, Some(OnSuccess::Refund));
    assert_eq!(verify.guards[0].on_store_failure, OnStoreFailure::Allow);
    assert_eq!(verify.guards[1].on_store_failure, OnStoreFailure::Deny);
    assert_eq!(verify.code.map(|code| code.digits), Some(6));
    assert!(verify.senders.is_empty(), "a code that the clock changes is not sent");
    assert!(verify.one_spelling && !verify.believes_anybody);

    let send = example("otp-payments.yaml", "send").aim();
    let keyed: Vec<_> = send.guards.iter().map(|guard| guard.keyed).collect();
    let [range, country] = [Keyed { range: true, ..none }, Keyed { country: true, ..none }];
    assert_eq!(keyed, [subject, range, country, Keyed { address: Some((32, 64)), ..none }, none]);
    assert_eq!(send.guards[4].cost, 1, "an American number is the cheapest");
    let check = example("otp-payments.yaml", "verify").aim();
    assert_eq!(check.senders, send.guards);
    assert_eq!(example("quillon.yaml", "send").aim().price.map(|price| price.each), Some(5));
}

/// Guards adversaries of the world against a store, an outage or a restart that the policy does not have.
#[test]
fn an_aim_says_how_the_limits_are_run() {
    let lock = example("login-pci.yaml", "login").aim();
    assert_eq!(lock.guards[0].failures, Some(OnSuccess::Reset));
    assert_eq!(lock.one_address, Some(OneAddress::Loopback));
    let reset = example("password-reset.yaml", "check").aim();
    assert!(reset.setting.snapshot && !reset.setting.shared);
    let shared = example("shared.yaml", "reset-mail").aim();
    assert!(shared.setting.shared && shared.setting.instances == 2);
    assert_eq!(shared.guards[0].on_store_failure, OnStoreFailure::Local);
    let regions = "topology: { regions: 3 }
store: { memory: { max_keys: 500 } }
instances: 4
rules:
  - { name: r, match: { path: /a }, \
                   limits: [{ name: l, says: x, key: client_ip, fixed_window: { limit: 1, window: 1m } }] }";
    let setting = first(regions).aim().setting;
    assert_eq!((setting.instances, setting.regions, setting.keys, setting.snapshot), (4, 3, 500, false));
}

/// Guards against an attacker who pays more than he has to, or who knocks at another host's door.
#[test]
fn a_request_is_the_cheapest_one_that_the_rule_applies_to() {
    let api = example("public-api.yaml", "api");
    let wire = api.wire(&at_victim()).unwrap();
    assert_eq!((wire.method.as_str(), wire.path.as_str()), ("GET", "/v1/1"), "a search costs five");
    assert_eq!(wire.headers["x-api-key"], "customer-0", "the edge says whose key it is");
    assert_eq!(api.aim().guards.iter().map(|guard| guard.cost).collect::<Vec<_>>(), [1, 1]);
    let recovery = example("otp-payments.yaml", "recovery").wire(&at_victim()).unwrap();
    assert_eq!(recovery.host.as_deref(), Some("api.quillon.example"), "others are turned away");
    assert_eq!(recovery.path, "/accounts/customer-0/recover");
    let calls = example("internal.yaml", "calls");
    assert_eq!(calls.aim().guards.len(), 1, "the plainest path meets no other rule");
}
