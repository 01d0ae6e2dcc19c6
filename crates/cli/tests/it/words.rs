//! `tidegate words`: sentences shown, and written into files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::process::{run, run_with_input, text};

const POLICY: &str = "\
tidegate: 1
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
rules:
  - name: verify   # guarded
    match: { path: /verify }
    limits:
      - name: per-account
        key: { json: /account }
        token_bucket: { capacity: 4, refill: 1 per 10s }
";

/// A policy in a folder of the test's own, which is gone with it.
struct OnDisk(PathBuf);

impl OnDisk {
    fn new(name: &str, policy: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tidegate-words-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("policy.yaml"), policy).unwrap();
        Self(folder)
    }

    fn path(&self) -> String {
        self.0.join("policy.yaml").to_str().unwrap().to_owned()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whoever only looks must not find the file changed; whoever writes must find the rest of it as it was.
#[test]
fn a_missing_sentence_is_shown_and_then_written_and_checked() {
    let policy = OnDisk::new("missing", POLICY);
    fs::set_permissions(policy.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let shown = run(["words", &policy.path()]);
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    assert!(text(&shown.stdout).starts_with("verify/per-account: "), "{shown:?}");
    assert_eq!(policy.text(), POLICY);
    let written = run(["words", &policy.path(), "--write"]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let says = text(&written.stdout).trim().strip_prefix("written: verify/per-account: ").unwrap();
    assert_eq!(
        policy.text(),
        POLICY.replace("        token_bucket", &format!("        says: \"{says}\"\n        token_bucket"))
    );
    assert_eq!(fs::metadata(policy.path()).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(&policy.0).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(run(["words", &policy.path()]).status.code(), Some(0));
    let checked = run(["check", &policy.path()]);
    assert!(text(&checked.stdout).contains(says), "{checked:?}");
}

/// A sentence that contradicts is somebody's intent: it gives way only where that is said.
#[test]
fn a_contradiction_is_refused_until_the_numbers_are_said_to_win() {
    let wrong = POLICY.replace(
        "        token_bucket",
        "        says: Five at once, then one a minute, per account.\n        token_bucket",
    );
    let policy = OnDisk::new("wrong", &wrong);
    let refused = run(["words", &policy.path(), "--write"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        text(&refused.stdout).contains("policy.yaml:9:15: verify/per-account is left as it is: "),
        "{refused:?}"
    );
    assert!(
        text(&refused.stdout).ends_with(", or run with --numbers-win verify/per-account\n"),
        "{refused:?}"
    );
    assert_eq!(policy.text(), wrong);
    let unknown = run(["words", &policy.path(), "--write", "--numbers-win", "verify/nobody"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    let written = run(["words", &policy.path(), "--write", "--numbers-win", "verify/per-account"]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert!(text(&written.stdout).contains("  in place of: Five at once, then one a minute, per account."));
    assert!(!policy.text().contains("Five at once"));
}

/// "Every limit has its sentence" of a file that `check` refuses for its sentences would end the search in the wrong place.
#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_written() {
    let two = POLICY.to_owned()
        + "      - { name: all, says: Never mind., key: global, sliding_log: { limit: 9, window: 1h } }\n";
    let policy = OnDisk::new("unread", &two);
    let written = run(["words", &policy.path(), "--write"]);
    assert_eq!(written.status.code(), Some(1), "{written:?}");
    let lines = text(&written.stdout);
    assert!(lines.starts_with("written: verify/per-account: "), "{lines}");
    assert!(lines.contains("verify/all is left as it is: it cannot be read: "), "{lines}");
    assert!(policy.text().contains("says: Never mind., key"), "{}", policy.text());
    let again = run(["words", &policy.path()]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(!text(&again.stdout).contains("every limit has its sentence"), "{again:?}");
    let through = run_with_input(["words", "-", "--write"], two.as_bytes());
    assert!(text(&through.stderr).contains("verify/all is left as it is"), "{through:?}");
    assert_eq!(text(&through.stdout), policy.text());
}

#[test]
fn standard_input_goes_to_standard_output() {
    let output = run_with_input(["words", "-", "--write"], POLICY.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("        says: \""), "{output:?}");
    assert_eq!(run(["words", "nowhere.yaml"]).status.code(), Some(2));
}
