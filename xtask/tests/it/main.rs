//! Runs the real `xtask` on a small workspace made for it, through the real cargo and git.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const POLICY_RULES: &str = r#"
disallowed-methods = [
    "std::time::Instant::now", "std::time::SystemTime::now", "std::env::args", "std::env::var",
    "std::env::var_os", "std::env::vars", "std::thread::sleep", "std::thread::spawn",
]
disallowed-types = [
    "std::time::Instant", "std::time::SystemTime", "std::collections::hash_map::RandomState",
]
"#;

/// A workspace of one crate that passes every check, in a folder of its own.
fn tidy_workspace(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    write(
        &root,
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n[workspace.lints]\n",
    );
    write(
        &root,
        "crates/policy/Cargo.toml",
        "[package]\nname = \"tidegate-policy\"\nedition = \"2024\"\n\n[lints]\nworkspace = true\n",
    );
    write(&root, "crates/policy/src/lib.rs", "");
    write(&root, "crates/policy/clippy.toml", POLICY_RULES);
    write(&root, "CHANGELOG.md", "## [Unreleased]\n");
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&root).status().unwrap();
    assert!(git.success());
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn xtask(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).current_dir(root).output().unwrap()
}

#[test]
fn a_tidy_workspace_passes_in_silence() {
    let root = tidy_workspace("tidy");
    let output = xtask(&root, &["tidy"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn every_kind_of_fault_is_listed_in_one_run_with_its_file() {
    let root = tidy_workspace("untidy");
    let up = "[package]\nname = \"tidegate-store\"\nedition = \"2024\"\n\n[dependencies]\n\
        tidegate-policy = { path = \"../policy\" }\n";
    write(&root, "crates/store/Cargo.toml", up);
    write(&root, "crates/store/src/lib.rs", &format!("{}fn f() {{ todo!() }}\n", "//\n".repeat(400)));
    write(&root, "crates/policy/clippy.toml", "");
    write(&root, "docs/dependencies.md", "| `bytes` | bodies |\n");
    write(&root, "CHANGELOG.md", &format!("[a](gone.md)\n/{}/x\n", "root"));
    let output = xtask(&root, &["tidy"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in [
        "crates/store/Cargo.toml: tidegate-store -> tidegate-policy",
        "crates/store/Cargo.toml: the workspace's lints are not inherited",
        "crates/store/src/lib.rs: 401 lines",
        "crates/store/src/lib.rs:401: `todo!`",
        "docs/dependencies.md: `bytes`",
        "crates/policy/clippy.toml: `std::time::Instant::now` is not banned",
        "CHANGELOG.md:2: it names",
        "CHANGELOG.md:1: there is no `gone.md`",
        "CHANGELOG.md: no place for what comes next",
    ] {
        assert!(said.contains(part), "{part} is missing from:\n{said}");
    }
}

#[test]
fn a_file_that_git_ignores_is_not_checked() {
    let root = tidy_workspace("ignoring");
    write(&root, ".gitignore", "/target\n");
    write(&root, "target/notes.md", "[a](gone.md)\n");
    assert!(xtask(&root, &["tidy"]).status.success());
}

#[test]
fn an_unknown_task_fails_with_the_usage() {
    let root = tidy_workspace("usage");
    let output = xtask(&root, &["tidily"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage:"));
}
