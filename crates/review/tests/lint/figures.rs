//! Figures of single rules of the review, as the literature has them.

use tidegate_review::Severity;

use crate::reviewed;

/// Returns a policy whose one rule checks six digits, three of them right at once, under limits on an account.
fn verify(limits: &str) -> String {
    format!(
        "tidegate: 1
gateway: {{ listen: 0.0.0.0:8080, upstream: http://127.0.0.1:3000 }}
codes: {{ otp: {{ digits: 6, step: 30s, skew_steps: 1 }} }}
keys: {{ account: {{ json: /account, normalize: [trim, lowercase] }} }}
rules:
  - name: verify
    class: verify
    match: {{ method: POST, path: /otp/verify }}
    guesses: otp
    on_store_failure: deny
    limits:
{limits}"
    )
}

fn message(text: &str, id: &str) -> Option<(Severity, String)> {
    let found = reviewed(id, text).into_iter().find(|finding| finding.id == id);
    found.map(|finding| (finding.severity, format!("{}; {}", finding.message, finding.remedy)))
}

/// Guards the two figures that are most often told wrong: ten across the boundary of an aligned window of five, and ten for
/// the sliding counter as well.
#[test]
fn a_window_and_a_counter_of_five_let_ten_through_and_a_log_five() {
    let window = "      - { name: w, says: Up to 5 per 30 seconds per account., key: account, fixed_window: { limit: 5, window: 30s } }\n";
    let counter = window.replace("fixed_window", "sliding_counter");
    let log = window.replace("fixed_window", "sliding_log");
    let (_, aligned) = message(&verify(window), "aligned-window-on-sign-in").unwrap();
    assert!(aligned.contains("10 pass in a span of 30s across a boundary, where 5 is meant"), "{aligned}");
    // B = 3 and a tenth a second: 3 + ⌈3⌉ − 1 = 5.
    assert!(aligned.contains("token_bucket: { capacity: 3, refill: 1 per 10s }"), "{aligned}");
    let (_, doubled) = message(&verify(&counter), "sliding-counter-doubles").unwrap();
    assert!(doubled.contains("10 pass in a span of 30s"), "{doubled}");
    assert_eq!(message(&verify(&log), "aligned-window-on-sign-in"), None);
    assert_eq!(message(&verify(&log), "sliding-counter-doubles"), None);
}

/// Guards the chance of a year: half of all attacks on the bucket of four succeed after 26.74 days.
#[test]
fn a_bucket_of_four_and_one_in_ten_seconds_is_guessed_within_weeks() {
    let bucket = "      - { name: b, says: 4 at once then one every 10 seconds per account., key: account, token_bucket: { capacity: 4, refill: 1 per 10s } }\n";
    let (severity, said) = message(&verify(bucket), "no-long-horizon-cap").unwrap();
    assert_eq!(severity, Severity::Error);
    assert!(said.contains("3,153,604 tries a year at 6 digits, 3 valid at once"), "{said}");
    assert!(said.contains("half of them after 26.74 days"), "{said}");
    assert!(said.contains("sliding_log: { limit: 9, window: 24h }"), "{said}");
}

/// Guards against a remedy that leaves the finding where it was.
#[test]
fn nine_a_day_are_within_one_percent_a_year_and_ten_are_not() {
    let a_day = |limit: u32| {
        verify(&format!(
            "      - {{ name: d, says: Never more than {limit} in any 24 hours per account., key: account, sliding_log: {{ limit: {limit}, window: 24h }} }}\n"
        ))
    };
    assert_eq!(message(&a_day(9), "too-few-digits"), None);
    assert_eq!(message(&a_day(10), "too-few-digits").unwrap().0, Severity::Warning);
    let said = a_day(9).replace("codes:", "budget: { guess_per_year: 0.1% }\ncodes:");
    let (severity, said) = message(&said, "too-few-digits").unwrap();
    assert_eq!(severity, Severity::Error, "a budget that the file states is a promise");
    assert!(said.contains("take codes of 7 characters"), "{said}");
}

/// Guards against a limit that is called idle although it decides at the edge of its window.
#[test]
fn a_limit_never_decides_only_where_the_other_bounds_every_span() {
    let both = |first: &str, second: &str| {
        let limit =
            |name: &str, quota: &str| format!("      - {{ name: {name}, says: x, key: account, {quota} }}\n");
        verify(&format!("{}{}", limit("a", first), limit("b", second)))
    };
    let moot = |first, second| {
        let found = reviewed("p", &both(first, second));
        found
            .into_iter()
            .find(|finding| finding.id == "limit-never-decides")
            .and_then(|finding| finding.about)
    };
    let b = || Some("verify/b".to_owned());
    assert_eq!(moot("sliding_log: { limit: 5, window: 1m }", "fixed_window: { limit: 5, window: 1m }"), b());
    assert_eq!(
        moot("fixed_window: { limit: 5, window: 1m }", "fixed_window: { limit: 9, window: 1m }"),
        None
    );
    assert_eq!(moot("sliding_log: { limit: 5, window: 1m }", "sliding_log: { limit: 5, window: 1m }"), b());
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "sliding_log: { limit: 299, window: 1h }"),
        None
    );
    assert_eq!(moot("sliding_log: { limit: 5, window: 1m }", "sliding_log: { limit: 300, window: 1h }"), b());
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "sliding_counter: { limit: 9, window: 1m }"),
        None
    );
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "sliding_counter: { limit: 10, window: 1m }"),
        b()
    );
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "token_bucket: { capacity: 5, refill: 5 per 1m }"),
        b()
    );
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "token_bucket: { capacity: 4, refill: 5 per 1m }"),
        None
    );
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "token_bucket: { capacity: 5, refill: 4 per 1m }"),
        None
    );
    assert_eq!(
        moot("sliding_log: { limit: 4, window: 1m }", "lockout: { attempts: 5, within: 1m, lock: 1h }"),
        b()
    );
    assert_eq!(
        moot("sliding_log: { limit: 5, window: 1m }", "lockout: { attempts: 5, within: 1m, lock: 1h }"),
        None
    );
}

