//! What is found stays with whoever asked, also where a file for it cannot be written.

use crate::process::{Folder, run, text};

/// Guards against minutes of attacks or load whose figures go with the disk.
#[test]
fn a_page_that_cannot_be_written_costs_nothing_but_the_page() {
    let limit = "fixed_window: {limit: 5, window: 30s}";
    let folder = Folder::new("lost-pages");
    let policy = folder.file("policy.yaml", format!("tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }}\nrules:\n  - {{ name: a, match: {{ path: /** }}, limits: [{{ name: b, says: \"5 per 30 seconds, per client.\", key: client_ip, {limit} }}] }}\n"));
    let policy = policy.to_str().unwrap();
    let test = ["loadtest", "memory:", "--duration", "200ms", "--json", "/dev/full", "--html", "/dev/full"];
    let asked: [&[&str]; 3] = [
        &["compare", limit, "--html", "/dev/full"],
        &["attack", policy, "--quick", "--html", "/dev/full"],
        &test,
    ];
    for arguments in asked {
        let output = run(arguments.iter().copied());
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(said.lines().count() > 2 && error.contains("cannot write /dev/full"), "{said} {error}");
    }
}
