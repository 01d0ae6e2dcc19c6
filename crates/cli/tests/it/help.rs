//! What teaches: help, version, and what is made from the same definition.

use crate::process::{run, text};

/// Commands that explain themselves with an example.
const COMMANDS: [&str; 17] = [
    "serve",
    "check",
    "bound",
    "explain",
    "threat-model",
    "attack",
    "compare",
    "loadtest",
    "cases",
    "test",
    "why",
    "demo",
    "words",
    "import",
    "override",
    "doctor",
    "store",
];

#[test]
fn help_names_each_command_with_an_example_the_exit_codes_and_the_docs() {
    let output = run(["--help"]);
    let help = text(&output.stdout);
    for needle in [
        "\n  serve ",
        "\n  check ",
        "\n  bound ",
        "\n  test ",
        "\n  loadtest ",
        "\n  why ",
        "\n  demo ",
        "\n  words ",
        "\n  override ",
        "\n  doctor ",
        "\n  store ",
        "tidegate serve policy.yaml",
        "tidegate check policy.yaml",
        "tidegate bound 'sliding_log",
        "tidegate test policy.test.yaml",
        "tidegate why policy.yaml",
        "tidegate demo",
        "Exit codes:",
        "docs/policy.md",
    ] {
        assert!(help.contains(needle), "{needle:?} is not in:\n{help}");
    }
    assert!(!help.contains("completions"), "what packagers use is not for everybody:\n{help}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn each_command_explains_itself() {
    for command in COMMANDS {
        let output = run([command, "--help"]);
        assert!(text(&output.stdout).contains(&format!("Example:\n  tidegate {command} ")), "{output:?}");
    }
}

#[test]
fn no_command_and_a_wrong_one_are_usage_errors() {
    for args in [
        &[][..],
        &["sevre"],
        &["serve"],
        &["check"],
        &["bound"],
        &["explain"],
        &["threat-model"],
        &["test"],
        &["why", "clean.yaml"],
        &["demo", "--listen", "127.0.0.1"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            text(&output.stderr).contains("--help") || text(&output.stderr).contains("Usage"),
            "{args:?}: {output:?}"
        );
    }
}

#[test]
fn the_version_is_the_package_s() {
    let output = run(["--version"]);
    assert_eq!(text(&output.stdout), concat!("tidegate ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(["completions", shell]);
        let script = text(&output.stdout);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    let whole = run(["man"]);
    assert!(text(&whole.stdout).contains(r"tidegate\-serve(1)"), "{}", text(&whole.stdout));
    let one = run(["man", "serve"]);
    assert!(text(&one.stdout).contains(".TH tidegate-serve 1"), "{}", text(&one.stdout));
    assert_eq!(run(["man", "sevre"]).status.code(), Some(1));
}