/// Guards against a number of addresses that is taken of one count where several processes or regions count apart: 1,440 a day
/// from one address are four times as many over four processes.
#[test]
fn where_several_count_apart_so_many_fewer_addresses_try_every_code() {
    let by_address = "      - { name: c, says: x, key: client_ip, sliding_log: { limit: 10, window: 1m } }\n";
    let told = |head: &str| {
        let text = verify(by_address).replacen("tidegate: 1\n", &format!("tidegate: 1\n{head}"), 1);
        message(&text, "verify-by-address-only").unwrap().1
    };
    for (head, addresses) in
        [("", 70), ("instances: 4\n", 18), ("instances: 4\ntopology: { regions: 2 }\n", 9)]
    {
        let says = told(head);
        assert!(says.contains(&format!(": {addresses} addresses try every code in a day")), "{says}");
    }
}

/// Guards grammar where one address is enough, as with a code of two digits.
#[test]
fn one_address_is_told_of_as_one() {
    let by_address =
        "      - { name: c, says: x, key: client_ip, sliding_log: { limit: 100000, window: 1m } }\n";
    let says = message(&verify(by_address), "verify-by-address-only").unwrap().1;
    assert!(says.contains(": 1 address tries every code in a day"), "{says}");
}

/// Guards the order and the acceptance: a finding that is kept knowingly is shown with its reason, on its rule alone.
#[test]
fn what_a_rule_accepts_is_shown_with_its_reason_in_the_order_of_the_file() {
    let rule = |name: &str, accept: &str| {
        format!(
            "  - name: {name}
    class: recovery
    match: {{ path: /{name} }}
    on_store_failure: deny
{accept}    limits:
      - {{ name: c, says: Never more than 30 in any hour per client., key: client_ip, sliding_log: {{ limit: 30, window: 1h }} }}
"
        )
    };
    let accept = "    accept: [{ id: verify-by-address-only, because: behind the VPN }]\n";
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nrules:\n{}{}",
        rule("b", accept),
        rule("a", "")
    );
    let found = reviewed("p", &text);
    let places: Vec<_> = found.iter().map(|finding| finding.place).collect();
    assert!(places.is_sorted(), "{found:#?}");
    let of: Vec<_> = found
        .iter()
        .filter(|finding| finding.id == "verify-by-address-only")
        .map(|finding| (finding.about.as_deref(), finding.accepted.as_deref()))
        .collect();
    assert_eq!(of, [(Some("b"), Some("behind the VPN")), (Some("a"), None)]);
}
