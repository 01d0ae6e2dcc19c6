//! `tidegate why`: what is told of a request, and which requests are none.

use serde_json::Value;

use crate::process::{Folder, run, text};

const POLICY: &str = r#"
tidegate: 1
health: { listen: 127.0.0.1:0 }
headers: [ietf]
keys:
  account: { json: /account, normalize: [trim, lowercase] }
  client: { client_ip: { ipv4: 24, ipv6: 64 } }
rules:
  - name: verify
    class: verify
    match: { method: POST, host: api.example.com, path: /otp/verify }
    on_store_failure: deny
    client_sees: all
    limits:
      - name: per-account
        says: Two at once, then one every ten seconds, per account.
        key: account
        token_bucket: { capacity: 2, refill: 1 per 10s }
  - name: reports
    match: { path: "/reports/{id}" }
    except: [{ client: [198.51.100.0/24] }]
    limits:
      - name: per-client
        says: Never more than nine in any 24 hours, per client.
        key: client
        sliding_log: { limit: 9, window: 24h }
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 403, because: not for the public }
fallback:
  on_store_failure: allow
  limits:
    - name: all
      says: Up to 600 a minute, for everyone together.
      key: global
      sliding_counter: { limit: 600, window: 1m }
"#;

fn why(test: &str, args: &[&str]) -> (String, i32) {
    let folder = Folder::new(test);
    let policy = folder.file("policy.yaml", POLICY).display().to_string();
    let output = run(["why", &policy].iter().chain(args));
    (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code().unwrap())
}

