//! `tidegate attack` at rules for Envoy's descriptors.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::process::{Folder, run, text};

const EXAMPLE: &str = "../../../../../examples/envoy.yaml";
/// What is quick, and attains what a bucket and a log have.
const BRIEF: [&str; 6] = ["attack", "--quick", "--for", "1h", "--adversary", "burst-and-wait"];

/// A rule of each kind.
const BOTH: &str = "
tidegate: 1
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
envoy: { listen: 127.0.0.1:8082 }
rules:
  - name: requests
    match: { path: /a }
    limits: [{ name: l, says: \"Up to 5 requests a minute, counted by the clock.\", key: global, fixed_window: { limit: 5, window: 1m } }]
  - name: calls
    match: { domain: shop, descriptor: [remote_address] }
    limits: [{ name: l, says: \"Up to 5 requests a minute, counted by the clock, per client.\", key: client_ip, fixed_window: { limit: 5, \
                    window: 1m } }]
";

/// Fails if rules for descriptors are passed over, or if calls meet other limits than theirs.
#[test]
fn every_rule_of_a_policy_for_envoy_is_attacked_or_told_why_not() {
    let output = run([&BRIEF[..], &["--json", EXAMPLE]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let told: Vec<(&str, usize, usize)> = rules
        .iter()
        .map(|rule| {
            let count = |member: &str| rule[member].as_array().map_or(0, Vec::len);
            (rule["rule"].as_str().unwrap(), count("limits"), count("rows"))
        })
        .collect();
    let known = [("login", 2, 2), ("pages", 1, 1), ("users", 1, 1), ("partners", 1, 1), ("monitoring", 0, 0)];
    assert_eq!(told, known);
    assert!(rules[4]["skipped"].as_str().unwrap().contains("unlimited"), "{report:#}");
    let at_once = |rule: usize| &rules[rule]["rows"][0]["worst"]["peaks"][0]["seen"];
    assert_eq!([0, 1, 2, 3].map(|rule| at_once(rule).as_u64().unwrap()), [10, 100, 20, 500]);
}

/// Guards a scenario against a rule that it finds no requests for.
#[test]
fn a_scenario_is_played_at_a_rule_for_descriptors() {
    let folder = Folder::new("attack-envoy-scenario");
    let scenario = "tidegate-scenario: 1\nrule: login\nlength: 1h\nadversaries: [lockout]\npeople: { count: 20, every: 10m }\n";
    let file = folder.file("bad-day.scenario.yaml", scenario);
    let output = run(["attack", EXAMPLE, "--scenario", file.to_str().unwrap()]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let row = told.lines().find(|line| line.trim_start().starts_with("lockout")).unwrap();
    assert!(row.contains("10 of 10"), "{told}");
    assert!(told.contains("the victim among them"), "{told}");
    assert!(told.contains("\nnothing passed that the closed forms do not allow\n"), "{told}");
}

/// Guards against requests that are sent for rules which none of them meets, and against an attack of nothing that ends well.
#[test]
fn a_gateway_is_not_attacked_by_rules_that_only_envoy_asks_about() {
    let output = run(["attack", EXAMPLE, "--against", "http://127.0.0.1:9"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    let told = text(&output.stderr);
    assert!(
        told.starts_with("error: these rules are for Envoy's descriptors, and `--against` sends requests"),
        "{told}"
    );
    assert!(told.contains("leave --against out") && told.contains("through Envoy"), "{told}");
}

/// Guards the rules of requests against being given up for those of calls beside them, which are told of by name.
#[test]
fn rules_for_requests_are_played_at_a_gateway_beside_others_that_are_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        // One that lets everything pass.
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let folder = Folder::new("attack-envoy-both");
    let file = folder.file("policy.yaml", BOTH);
    let file = file.to_str().unwrap();
    let output = run([
        "attack",
        file,
        "--against",
        &gateway,
        "--for",
        "2m",
        "--requests",
        "10",
        "--adversary",
        "greedy",
        "--json",
    ]);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let played: Vec<&Value> = report["rows"].as_array().unwrap().iter().map(|row| &row["rule"]).collect();
    assert_eq!(played, ["requests"], "{report:#}");
    let skipped = &report["skipped"];
    assert_eq!(
        skipped[0], "calls: it is for Envoy's descriptors, and a gateway is sent requests",
        "{report:#}"
    );
}
