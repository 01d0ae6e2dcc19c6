//! What a threat model says of the policies the project comes from, and what its comparison catches.

use tidegate_policy::Policy;

use super::{CompareError, ThreatModel, compare};
use crate::test_policy::policy;

/// Five attempts per thirty seconds, four times.
const VERIFY: &str = r#"
tidegate: 1
codes: { otp: { digits: 6, step: 30s, skew_steps: 1, attempts: 5 } }
keys:
  account: { json: /account }
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    guesses: otp
    on_store_failure: deny
    accept: [{ id: aligned-window, because: the old | service <b>has</b> "one" }]
    limits:
      - { name: bucket, says: "Four <i>quickly</i> | then once every ten seconds, per account.", key: account, token_bucket: { capacity: 4, refill: 1 per 10s } }
      - { name: fixed, says: Five attempts per 30 seconds per account., key: account, fixed_window: { limit: 5, window: 30s } }
      - { name: counter, says: Five attempts per 30 seconds per account., key: account, sliding_counter: { limit: 5, window: 30s } }
      - { name: log, says: Five attempts per 30 seconds per account., key: account, sliding_log: { limit: 5, window: 30s } }
      - { name: per-client, says: Up to 600 a minute per client., key: client, sliding_counter: { limit: 600, window: 1m } }
  - name: open
    class: verify
    match: { path: /old }
    guesses: otp
    on_store_failure: allow
    limits:
      - { name: shadowed, says: One a day per account., key: account, mode: shadow, sliding_log: { limit: 1, window: 24h } }
      - { name: per-client, says: Up to 600 a minute per client., key: client, sliding_counter: { limit: 600, window: 1m } }
"#;

fn days(seconds: Option<f64>) -> String {
    format!("{:.2}", seconds.unwrap() / 86_400.0)
}

fn percent(chance: f64) -> String {
    format!("{:.1}", chance * 100.0)
}

/// Guards the figures that the documents' own policies come to: they are the project's reason to exist.
#[test]
fn a_blind_guess_takes_what_the_closed_forms_say() {
    let policy = policy(VERIFY);
    let model = ThreatModel::of("a/policy.yaml", &policy);
    let rows = &model.rules[0].rows;
    let guess = |row: usize| rows[row].guess.unwrap();
    assert_eq!([days(guess(0).mean), days(guess(0).p50), days(guess(0).p95)], ["38.58", "26.74", "115.58"]);
    assert_eq!([percent(guess(0).chance_day), percent(guess(0).chance_year)], ["2.6", "100.0"]);
    for row in [1, 2, 3] {
        assert_eq!(days(guess(row).mean), "23.15", "{}", rows[row].explained.name());
        assert_eq!([days(guess(row).p50), days(guess(row).p95)], ["16.04", "69.35"]);
        assert_eq!(percent(guess(row).chance_day), "4.2");
        assert!(guess(row).chance_year > 0.9999);
    }
    assert_eq!(rows[4].guess, None, "whoever has another address has another count");
    let together = model.rules[0].guess.unwrap();
    assert_eq!(days(together.mean), "38.58", "the tightest decides");
    assert_eq!(model.rules[1].guess, None, "a limit in shadow mode holds nobody");
    let denied: Vec<Option<u64>> = rows.iter().map(|row| row.requests_to_deny).collect();
    assert_eq!(denied[0], Some(8_643), "all that ever comes in has to be taken");
    assert_eq!((denied[1], denied[3]), (Some(14_400), Some(14_400)));
    assert_eq!(rows[0].denied_by, "any stranger who names the victim");
}

/// Guards against figures of one count where several instances keep one each.
#[test]
fn counts_that_are_kept_apart_are_taken_together() {
    let alone = policy(VERIFY);
    let together =
        policy(&VERIFY.replace("tidegate: 1\n", "tidegate: 1\ninstances: 2\ntopology: { regions: 2 }\n"));
    let (alone, together) = (ThreatModel::of("p", &alone), ThreatModel::of("p", &together));
    assert_eq!(together.copies, 4);
    let (one, four) = (&alone.rules[0].rows[0], &together.rules[0].rows[0]);
    assert_eq!(four.admits.at_once, 4 * one.admits.at_once);
    assert_eq!(four.requests_to_deny, one.requests_to_deny.map(|requests| requests * 4));
    let ratio = one.guess.unwrap().mean.unwrap() / four.guess.unwrap().mean.unwrap();
    assert!((ratio - 4.0).abs() < 1e-3, "{ratio}");
}

