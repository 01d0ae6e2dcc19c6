//! `tidegate check`: what the review finds, its exit codes, and its forms for machines.

use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Folder, Running, run, run_with_input, text, tidegate};

/// A verify endpoint that is limited by address only: an error, unless it is accepted.
fn policy(accept: &str) -> String {
    format!(
        "tidegate: 1
health: {{ listen: 127.0.0.1:0 }}
codes: {{ otp: {{ digits: 6 }} }}
rules:
  - name: verify
    class: verify
    match: {{ method: POST, path: /verify }}
    guesses: otp
    on_store_failure: deny
{accept}    limits:
      - name: per-client
        says: Never more than 30 in any hour, per client.
        key: client_ip
        sliding_log: {{ limit: 30, window: 1h }}
"
    )
}

const ACCEPT: &str = "    accept: [{ id: verify-by-address-only, because: behind the VPN }]\n";

fn check(args: &[&str], policy: &str) -> Output {
    run_with_input(["check"].iter().chain(args).chain(&["-"]), policy.as_bytes())
}

/// Guards the exit code that CI goes by: an error that nobody accepted is 1, one that somebody did is 0.
#[test]
fn an_error_fails_the_check_until_the_rule_accepts_it_and_then_it_is_shown_with_its_reason() {
    let output = check(&[], &policy(""));
    let expected = "<stdin>:5:11: error: verify is limited by address only: 1,334 addresses try every code in a day; add a limit \
                    with the account as its key [verify-by-address-only]";
    assert!(text(&output.stdout).contains(expected), "{}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(1));
    let output = check(&[], &policy(ACCEPT));
    let expected = "<stdin>:5:11: accepted: verify is limited by address only: 1,334 addresses try every code in a day \
                    [verify-by-address-only]: behind the VPN";
    assert!(text(&output.stdout).contains(expected), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("1 accepted:\n"), "{}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn quiet_tells_errors_and_neither_warnings_nor_what_is_accepted() {
    let output = check(&["--quiet"], &policy(""));
    assert_eq!(text(&output.stdout).lines().count(), 1, "{output:?}");
    assert_eq!(output.status.code(), Some(1));
    let output = check(&["--quiet"], &policy(ACCEPT));
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(0)));
}

/// Guards the forms for machines against findings of one file only, and against leaving out files that are no policies.
#[test]
fn json_and_sarif_hold_what_was_found_in_every_file() {
    let folder = Folder::new("review-forms");
    let open = folder.file("open.yaml", policy("")).display().to_string();
    let accepted = folder.file("accepted.yaml", policy(ACCEPT)).display().to_string();
    let files = [open.as_str(), accepted.as_str(), "wrong.yaml"];
    let output = run(["check", "--format", "json"].iter().chain(&files));
    assert_eq!(output.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let of = |file: &str, id: &str| findings.iter().find(|one| one["file"] == file && one["id"] == id);
    let found = of(&open, "verify-by-address-only").unwrap();
    assert_eq!(
        (&found["line"], &found["severity"], &found["about"]),
        (&5.into(), &"error".into(), &"verify".into())
    );
    assert_eq!(found["accepted"], Value::Null);
    assert_eq!(of(&accepted, "verify-by-address-only").unwrap()["accepted"], "behind the VPN");
    assert!(of("wrong.yaml", "policy-problem").is_some(), "{value:#}");

    let output = run(["check", "--format", "sarif"].iter().chain(&files));
    assert_eq!(output.status.code(), Some(1));
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    let uri = |result: &Value| result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone();
    let suppressed: Vec<_> =
        results.iter().filter(|result| result["suppressions"].is_array()).map(uri).collect();
    assert_eq!(suppressed, [Value::from(format!("file://{accepted}"))]);
}

/// A slip of YAML that only standard error tells of leaves a code host with a failed check and nothing to show for it.
#[test]
fn a_file_that_is_no_yaml_is_an_annotation_too() {
    let output = check(&["--format", "github"], "rules: [\n");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told = text(&output.stdout);
    assert!(told.starts_with("::error file=<stdin>,line=2,col=1,"), "{told}");
    assert!(told.contains("this is not YAML"), "{told}");
    let output = check(&["--format", "json"], "rules: [\n");
    assert!(text(&output.stdout).contains("\"errors\":1"), "{output:?}");
}

#[test]
fn github_is_told_by_a_command_a_line() {
    let output = check(&["--format", "github"], &policy(""));
    let expected =
        "::error file=<stdin>,line=5,col=11,title=verify-by-address-only::verify is limited by address only";
    assert!(text(&output.stdout).lines().any(|line| line.starts_with(expected)), "{}", text(&output.stdout));
    assert!(text(&output.stdout).lines().all(|line| line.starts_with("::")), "{}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(1));
}

/// Guards against findings that keep a service down, and against logs that repeat what somebody has accepted.
#[test]
fn serve_and_reload_log_what_is_found_and_not_accepted_and_go_on() {
    let folder = Folder::new("review-served");
    let file = folder.file("policy.yaml", policy(""));
    let mut command = tidegate(["serve", "--no-watch", "--log", "json"]);
    command.arg(&file);
    let mut served = Running::start(command);
    let line: Value = serde_json::from_str(&served.log("verify-by-address-only")).unwrap();
    assert_eq!((&line["level"], &line["severity"]), (&"WARN".into(), &"error".into()), "{line}");
    assert!(line["place"].as_str().is_some_and(|place| place.ends_with("policy.yaml:5:11")), "{line}");
    for accept in [ACCEPT, ""] {
        folder.file("policy.yaml", policy(accept));
        served.signal(Signal::HUP);
        served.log("the policy was reloaded");
    }
    served.log("verify-by-address-only");
    let is_finding = |line: &&String| line.contains("\"id\":\"verify-by-address-only\"");
    let told = served.logged.iter().filter(is_finding).count();
    assert_eq!(told, 2, "{:#?}", served.logged);
    served.signal(Signal::TERM);
    assert_eq!(served.end().code(), Some(0));
}
