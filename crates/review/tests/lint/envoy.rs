//! What the rules of the review make of rules for Envoy's descriptors.

use tidegate_policy::parse;
use tidegate_review::{Finding, ThreatModel, explain};

use crate::reviewed;

const SIGN_IN: &str = "\
tidegate: 1
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
envoy: { listen: 127.0.0.1:8082 }
topology: { proxies: 2 }
codes: { otp: { digits: 6, step: 30s, skew_steps: 1 } }
keys: { caller: { descriptor: remote_address, called: [caller] } }
rules:
  - name: verify
    class: verify
    match: { domain: shop, descriptor: [{ key: path, value: /otp/verify }, remote_address] }
    guesses: otp
    on_store_failure: deny
    limits:
      - { name: by-entry, says: \"Up to 5 a minute, per caller.\", key: caller, sliding_log: { limit: 5, window: 1m } }
      - { name: by-address, says: \"Up to 9 an hour, per client ip.\", key: client_ip, sliding_log: { limit: 9, window: 1h } }
  - name: pages
    match: { path: /** }
    limits:
      - { name: all, says: \"Up to 5 a minute, for everyone together.\", key: global, sliding_log: { limit: 5, window: 1m } }
";

fn said<'f>(found: &'f [Finding], id: &str) -> Option<&'f str> {
    found.iter().find(|finding| finding.id == id).map(|finding| finding.message.as_str())
}

/// Guards against an entry with an address that is taken for an account, and so for a limit that holds whoever guesses.
#[test]
fn a_sign_in_by_an_address_that_envoy_tells_is_one_by_address_only() {
    let found = reviewed("envoy.yaml", SIGN_IN);
    let message = said(&found, "verify-by-address-only").unwrap();
    assert!(message.contains("verify is limited by address only"), "{message}");
    let narrow = said(&found, "ipv6-too-narrow").unwrap();
    assert!(narrow.starts_with("verify/by-entry tells IPv6 clients apart by /128"), "{narrow}");
}

/// Guards against advice about trusted proxies for an address that no header tells, and against rules for requests and for
/// descriptors that are taken to cover each other.
#[test]
fn what_envoy_tells_is_not_a_matter_of_trusted_proxies() {
    let found = reviewed("envoy.yaml", SIGN_IN);
    for id in ["proxies-not-trusted", "loopback-is-one-client", "rule-behind-a-refusal"] {
        assert_eq!(said(&found, id), None, "{id}");
    }
    let refusing = format!(
        "{SIGN_IN}  - {{ name: closed, match: {{ path: /** }}, refuse: {{ status: 403, because: closed }} }}\n"
    );
    let found = reviewed("envoy.yaml", &refusing);
    let behind: Vec<&str> = found
        .iter()
        .filter(|one| one.id == "rule-behind-a-refusal")
        .filter_map(|one| one.about.as_deref())
        .collect();
    assert_eq!(behind, ["pages"]);
}

/// Guards against a sign-in that is only seen by its path where an entry names it.
#[test]
fn an_entry_s_value_may_look_like_a_sign_in() {
    let text = SIGN_IN.replace("    class: verify\n", "").replace("    guesses: otp\n", "");
    let message = reviewed("envoy.yaml", &text);
    let message = said(&message, "class-not-said").unwrap();
    assert!(message.starts_with("/otp/verify looks like a sign-in"), "{message}");
}

/// Guards what people read of such rules: which descriptors, on which key, chosen by whom, and what a refusal is.
#[test]
fn explanations_and_threat_models_speak_of_descriptors() {
    let free = "  - { name: free, match: { domain: shop, descriptor: [{ key: path, value: /healthz }] }, envoy: { unlimited: true } }\n";
    let policy = parse("envoy.yaml", &format!("{SIGN_IN}{free}")).unwrap();
    let rules = explain(&policy);
    assert_eq!(rules[0].applies, ["domain shop, descriptor (path=/otp/verify, remote_address)"]);
    let says = &rules[0].limits[0].refusal.says;
    assert!(says.starts_with("OVER_LIMIT, for which Envoy answers 429"), "{says}");
    let gone = rules[0].limits[0].gone.says();
    assert!(
        gone.ends_with("were it shared and gone, Envoy is answered OVER_LIMIT until it answers"),
        "{gone}"
    );
    assert_eq!(rules[2].to_json()["unlimited"], true);
    let model = ThreatModel::of("envoy.yaml", &policy).to_markdown();
    assert!(model.contains("domain shop, descriptor (path=/otp/verify, remote_address)"), "{model}");
    assert!(model.contains("| caller | the network |"), "{model}");
    assert!(model.contains("whoever shares the victim's address"), "{model}");
}

/// A sign-in whose limit counts on an entry of a descriptor.
fn counted(descriptor: &str, key: &str) -> String {
    format!(
        "tidegate: 1
envoy: {{ listen: 127.0.0.1:0 }}
keys: {{ told: {key} }}
rules:
  - name: verify
    class: login
    on_store_failure: deny
    match: {{ domain: shop, descriptor: [{descriptor}] }}
    limits:
      - name: all
        says: Five in any minute, per told.
        key: told
        sliding_log: {{ limit: 5, window: 1m }}
"
    )
}

/// Guards against an entry that any client writes being taken for Envoy's word, and against one that is judged by what a rule
/// calls it: an address that goes by another name, and another entry that goes by the address's.
#[test]
fn an_entry_is_judged_by_who_writes_it_whatever_the_rule_calls_it() {
    for (descriptor, key, chosen_by, locked_out_by) in [
        ("account", "{ descriptor: account }", "a stranger", "any stranger who names the victim"),
        (
            "account",
            "{ descriptor: account, from: envoy }",
            "what stands in front",
            "only whoever has what the victim was given",
        ),
        (
            "remote_address",
            "{ descriptor: remote_address }",
            "the network",
            "whoever shares the victim's address",
        ),
        (
            "{ key: remote_address, as: who }",
            "{ descriptor: who }",
            "the network",
            "whoever shares the victim's address",
        ),
        (
            "{ key: account, as: remote_address }",
            "{ descriptor: remote_address }",
            "a stranger",
            "any stranger who names the victim",
        ),
        (
            "source_cluster",
            "{ descriptor: source_cluster }",
            "nobody",
            "anybody, and with the victim everyone",
        ),
        ("path", "{ descriptor: path }", "a stranger", "whoever knows what the victim sends"),
    ] {
        let policy = parse("envoy.yaml", &counted(descriptor, key)).unwrap_or_else(|wrong| panic!("{wrong}"));
        let model = ThreatModel::of("envoy.yaml", &policy).to_markdown();
        assert!(model.contains(&format!("| told | {chosen_by} |")), "{descriptor} {key}: {model}");
        assert!(model.contains(&format!("requests, {locked_out_by} |")), "{descriptor} {key}: {model}");
        let findings = reviewed("envoy.yaml", &counted(descriptor, key));
        let has = |id: &str| said(&findings, id).is_some();
        let is_address = chosen_by == "the network";
        assert_eq!(has("address-told-by-envoy"), is_address, "{descriptor} {key}: {findings:?}");
        assert_eq!(has("ipv6-too-narrow"), is_address, "{descriptor} {key}: {findings:?}");
    }
}

/// A remedy that is an unknown key where the finding stands is none.
#[test]
fn a_remedy_in_another_program_s_file_begins_with_the_import() {
    let section = "rate-limit: { fallback: { algorithm: FIXED_COUNTER, maxRequests: 5, windowSize: 60 } }\n\
                   gateway: { listen: 0.0.0.0:8080, upstream: http://127.0.0.1:3000 }\n";
    let found = reviewed("application.yaml", section);
    let remedy = |id: &str| found.iter().find(|one| one.id == id).map_or("", |one| one.remedy.as_str());
    let first = "make it a policy by `tidegate import rate-limit application.yaml` first, then ";
    assert!(remedy("ipv6-too-narrow").starts_with(first), "{found:#?}");
    // What stands beside the section can be written there.
    let beside = found.iter().filter(|one| one.about.is_none());
    assert!(beside.into_iter().all(|one| !one.remedy.contains("tidegate import")), "{found:#?}");
    let imported = tidegate_policy::import::rate_limit("application.yaml", section).unwrap();
    let found = reviewed("policy.yaml", &imported.text);
    assert!(found.iter().all(|one| !one.remedy.contains("tidegate import")), "{found:#?}");
}
