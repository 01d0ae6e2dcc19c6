//! Policies read from the disk, with everything they refer to.

use std::fs;
use std::path::PathBuf;

use tidegate::files::{load, load_as_written, load_embedded, load_stream};

const TEAM: &str = "tidegate: 1
rules:
  - name: charge
    match: { path: /pay }
    limits: [{ name: l, says: Ten a minute., key: global, sliding_log: { limit: 10, window: 1m } }]
";
const POLICY: &str =
    "tidegate: 1\nhealth: { listen: \"${TIDEGATE_TEST_UNSET:-8084}\" }\ninclude: { pay: teams/pay.yaml }\n";

/// A folder that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(path.join("teams")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Guards paths, which are meant from the policy file's folder wherever the process runs, and the list of what a
/// watcher watches.
#[test]
fn a_policy_is_read_with_what_it_includes() {
    let folder = Folder::new("includes");
    let team = folder.file("teams/pay.yaml", TEAM);
    let file = folder.file("policy.yaml", POLICY);
    let loaded = load(&file).unwrap();
    assert_eq!(loaded.policy.rules[0].limits[0].name, "pay/charge/l");
    assert_eq!(loaded.policy.health.unwrap().listen.port(), 8084);
    let paths: Vec<_> = loaded.sources.iter().map(|source| source.path.clone()).collect();
    assert_eq!(paths, [file, team]);
    let from_stream = load_stream("<stdin>", POLICY.as_bytes(), &folder.0).unwrap();
    assert_eq!(from_stream.sources, loaded.sources[1..], "what was given as bytes is no file");
}

/// Guards certificates and tokens against being looked for where the process was started, while everything else of the
/// policy is looked for beside it.
#[test]
fn every_path_is_meant_from_the_policys_folder() {
    let folder = Folder::new("paths");
    let text = "tidegate: 1
gateway: { listen: 127.0.0.1:0, upstream: \"http://127.0.0.1:3000\", tls: { certificate: tls/chain.pem, key: /etc/key.pem } }
api: { listen: 127.0.0.1:0, token_file: api.token }
admin: { listen: 127.0.0.1:0, token_file: ../admin.token }
fallback: { limits: [{ name: l, says: Ten a minute., key: global, sliding_log: { limit: 10, window: 1m } }] }
";
    let file = folder.file("policy.yaml", text);
    let paths = |loaded: tidegate::files::Loaded| loaded.policy.files().cloned().collect::<Vec<_>>();
    let beside = |path: &str| folder.0.join(path);
    let expected = ["tls/chain.pem", "/etc/key.pem", "api.token", "../admin.token"];
    assert_eq!(paths(load(&file).unwrap()), expected.map(beside));
    assert_eq!(paths(load_embedded(&file).unwrap()), expected.map(beside));
    assert_eq!(paths(load_stream("<stdin>", text.as_bytes(), &folder.0).unwrap()), expected.map(beside));
    assert_eq!(paths(load_as_written(&file).unwrap()), expected.map(PathBuf::from));
}

/// Guards a watcher against missing a change, and against waking for a file that was only touched.
#[test]
fn a_source_has_changed_when_its_bytes_have() {
    let folder = Folder::new("changes");
    let team = folder.file("teams/pay.yaml", TEAM);
    let loaded = load(&folder.file("policy.yaml", POLICY)).unwrap();
    let changed = || loaded.sources.iter().map(tidegate::files::Source::has_changed).collect::<Vec<_>>();
    folder.file("teams/pay.yaml", TEAM);
    assert_eq!(changed(), [false, false]);
    folder.file("teams/pay.yaml", TEAM.replace("Ten", "10"));
    assert_eq!(changed(), [false, true]);
    fs::remove_file(team).unwrap();
    assert_eq!(changed(), [false, true]);
}

/// Guards the way back: what was missing is watched as well, so that its arrival is seen.
#[test]
fn a_file_that_is_missing_is_among_the_sources() {
    let folder = Folder::new("missing");
    let error = load(&folder.file("policy.yaml", POLICY)).unwrap_err();
    assert!(!error.is_unreadable());
    assert!(
        error.to_string().contains("policy.yaml:3:17: the file teams/pay.yaml cannot be read: "),
        "{error}"
    );
    assert_eq!(error.problems().unwrap().list().len(), 1);
    let sources = error.sources();
    assert!(sources[1].path.ends_with("teams/pay.yaml") && !sources[1].has_changed());
    folder.file("teams/pay.yaml", TEAM);
    assert!(sources[1].has_changed() && !sources[0].has_changed());
}

/// Guards the two kinds of failure apart: nothing is known of what one says, the other is wrong.
#[test]
fn what_cannot_be_read_is_told_from_what_is_wrong() {
    let folder = Folder::new("unreadable");
    let unreadable = |name: &str, content: &[u8]| {
        let error = load(&folder.file(name, content)).unwrap_err();
        (error.is_unreadable(), error.problems().is_some(), error.to_string())
    };
    let (unread, problems, text) = unreadable("latin-1.yaml", b"tidegate: 1\nrules: \xe9\n");
    assert!(
        unread && !problems && text.ends_with(":2:8: this is not UTF-8; save the file as UTF-8"),
        "{text}"
    );
    let (unread, problems, _) = unreadable("broken.yaml", b"tidegate: [1\n");
    assert!(unread && problems);
    let (unread, problems, _) = unreadable("wrong.yaml", b"tidegate: 1\n");
    assert!(!unread && problems);
    let missing = load(&folder.0.join("missing.yaml")).unwrap_err();
    assert!(missing.is_unreadable() && missing.to_string().starts_with("cannot read "), "{missing}");
    let teams = load(&folder.0.join("teams")).unwrap_err();
    assert!(teams.to_string().ends_with("it is a folder"), "{teams}");
    let file = folder.file("team-latin-1.yaml", POLICY.replace("teams/pay", "teams/latin"));
    folder.file("teams/latin.yaml", b"tidegate: 1\n# \xe9\n");
    let error = load(&file).unwrap_err();
    assert!(
        !error.is_unreadable()
            && error.to_string().ends_with("latin.yaml:2:3: this is not UTF-8; save the file as UTF-8"),
        "{error}"
    );
}

/// Guards programs that hold the limiter themselves against having to name a port.
#[test]
fn an_embedded_policy_needs_no_face() {
    let folder = Folder::new("embedded");
    let file = folder.file("policy.yaml", TEAM);
    assert!(load_embedded(&file).is_ok() && load(&file).is_err());
}