#[test]
fn every_rule_is_told_with_why_and_every_limit_with_its_key_and_state() {
    let args = [
        "POST",
        "https://api.example.com/otp//verify?x=1",
        "--client",
        "192.0.2.7",
        "--json",
        "{\"account\":\" ADA\"}",
        "--repeat",
        "2",
        "--at",
        "2027-01-31T12:00:00Z",
    ];
    let expected = "\
POST /otp//verify?x=1 at api.example.com from 192.0.2.7
  its path is compared as /otp/verify

+ verify applies by /otp/verify
    verify/per-account: account = \"ada\" (JSON body /account)
      for 1 unit: refuses for 10s; 0 of 2 left, whole again in 20s
      “Two at once, then one every ten seconds, per account.”

- reports is for /reports/{id}, and this is /otp/verify

- closed is for /internal/**, and this is /otp/verify

- fallback is for what no enforced limit looks at

refused by verify/per-account: 0 of 2 left, again in 10s (“Two at once, then one every ten seconds, per account.”)
the client gets 429 Too Many Requests
  retry-after: 10
  ratelimit-policy: \"verify/per-account\";q=2;w=20
  ratelimit: \"verify/per-account\";r=0;t=10
";
    assert_eq!(why("why-refused", &args), (expected.to_owned(), 0));
}

#[test]
fn a_rule_that_does_not_apply_says_the_first_reason() {
    let table: [(&[&str], &str); 7] = [
        (&["/otp/verify", "--host", "api.example.com"], "- verify is for POST, and this is GET\n"),
        (&["POST", "/otp/verify"], "- verify is for api.example.com, and this names no host\n"),
        (&["POST", "/otp/verify", "-H", "host: b"], "- verify is for api.example.com, and this is for b\n"),
        (
            &["/reports/7", "--client", "198.51.100.3"],
            "- reports leaves it out by exception 1: client 198.51.100.0/24\n",
        ),
        (
            &["/reports"],
            "+ fallback applies, since no enforced limit looked\n    fallback/all: everyone together\n",
        ),
        (
            &["/reports/7"],
            "reports/per-client: client is missing (client address, /24)\n      does not look, for want of its key\n",
        ),
        (&["/internal/x"], "+ closed applies by /internal/** and lets nothing through: not for the public\n"),
    ];
    for (args, line) in table {
        let (told, code) = why("why-reasons", args);
        assert!(told.contains(line), "{args:?}: {told}");
        assert_eq!(code, 0, "{args:?}");
    }
}

#[test]
fn keys_may_be_given_and_what_is_missing_or_reads_two_ways_is_told() {
    let post = ["POST", "/otp/verify", "--host", "api.example.com"];
    let with = |more: &[&'static str]| why("why-keys", &[&post[..], more].concat()).0;
    assert!(with(&["--key", "account=Ada"]).contains("account = \"ada\""));
    let missing = with(&[]);
    assert!(
        missing.contains("cannot look: account is missing, and verify/per-account requires it"),
        "{missing}"
    );
    assert!(missing.contains("the client gets 400 Bad Request"), "{missing}");
    let twice = with(&["--json", "{\"account\":1,\"account\":2}"]);
    assert!(twice.contains("cannot look: account "), "{twice}");
    let path = why("why-path", &["/a%2fb"]).0;
    assert!(path.contains("no rule is asked: path "), "{path}");
}

/// Guards costs and plans by key: what tells them may be given ready-made as well, here and in tests.
#[test]
fn keys_that_only_a_cost_looks_at_may_be_given() {
    let folder = Folder::new("why-cost");
    let policy = folder.file(
        "policy.yaml",
        "tidegate: 1
health: { listen: 127.0.0.1:0 }
keys: { tier: { header: x-tier } }
costs: { weight: { by: tier, default: 1, values: { heavy: 5 } } }
rules:
  - name: r
    match: { path: /** }
    limits: [{ name: l, says: Nine in any hour., key: global, cost: weight, sliding_log: { limit: 9, window: 1h } }]
",
    );
    let output = run(["why", &policy.display().to_string(), "/x", "--key", "tier=heavy", "--output", "json"]);
    let why: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert!(why.to_string().contains("\"units\":5"), "{why}");
    let tests = folder.file(
        "policy.test.yaml",
        "tidegate-test: 1
policy: policy.yaml
tests:
  - name: heavy
    steps:
      - { request: { path: /x, keys: { tier: heavy } }, expect: { allowed: true } }
      - { request: { path: /x, keys: { tier: heavy } }, expect: { allowed: false } }
",
    );
    let output = run(["test", &tests.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Guards a form that is written by hand, a body without a type, and a key that is blank where it cannot be read.
#[test]
fn a_form_is_sent_as_one_and_a_body_that_is_no_json_is_said_to_be_none() {
    let folder = Folder::new("why-form");
    let keyed = POLICY.replace("account: { json: /account,", "account: { form: user,");
    let policy = folder.file("policy.yaml", keyed).display().to_string();
    let url = "http://api.example.com/otp/verify";
    let form = ["--form", "user=Ada & Söhne", "--form", "code=1"];
    let output = run(["why", &policy, "POST", url].iter().chain(&form));
    let told = text(&output.stdout);
    assert!(told.contains("verify/per-account: account = \"ada & söhne\" (form field user)"), "{output:?}");
    let output = run(["why", &policy, "POST", url, "--form", "user=a", "--json", "{}"]);
    assert_eq!(output.status.code(), Some(2), "a request has one body: {output:?}");
    let (told, _) = why("why-no-json", &["POST", url, "--json", "account=ada"]);
    let line = "    verify/per-account: cannot look: account is in a body that is not valid JSON\n";
    assert!(told.contains(line), "{told}");
}

#[test]
fn what_is_no_request_is_told_with_a_remedy() {
    let table: [(&[&str], &str); 6] = [
        (&["otp/verify"], "write a path from its slash on"),
        (&["P OST", "/x"], "\"P OST\" is not a method"),
        (&["/x", "-H", "nonsense"], "write `name: value`"),
        (&["/x", "--key", "acount=ada"], "no limit reads a key acount; there are account, client"),
        (&["/x", "--key", "account"], "write name=value"),
        (&["/x", "--at", "yesterday"], "write a date, such as 2027-01-31"),
    ];
    for (args, message) in table {
        let (told, code) = why("why-none", args);
        assert!(told.contains(message), "{args:?}: {told}");
        assert_eq!(code, 2, "{args:?}");
    }
}

#[test]
fn programs_read_the_explanation_as_json() {
    let (told, code) =
        why("why-json", &["/reports/7", "--client", "192.0.2.7", "--repeat", "1", "--output", "json"]);
    let why: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (code, &why["status"], &why["limit"]),
        (0, &200.into(), &"reports/per-client".into()),
        "{why}"
    );
    let limit = &why["rules"][1]["limits"][0];
    assert_eq!(limit["key"][0]["value"], "192.0.2.0/24");
    assert_eq!((&limit["units"], &limit["state"]["remaining"]), (&1.into(), &8.into()), "{limit}");
}
