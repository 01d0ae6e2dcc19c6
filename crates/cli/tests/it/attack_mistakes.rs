//! Policies with one deliberate mistake each, attacked from their files: the simulation's own figure names the mistake.
//!
//! The whole default run takes minutes without optimization, so each is attacked by the adversary that the default run has
//! for its mistake, and for an hour instead of a day.

use crate::process::{Folder, run, text};

const RULES: &str = "
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
codes:
  otp: { digits: 6, step: 30s, skew_steps: 1 }
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    guesses: otp
    on_store_failure: CHOICE
    limits:
";
const PER_ACCOUNT: &str = "
      - name: per-account
        says: Never more than nine in any 24 hours, per account.
        key: account
        sliding_log: { limit: 9, window: 24h }
";
const PER_CLIENT: &str = "
      - name: per-client
        says: Ten at once, then one every ten seconds, per client.
        key: client
        token_bucket: { capacity: 10, refill: 1 per 10s }
";
const REDIS: &str = "key_secret_file: secret\nstore: { redis: { url: 'redis://127.0.0.1:6379' } }\n";

/// Attacks a policy from its file, and returns the lines that tell what was shown.
fn shown(test: &str, (run_so, choice): (&str, &str), limits: &[&str], adversaries: &[&str]) -> Vec<String> {
    let folder = Folder::new(test);
    folder.file("secret", "2ab64cf1a9d70e5c8b13f6d4470e9ab1c2d3e4f5061728394a5b6c7d8e9fa0b1");
    let text_of = format!("tidegate: 1\n{run_so}{}{}", RULES.replace("CHOICE", choice), limits.concat());
    let file = folder.file("policy.yaml", text_of);
    let mut args = vec!["attack", file.to_str().unwrap(), "--for", "1h"];
    args.extend(adversaries.iter().flat_map(|adversary| ["--adversary", *adversary]));
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout).lines().filter_map(|line| line.strip_prefix("  shown: "));
    told.map(str::to_owned).collect()
}

#[test]
fn counting_by_client_alone_is_shown_by_what_a_hundred_addresses_guess() {
    let told = shown("by-client", ("", "deny"), &[PER_CLIENT], &["many-addresses"]);
    let begins = "100 addresses made 36,900 guesses at one account in 1h, where one made 370: nothing counts by account";
    assert!(told.len() == 1 && told[0].starts_with(begins), "{told:?}");
    assert!(told[0].ends_with("[verify-by-address-only]"), "{told:?}");
}

#[test]
fn failing_open_is_shown_by_what_passed_without_the_store() {
    let told = shown("fails-open", (REDIS, "allow"), &[PER_ACCOUNT], &["outage"]);
    let begins = "the store was gone for 1m, and 59,887 requests passed uncounted; the chance that one of them guesses the code is 16 %";
    assert!(told.len() == 1 && told[0].starts_with(begins) && told[0].ends_with("[fails-open]"), "{told:?}");
}

#[test]
fn counts_of_four_processes_are_shown_by_four_times_the_limit() {
    let told = shown("four-counts", ("instances: 4\n", "deny"), &[PER_ACCOUNT], &["instances"]);
    let begins = "4 processes count for themselves: of the same requests at one account 144 passed in 4d where one count lets 36 through";
    assert!(told.len() == 1 && told[0].starts_with(begins), "{told:?}");
    assert!(told[0].ends_with("[memory-not-shared]"), "{told:?}");
}

#[test]
fn believing_anybodys_address_is_shown_by_what_made_up_ones_let_through() {
    let trusting = "trusted_proxies: { networks: [0.0.0.0/0, ::/0], trust_everyone: true }\n";
    let told = shown("believes", (trusting, "deny"), &[PER_CLIENT], &["forwarded-spoof"]);
    assert!(told.len() == 1 && told[0].ends_with("[trusts-everybody]"), "{told:?}");
    // A thousand a second for the minute that shows it.
    let begins = "one client that claimed another address each time made 60,000 requests in 1m, where the limits let one";
    assert!(told[0].starts_with(begins), "{told:?}");
}

#[test]
fn a_table_for_too_few_keys_is_shown_by_the_people_it_refuses() {
    let small = "store: { memory: { max_keys: 5000 } }\n";
    let told = shown("small-table", (small, "deny"), &[PER_ACCOUNT], &["flood"]);
    let begins = "1,000 requests a second about new keys filled the table of 5,000 in 5.50 seconds; people who came then were refused at 50 of 50 tries";
    assert!(told.len() == 1 && told[0].starts_with(begins), "{told:?}");
    assert!(told[0].ends_with("[table-can-be-filled]"), "{told:?}");
}

/// Guards against mistakes that are told of policies that do not make them.
#[test]
fn a_sound_policy_shows_none_of_them() {
    let all = ["many-addresses", "outage", "instances", "forwarded-spoof", "flood"];
    let told = shown("sound", (REDIS, "deny"), &[PER_ACCOUNT], &all);
    let mistakes = [
        "verify-by-address-only",
        "fails-open",
        "memory-not-shared",
        "trusts-everybody",
        "table-can-be-filled",
    ];
    for mistake in mistakes {
        assert!(!told.iter().any(|line| line.contains(mistake)), "{mistake}: {told:?}");
    }
}
