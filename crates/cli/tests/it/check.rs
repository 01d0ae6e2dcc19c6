//! `tidegate check`: exit codes, the problems' form, the table of limits.

use std::io;
use std::path::Path;

use crate::process::{Folder, run, run_with_input, text, tidegate};

#[test]
fn a_sound_policy_is_shown_with_its_numbers_beside_its_words() {
    let output = run(["check", "clean.yaml"]);
    let expected = "\
OK: 2 rules, 4 limits

  LIMIT               KEY        NUMBERS                                         WORDS
  verify/per-account  account    token_bucket: capacity 4, refill 1 per 10s      You can try four times quickly, then once every ten seconds, per account.
  verify/per-day      account    sliding_log: limit 9, window 24h                Never more than nine in any 24 hours, per account.
  rest/per-client     client_ip  sliding_counter: limit 100, window 1m (shadow)  Up to 100 a minute, per client.
  rest/paced          global     leaky_bucket: rate 5 per 1s, queue 10           One every 200 milliseconds, with up to ten waiting, for everyone together.
";
    let stdout = text(&output.stdout);
    let table = stdout.split("\nthe review finds").next().unwrap();
    assert_eq!(table, expected);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

/// Guards the table against leaving out what refuses without counting.
#[test]
fn a_rule_that_refuses_stands_among_the_limits() {
    let policy = b"tidegate: 1
health: { listen: 127.0.0.1:0 }
rules:
  - { name: closed, match: { path: /internal/** }, refuse: { status: 403, because: Not for the public. } }
  - { name: gone, match: { path: /v1/** }, mode: shadow, refuse: { status: 410, because: Use v2. } }
";
    let output = run_with_input(["check", "-"], policy);
    let expected = "\
OK: 2 rules, 0 limits

  LIMIT   KEY  NUMBERS                        WORDS
  closed  -    refuses all with 403           Not for the public.
  gone    -    refuses all with 410 (shadow)  Use v2.
";
    assert_eq!(text(&output.stdout), expected);
}

/// Guards against a dozen errors about a file that is sound, and only given to the wrong command.
#[test]
fn a_test_file_is_no_policy_and_a_policy_no_test_file() {
    let folder = Folder::new("wrong-kind");
    let tests = folder.file("p.test.yaml", "tidegate-test: 1\npolicy: p.yaml\ntests: []\n");
    let tests = tests.display().to_string();
    let output = run(["check", &tests]);
    let expected =
        format!("{tests}:1:16: this is a test file, and a policy is wanted; run `tidegate test {tests}`\n");
    assert_eq!((text(&output.stdout), output.status.code()), (expected.as_str(), Some(1)));
    let output = run(["test", "clean.yaml"]);
    assert!(text(&output.stderr).contains("clean.yaml:1:"), "{output:?}");
    assert!(text(&output.stderr).contains("this is a policy, and a test file is wanted"), "{output:?}");
    assert!(text(&output.stderr).contains("; run `tidegate check clean.yaml`"), "{output:?}");
    assert_eq!(text(&output.stderr).lines().count(), 1, "{output:?}");
}

#[test]
fn every_problem_is_told_at_once_each_with_its_place() {
    let output = run(["check", "wrong.yaml"]);
    let stdout = text(&output.stdout);
    let mut places: Vec<_> = stdout.lines().map(|line| line.split(": ").next().unwrap()).collect();
    places.dedup();
    assert_eq!(places, ["wrong.yaml:4:5", "wrong.yaml:10:14", "wrong.yaml:11:38"], "{stdout}");
    let last = stdout.lines().last().unwrap();
    assert_eq!(last, "wrong.yaml:11:38: unknown key \"refil\" in token_bucket; did you mean \"refill\"?");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn quiet_says_nothing_of_a_sound_policy_and_everything_of_a_wrong_one() {
    let sound = run(["check", "-q", "clean.yaml"]);
    assert_eq!((text(&sound.stdout), sound.status.code()), ("", Some(0)));
    let wrong = run(["check", "--quiet", "wrong.yaml"]);
    assert_eq!(wrong.stdout, run(["check", "wrong.yaml"]).stdout);
    assert_eq!(wrong.status.code(), Some(1));
}

#[test]
fn of_several_files_each_is_told_and_the_worst_decides() {
    let output = run(["check", "clean.yaml", "wrong.yaml", "missing.yaml", "clean.yaml"]);
    let stdout = text(&output.stdout);
    assert_eq!(stdout.matches("clean.yaml: OK: 2 rules, 4 limits\n").count(), 2, "{stdout}");
    assert!(stdout.contains("wrong.yaml:10:14: "), "{stdout}");
    assert!(text(&output.stderr).starts_with("error: cannot read missing.yaml: "), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_cannot_be_read_is_another_code_than_what_is_wrong() {
    let folder = Folder::new("unreadable");
    let latin_1 = folder.file("latin-1.yaml", b"tidegate: 1\nrules: \xe9\n");
    let cases = [
        ("missing.yaml".to_owned(), "cannot read missing.yaml: "),
        (".".to_owned(), "cannot read .: it is a folder"),
        (latin_1.display().to_string(), ":2:8: this is not UTF-8; save the file as UTF-8"),
        ("not-yaml.yaml".to_owned(), "not-yaml.yaml:3:1: "),
        ("/dev/zero".to_owned(), "/dev/zero is too long for a policy file"),
    ];
    for (path, message) in cases {
        let output = run(["check", &path]);
        assert!(text(&output.stderr).contains(message), "{path}: {output:?}");
        assert_eq!(text(&output.stdout), "", "{path}");
        assert_eq!(output.status.code(), Some(2), "{path}");
    }
}

#[test]
fn a_dash_reads_standard_input() {
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/policies");
    let clean = std::fs::read(format!("{policies}/clean.yaml")).unwrap();
    let output = run_with_input(["check", "-"], &clean);
    assert!(text(&output.stdout).starts_with("OK: 2 rules, 4 limits\n"), "{output:?}");
    let output = run_with_input(["check", "-"], b"tidegate: 1\n");
    assert!(text(&output.stdout).starts_with("<stdin>:1:1: "), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_examples_are_sound() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files: Vec<_> = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    let is_policy = |path: &Path| {
        let stem = path.file_stem().map(Path::new);
        path.extension().is_some_and(|end| end == "yaml")
            && stem.is_none_or(|stem| stem.extension().is_none())
    };
    let policies: Vec<_> = files.iter().filter(|path| is_policy(path)).collect();
    assert!(!policies.is_empty());
    let output =
        run([std::ffi::OsStr::new("check")].into_iter().chain(policies.iter().map(|path| path.as_os_str())));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// `check … | head` once ended other programs of this kind in a panic.
#[test]
fn a_reader_that_has_gone_changes_nothing() {
    for (args, code) in
        [(["check", "clean.yaml"], 0), (["check", "wrong.yaml"], 1), (["demo", "--print-policy"], 0)]
    {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = tidegate(args).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}

/// A full disk is a fault, unlike a reader that has gone: a report that was cut short must not look whole.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = tidegate(["check", "clean.yaml"]).stdout(full).output().unwrap();
    assert!(text(&output.stderr).starts_with("error: cannot write to standard output: "), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
}

/// Guards a lockout against passing for the ten attempts in half an hour that its numbers say, and a limit on failures
/// against passing for something that only hurts whoever guesses.
#[test]
fn what_passes_just_under_a_lockout_and_what_a_denial_costs_is_told() {
    let told = |example: &str| {
        let output = run(["check".to_owned(), format!("../../../../../examples/{example}.yaml")]);
        let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        lines
            .into_iter()
            .filter(|line| line.contains("in any 24 hours and") || line.contains("by whoever"))
            // The review tells it in its own words.
            .filter(|line| !line.contains("[lockout-weapon]"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told("login-pci"),
        [
            "  login/lock: at most 18 in any 30m; who stays just under it gets up to 440 in any 24 hours and is never locked; \
          480 requests keep a key refused for 24 hours, by whoever can name it"
        ]
    );
    assert_eq!(
        told("otp-payments"),
        ["  verify/wrong-per-day: 9 requests keep a key refused for 24 hours, by whoever can name it"]
    );
    assert!(told("minimal").is_empty(), "nothing there counts failures");
}