/// Guards against a guess that is told to take five times as long since each request takes five units, or as long as with
/// one.
#[test]
fn a_try_takes_its_cost() {
    let text = VERIFY.replace(
        "name: log, says: Five attempts per 30 seconds per account., key: account, sliding_log: { limit: 5",
        "name: log, says: Never more than 11 units in any 30 seconds per account; a request counts 2., key: account, \
         cost: 2, sliding_log: { limit: 11",
    );
    let policy = policy(&text);
    let model = ThreatModel::of("p", &policy);
    let row = &model.rules[0].rows[3];
    assert_eq!(days(row.guess.unwrap().mean), "23.15", "eleven units are five tries");
    assert!(model.to_markdown().contains("| Locked out for a day by | 31,680 units, any stranger"));
}

/// Guards a copy against being held to what it was not written from.
#[test]
fn a_fresh_copy_differs_in_nothing() {
    for text in [VERIFY, include_str!("../../../../examples/quillon.yaml")] {
        let policy = policy(text);
        let model = ThreatModel::of("policy.yaml", &policy);
        assert_eq!(compare(&model, &model.to_markdown()), Ok(Vec::new()));
        assert_eq!(compare(&model, &format!("{:#}", model.to_json())), Ok(Vec::new()));
    }
}

fn changed(from: &str, to: &str) -> Policy {
    assert!(VERIFY.contains(from), "{from}");
    policy(&VERIFY.replacen(from, to, 1))
}

/// Guards against a comparison that no longer catches what it is there for: each number and choice of the file in turn.
#[test]
fn every_figure_and_choice_that_changes_is_caught() {
    let old = policy(VERIFY);
    let old = ThreatModel::of("policy.yaml", &old);
    let (markdown, json) = (old.to_markdown(), old.to_json().to_string());
    for (from, to) in [
        ("capacity: 4", "capacity: 5"),
        ("refill: 1 per 10s", "refill: 1 per 11s"),
        ("digits: 6", "digits: 7"),
        ("skew_steps: 1", "skew_steps: 2"),
        ("attempts: 5", "attempts: 6"),
        ("on_store_failure: deny", "on_store_failure: local"),
        ("key: account", "key: client"),
        ("sliding_counter: { limit: 5", "sliding_log: { limit: 5"),
        ("class: verify", "class: login"),
        ("method: POST, path: /otp/verify", "path: /otp/verify"),
        ("id: aligned-window", "id: another"),
        ("mode: shadow, ", ""),
        ("guesses: otp", "client_sees: all"),
        ("name: bucket", "name: pail"),
        ("tidegate: 1\n", "tidegate: 1\ninstances: 2\n"),
        ("tidegate: 1\n", "tidegate: 1\nbudget: { guess_per_year: 1% }\n"),
        ("key: account, ", "key: account, cost: 2, "),
        ("key: account, ", "key: account, client_sees: nothing, "),
    ] {
        let new = changed(from, to);
        let new = ThreatModel::of("policy.yaml", &new);
        for copy in [&markdown, &json] {
            assert!(!compare(&new, copy).unwrap().is_empty(), "{from} -> {to}: {}", &copy[..1]);
        }
    }
}

/// Guards against a figure that stands on the page and that the comparison never looks at: each digit of each table, and each
/// number of the JSON outside of texts, in turn.
#[test]
fn no_digit_of_a_copy_can_change_unnoticed() {
    let policy = policy(VERIFY);
    let model = ThreatModel::of("policy.yaml", &policy);
    let markdown = model.to_markdown();
    let json = format!("{:#}", model.to_json());
    let is_figure = |line: &str| match line.trim().split_once("\": ") {
        Some((name, value)) => {
            value.starts_with(|char: char| char.is_ascii_digit()) && !name.contains("tidegate_")
        }
        None => line.starts_with('|'),
    };
    let mut tried = 0;
    for copy in [markdown, json] {
        let mut start = 0;
        for line in copy.split_inclusive('\n') {
            // A floating-point number is compared to six digits; its first one stands for it.
            let most = if line.contains('.') && !line.starts_with('|') { 1 } else { usize::MAX };
            let value = line.find("\": ").map_or(0, |at| at + 3);
            let digits =
                line.bytes().enumerate().skip(value).filter(|(_, byte)| byte.is_ascii_digit()).take(most);
            for (at, byte) in digits.filter(|_| is_figure(line)) {
                let other = if byte == b'7' { "8" } else { "7" };
                let mut edited = copy.clone();
                edited.replace_range(start + at..=start + at, other);
                assert!(!compare(&model, &edited).unwrap().is_empty(), "byte {at} of {line}");
                tried += 1;
            }
            start += line.len();
        }
    }
    assert!(tried > 500, "only {tried} digits were found");
}

