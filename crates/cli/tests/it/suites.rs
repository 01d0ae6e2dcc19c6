//! `tidegate test`: what passes, what is told of what does not, and what is refused.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::process::{Folder, run, text, tidegate};

const POLICY: &str = r"
tidegate: 1
keys:
  account: { json: /account, normalize: [trim, lowercase] }
rules:
  - name: verify
    match: { method: POST, path: /otp/verify }
    limits:
      - name: per-account
        says: Two at once, then one every ten seconds, per account.
        key: account
        token_bucket: { capacity: 2, refill: 1 per 10s }
  - name: closed
    match: { path: /internal/** }
    refuse: { status: 403, because: not for the public }
";

/// Writes a policy and a test file of these tests, and returns the file's path.
fn suite(folder: &Folder, tests: &str) -> String {
    folder.file("policy.yaml", POLICY);
    let path = folder.file("policy.test.yaml", format!("tidegate-test: 1\npolicy: policy.yaml\n{tests}"));
    path.display().to_string()
}

/// Runs a file of these tests; returns what was printed, with the folder left out, and the code.
fn told(name: &str, tests: &str, more: &[&str]) -> (String, i32) {
    let folder = Folder::new(name);
    let path = suite(&folder, tests);
    let output = run(["test", &path].iter().chain(more));
    let place = path.strip_suffix("policy.test.yaml").unwrap();
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr)).replace(place, "");
    (told, output.status.code().unwrap())
}

/// Every example that has a test file says what it does.
#[test]
fn the_examples_do_what_their_tests_say() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut files: Vec<_> = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".test.yaml"));
    files.sort();
    assert!(!files.is_empty());
    let args =
        ["test", "--strict"].map(OsStr::new).into_iter().chain(files.iter().map(|path| path.as_os_str()));
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn what_passes_is_told_with_the_rules_that_nothing_matched() {
    let tests = "\
tests:
  - name: two at once
    steps:
      - repeat: 2
        request: { method: POST, path: /otp/verify, json: { account: ada } }
        expect: { allowed: true }
";
    let expected = "\
policy.test.yaml: 1 test of policy.yaml
  ok      two at once
  never matched: closed
1 test, 2 requests: 1 ok, 0 failed
";
    assert_eq!(told("passes", tests, &[]), (expected.to_owned(), 0));
    assert_eq!(told("passes-strict", tests, &["--strict"]), (expected.to_owned(), 1));
}

/// Guards the diff: each wrong expectation, with what came instead and what is behind it.
#[test]
fn what_goes_otherwise_is_told_with_what_is_behind_it() {
    let tests = "\
tests:
  - name: a third one waits
    steps:
      - repeat: 2
        request: { method: POST, path: /otp/verify, json: { account: ada } }
      - at: 1s
        request: { method: POST, path: /otp/verify, json: { account: Ada } }
        expect: { status: 200, retry_after: 8s, matches: [verify, closed], remaining: { verify/per-account: 1 } }
";
    let expected = "\
policy.test.yaml: 1 test of policy.yaml
  FAILED  a third one waits
    policy.test.yaml:8:9: step 2 at 1s: POST /otp/verify
      status                        expected  200
                                    got       429
      retry_after                   expected  8s
                                    got       9s
      matches                       expected  verify, closed
                                    got       verify
      remaining verify/per-account  expected  1
                                    got       0
      refused by verify/per-account: 0 of 2 left, again in 9s (“Two at once, then one every ten seconds, per account.”)
      verify applies by /otp/verify
        verify/per-account: account = \"ada\" (JSON body /account); 0 of 2 left
      closed is for /internal/**, and this is /otp/verify
  never matched: closed
1 test, 3 requests: 0 ok, 1 failed
";
    assert_eq!(told("differs", tests, &[]), (expected.to_owned(), 1));
}

/// Guards every kind of expectation against one that holds whatever comes.
#[test]
fn each_expectation_can_fail() {
    let wrong = [
        "admitted: 1",
        "allowed: false",
        "status: 201",
        "limit: none",
        "says: Something else.",
        "retry_after: 1s",
        "retry_after: never",
        "delay: 1ms",
        "because: not for the public",
        "matches: []",
        "refused_by: verify/per-account",
        "would_refuse: [verify/per-account]",
        "skipped: [verify/per-account]",
        "remaining: { verify/per-account: 2 }",
        "cost: { verify/per-account: 2 }",
        "keys: { account: bea }",
        "keys: { account: ~ }",
    ];
    for expect in wrong {
        let tests = format!(
            "tests: [{{ name: t, steps: [{{ expect: {{ {expect} }}, \
             request: {{ method: POST, path: /otp/verify, json: {{ account: ada }} }} }}] }}]\n"
        );
        let tests = if expect.starts_with("admitted") {
            tests.replace("expect:", "repeat: 2, expect:")
        } else {
            tests
        };
        let (told, code) = told("each", &tests, &[]);
        assert_eq!(code, 1, "{expect}: {told}");
        let field = expect.split(':').next().unwrap();
        assert!(told.contains(&format!("\n      {field}")), "{expect}: {told}");
    }
}

#[test]
fn a_request_that_is_turned_away_is_told_why() {
    let tests = "\
defaults: { path: /internal/metrics }
tests:
  - name: closed
    steps:
      - expect: { status: 403, because: not for the public, matches: closed, limit: none }
      - request: { path: /a%2fb }
        expect: { status: 400, matches: [] }
      - request: { method: POST, path: /otp/verify }
        expect: { allowed: true, skipped: verify/per-account, keys: { account: ~ } }
";
    let (told, code) = told("turned-away", tests, &["--strict"]);
    assert_eq!(code, 0, "{told}");
}

/// Guards against files whose slips are taken for expectations that hold.
#[test]
fn slips_are_told_with_their_place_and_a_remedy() {
    let table = [
        ("tests: []\n", "3:8: there is no test; write at least one"),
        ("", "1:1: the test file has no `tests`; "),
        ("tests: [{ name: t, steps: [{ request: {} }] }]\n", "3:27: the test \"t\" expects nothing; "),
        ("tests: [{ name: t, steps: [{ expect: {} }] }]\n", "3:38: expect says nothing; "),
        (
            "tests: [{ name: t, steps: [{ expct: {} }] }]\n",
            "unknown key \"expct\" in a step; did you mean \"expect\"?",
        ),
        (
            "tests: [{ name: t, steps: [{ at: 10, expect: { allowed: true } }] }]\n",
            "3:34: at \"10\" is not a time; it has no unit; did you mean 10s?",
        ),
        (
            "tests: [{ name: t, steps: [{ at: 9s, expect: { allowed: true } }, { at: 8s }] }]\n",
            "3:73: `at` goes back behind the request before; write at least 9s",
        ),
        (
            "tests: [{ name: t, steps: [{ request: { json: { on: NO } }, expect: { allowed: true } }] }]\n",
            "write \"NO\" in quotes, if that is meant",
        ),
        (
            "tests: [{ name: t, steps: [{ expect: { limit: verify/per-acount } }] }]\n",
            "3:47: the policy has no limit \"verify/per-acount\"; did you mean \"verify/per-account\"?",
        ),
        (
            "tests: [{ name: t, steps: [{ expect: { matches: [verfy, closed] } }] }]\n",
            "3:50: the policy has no rule \"verfy\"; did you mean \"verify\"?",
        ),
        (
            "tests: [{ name: t, steps: [{ request: { keys: { acount: a } }, expect: { allowed: true } }] }]\n",
            "the policy has no key that is read \"acount\"; did you mean \"account\"?",
        ),
        (
            "start: 2027-02-30\ntests: [{ name: t, steps: [{ expect: { allowed: true } }] }]\n",
            "3:8: start \"2027-02-30\" is not an instant between 1970 and 2112; ",
        ),
        (
            "tests: [{ name: t, steps: [{ repeat: 2, expect: { admitted: 1, allowed: true } }] }]\n",
            "let it stand alone",
        ),
        (
            "tests: [{ name: t, steps: [{ request: { json: {}, body: x }, expect: { allowed: true } }] }]\n",
            "`body` is beside `json`, and a request has one body",
        ),
    ];
    for (tests, message) in table {
        let (told, code) = told("slips", tests, &[]);
        assert!(told.contains(message), "{tests}: {told}");
        assert_eq!(code, 2, "{tests}: {told}");
    }
}

#[test]
fn a_policy_that_cannot_be_used_and_a_filter_that_finds_nothing_are_told() {
    let folder = Folder::new("unusable");
    let path = folder.file(
        "lonely.test.yaml",
        "tidegate-test: 1\npolicy: gone.yaml\ntests: [{ name: t, steps: [{ expect: { allowed: true } }] }]\n",
    );
    let output = run([OsStr::new("test"), path.as_os_str()]);
    let errors = text(&output.stderr);
    assert!(
        errors.contains("lonely.test.yaml:2:9: cannot read ") && errors.contains("gone.yaml"),
        "{errors}"
    );
    assert!(errors.contains("; write its path from the folder of this file"), "{errors}");
    assert_eq!(text(&output.stdout), "no test was run: 1 file cannot be used\n");
    assert_eq!(output.status.code(), Some(2));
    let sound = suite(&folder, "tests: [{ name: t, steps: [{ expect: { allowed: true } }] }]\n");
    let output = run([OsStr::new("test"), path.as_os_str(), sound.as_ref()]);
    let last = text(&output.stdout).lines().last().unwrap();
    assert_eq!(last, "1 test, 1 request: 1 ok, 0 failed; 1 file cannot be used");
    let output = run([OsStr::new("test"), path.as_os_str(), "--output".as_ref(), "json".as_ref()]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["unusable"][0]["file"], path.display().to_string());
    let error = found["unusable"][0]["errors"][0].as_str().unwrap();
    assert!(error.contains("lonely.test.yaml:2:9: cannot read "), "programs are not told why: {found}");
    let tests =
        "tests: [{ name: closed, steps: [{ request: { path: /internal/x }, expect: { status: 403 } }] }]\n";
    let (none, code) = told("filter", tests, &["--filter", "open"]);
    assert!(none.contains("no test's name contains \"open\"") && code == 2, "{none}");
    let (one, code) = told("filter", tests, &["--filter", "clos"]);
    assert!(one.contains("1 test, 1 request: 1 ok, 0 failed") && code == 0, "{one}");
}

/// Guards a request that passes against being told as one that was turned away, and a key that cannot be read against
/// an empty place where it stands.
#[test]
fn what_came_instead_of_a_wait_is_said() {
    let tests = "\
tests:
  - name: passes
    steps:
      - request: { method: POST, path: /otp/verify, json: { account: ada } }
        expect: { retry_after: 10s }
  - name: bad
    steps:
      - request: { method: POST, path: /otp/verify, body: 'no json' }
        expect: { retry_after: 10s }
";
    let (told, code) = told("instead", tests, &[]);
    assert!(
        told.contains("retry_after  expected  10s\n                   got       it was allowed\n"),
        "{told}"
    );
    assert!(told.contains("got       no wait: it was turned away, and not as one too many\n"), "{told}");
    assert!(told.contains("verify/per-account: could not look: account is in a body"), "{told}");
    assert_eq!(code, 1);
}

#[test]
fn programs_read_the_findings_as_json() {
    let tests =
        "tests: [{ name: t, steps: [{ request: { path: /internal/x }, expect: { status: 404 } }] }]\n";
    let (told, code) = told("json", tests, &["--output", "json"]);
    let found: Value = serde_json::from_str(&told).unwrap();
    let file = &found["files"][0];
    assert_eq!((&file["failed"], &file["never_matched"][0]), (&1.into(), &"verify".into()), "{found}");
    let miss = &file["tests"][0]["misses"][0];
    assert_eq!(miss["differences"][0]["expected"], "404");
    assert_eq!(miss["differences"][0]["got"], "403");
    assert_eq!(miss["explain"], "refused by the rule closed: not for the public");
    assert_eq!(code, 1);
}

/// A limit that counts failures, for what the answers of the service behind change.
const FAILURES: &str = r"
tidegate: 1
keys:
  account: { json: /account }
rules:
  - name: verify
    match: { method: POST, path: /otp/verify }
    limits:
      - name: wrong
        says: Never more than nine wrong codes in any 24 hours, per account.
        key: account
        count: { failures: true, success: { status: [200] } }
        sliding_log: { limit: 9, window: 24h }
";

/// Guards the settling of failures: what is answered later, at once, with a success, or never.
#[test]
fn answers_settle_what_counts_failures_when_they_come() {
    let tests = "\
tidegate-test: 1
policy: policy.yaml
defaults: { method: POST, path: /otp/verify, json: { account: ada } }
tests:
  - name: guesses made at once cannot pass unseen
    steps:
      - { repeat: 64, answer: { status: 401, after: 2s }, expect: { admitted: 9 } }
  - name: even right ones wait for their answers
    steps:
      - { repeat: 64, answer: { status: 200, after: 2s }, expect: { admitted: 9 } }
      - { at: 1999ms, peek: true, expect: { status: 429 } }
      - { at: 2s, peek: true, expect: { allowed: true, remaining: { verify/wrong: 9 } } }
  - name: a thousand right ones cost nothing
    steps:
      - { repeat: 1000, expect: { status: 200 }, after: { remaining: { verify/wrong: 9 } } }
  - name: whoever leaves has spent a guess
    steps:
      - { answer: never, expect: { allowed: true }, after: { remaining: { verify/wrong: 8 } } }
      - { at: 1h, answer: 401, expect: { status: 401 }, after: { remaining: { verify/wrong: 7 } } }
      - { at: 24h, peek: true, expect: { remaining: { verify/wrong: 8 } } }
";
    let folder = Folder::new("failures");
    folder.file("policy.yaml", FAILURES);
    let path = folder.file("policy.test.yaml", tests);
    let output = run([OsStr::new("test"), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Returns the fenced blocks of docs/testing.md, without their openings.
fn blocks_of_the_page() -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md")).unwrap();
    // What stands between fences is every second part; its first line is the opening.
    let parts = page.split("```").skip(1).step_by(2);
    parts.map(|part| part.split_once('\n').unwrap().1.to_owned()).collect()
}

/// Guards the page against examples that do not run, and outputs that nobody gets.
#[test]
fn the_page_s_examples_run_as_it_shows() {
    let blocks = blocks_of_the_page();
    let find = |first: &str| blocks.iter().find(|block| block.starts_with(first)).unwrap();
    let folder = Folder::new("page");
    folder.file("policy.yaml", find("# policy.yaml"));
    let suite = find("# policy.test.yaml");
    let run_in = |args: &[&str]| {
        let output = tidegate(args).current_dir(folder.path("")).output().unwrap();
        (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code().unwrap())
    };
    folder.file("policy.test.yaml", suite);
    let (told, code) = run_in(&["test", "--strict", "policy.test.yaml"]);
    assert_eq!(code, 0, "{told}");
    let wrong = suite.replace("limit: verify/per-account, retry_after: 10s", "retry_after: 9s");
    assert_ne!(&wrong, suite);
    folder.file("policy.test.yaml", wrong);
    assert_eq!(run_in(&["test", "policy.test.yaml"]), (find("policy.test.yaml: 2 tests").clone(), 1));
    let why = [
        "why",
        "policy.yaml",
        "POST",
        "/otp/verify",
        "--client",
        "192.0.2.7",
        "--json",
        "{\"account\":\"ada\"}",
    ];
    let why = run_in(&[&why[..], &["--repeat", "4"]].concat());
    assert_eq!(why, (find("POST /otp/verify from").clone(), 0));
}