/// Guards against a gate that cries at every comma.
#[test]
fn prose_may_change_on_both_sides() {
    let old = policy(VERIFY);
    let old = ThreatModel::of("policy.yaml", &old);
    for (from, to) in
        [("Five attempts per", "No more than 5 attempts per"), ("because: the old", "because: an old")]
    {
        let new = changed(from, to);
        let new = ThreatModel::of("other.yaml", &new);
        assert_eq!(compare(&new, &old.to_markdown()), Ok(Vec::new()));
        assert_eq!(compare(&new, &old.to_json().to_string()), Ok(Vec::new()));
    }
    let edited = old
        .to_markdown()
        .replace("## verify\n", "## **verify**\n\nOdalys looks after this one: 17 of 23.\n\n| Who | When |\n|---|---|\n| us | 3 |\n")
        .replace("| Most at once | 4 |", "|  Most at once   |  **4** |\n| Owner | us |")
        .replace("| --- | --- |", "|:---|---:|");
    assert_eq!(compare(&old, &edited), Ok(Vec::new()));
}

#[test]
fn a_difference_names_the_place_the_old_and_the_new() {
    let old = policy(VERIFY);
    let old = ThreatModel::of("policy.yaml", &old);
    // One cell changed by hand: neither the policy nor any other cell.
    let edited = old.to_markdown().replace("| Most in any 1h | 363 |", "| Most in any 1h | 300 |");
    let told: Vec<String> = compare(&old, &edited).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["verify/bucket: Most in any 1h: 300 -> 363"]);
    let mut json = old.to_json();
    json["rules"][0]["limits"][0]["half_open"]["1h"] = 300.into();
    let told: Vec<String> =
        compare(&old, &json.to_string()).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["verify/bucket: half_open.1h: 300 -> 363"]);
    let renamed = changed("name: bucket", "name: pail");
    let renamed = ThreatModel::of("policy.yaml", &renamed);
    let told: Vec<String> =
        compare(&renamed, &old.to_markdown()).unwrap().iter().map(ToString::to_string).collect();
    assert!(told.contains(&"verify/pail: Most at once: not there -> 4".to_owned()), "{told:#?}");
    assert!(told.contains(&"verify/bucket: Most at once: 4 -> not there".to_owned()), "{told:#?}");
}

#[test]
fn what_is_no_copy_is_refused_with_the_reason() {
    let policy = policy(VERIFY);
    let model = ThreatModel::of("policy.yaml", &policy);
    assert_eq!(compare(&model, &model.to_html()), Err(CompareError::Html));
    assert_eq!(compare(&model, "# Threat model\n\nTo be written.\n"), Err(CompareError::Nothing));
    assert_eq!(compare(&model, "{}"), Err(CompareError::Nothing));
    assert!(matches!(compare(&model, "{ rules"), Err(CompareError::Json(_))));
}

/// Guards a page that may be opened by many against what a policy's sentences hold.
#[test]
fn what_a_policy_says_is_never_markup() {
    let policy = policy(VERIFY);
    let model = ThreatModel::of("<script>.yaml", &policy);
    let (html, markdown) = (model.to_html(), model.to_markdown());
    for markup in ["<i", "<b>", "<script", "</i", "</b>"] {
        assert!(!html.contains(markup) && !markdown.contains(markup), "{markup}");
    }
    assert!(
        html.contains("Four &lt;i&gt;quickly&lt;/i&gt; | then")
            && html.contains("has&lt;/b&gt; &quot;one&quot;")
    );
    assert!(markdown.contains(r"Four &lt;i>quickly&lt;/i> \| then"));
}
