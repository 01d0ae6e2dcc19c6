//! `tidegate import`: policies from other limiters' configurations.

use std::fs;

use crate::page::Page;
use crate::process::{Folder, Running, run, run_with_input, text, tidegate};

const SHOP: &str = "\
domain: shop
descriptors:
  - key: path
    value: \"/pay\u{1b}[31m\"
    rate_limit: { unit: minute, requests_per_unit: 5, replaces: [{ name: nobody }] }
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
";

/// Guards the way from the one file to the other: what is printed has to be a policy, and nothing else stands beside it.
#[test]
fn what_is_printed_is_a_policy_and_what_is_told_stands_beside_it() {
    let folder = Folder::new("import-printed");
    let path = folder.file("shop.yaml", SHOP).display().to_string();
    let output = run(["import", "envoy", &path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stderr);
    assert!(
        told.starts_with(&format!("{path}:5:74: no limit of the domain shop is called nobody; nothing is replaced\nthe review finds ")),
        "{told}"
    );
    assert!(told.contains("\n  <stdout>:"), "findings have their place in what was printed: {told}");
    assert!(!text(&output.stdout).contains('\u{1b}'), "{output:?}");
    let checked = run_with_input(["check", "-"], &output.stdout);
    assert!(text(&checked.stdout).starts_with("OK: 2 rules, 2 limits\n"), "{checked:?}");
    let piped = run_with_input(["import", "envoy", "-"], SHOP.as_bytes());
    assert_eq!(piped.stdout, output.stdout);
}

/// Guards somebody's policy against being overwritten.
#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let folder = Folder::new("import-force");
    let shop = folder.file("shop.yaml", SHOP).display().to_string();
    let policy = folder.path("policy.yaml");
    let name = policy.display().to_string();
    let first = run(["import", "envoy", &shop, "--output", &name]);
    assert_eq!((first.status.code(), text(&first.stdout)), (Some(0), ""), "{first:?}");
    assert!(text(&first.stderr).contains(&format!("\n  {name}:")), "{first:?}");
    let written = fs::read_to_string(&policy).unwrap();
    fs::write(&policy, "mine").unwrap();
    let second = run(["import", "envoy", &shop, "--output", &name]);
    assert_eq!(second.status.code(), Some(1), "{second:?}");
    assert_eq!(text(&second.stderr), format!("error: {name} is there already; --force replaces it\n"));
    assert_eq!(fs::read_to_string(&policy).unwrap(), "mine");
    let forced = run(["import", "envoy", &shop, "--output", &name, "--force"]);
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    assert_eq!(fs::read_to_string(&policy).unwrap(), written);
}

/// Guards against a policy that is half of what was meant.
#[test]
fn a_configuration_with_problems_becomes_nothing() {
    let folder = Folder::new("import-wrong");
    let wrong = folder.file("wrong.yaml", SHOP.replace("unit: second", "unit: secnd")).display().to_string();
    let shop = folder.file("shop.yaml", SHOP).display().to_string();
    let policy = folder.path("policy.yaml");
    let output = run(["import", "envoy", &shop, &wrong, "--output", &policy.display().to_string()]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{output:?}");
    let expected = format!(
        "{wrong}:1:9: the domain shop is here a second time, first at {shop}:1:9; move these descriptors into that file"
    );
    assert!(text(&output.stderr).starts_with(&expected), "{output:?}");
    assert!(
        text(&output.stderr)
            .contains(&format!("\n{wrong}:7:25: the unit \"secnd\" is not known; did you mean second?\n")),
        "{output:?}"
    );
    assert!(!policy.exists());
    let broken = run_with_input(["import", "envoy", "-"], b"domain: [\n");
    assert_eq!((broken.status.code(), text(&broken.stdout)), (Some(2), ""), "{broken:?}");
    assert_eq!(run(["import", "envoy", "nowhere.yaml"]).status.code(), Some(2));
}

/// Guards the other limiter: its policy is one as well, and is told of.
#[test]
fn a_section_of_a_service_is_imported_the_same_way() {
    let section =
        b"rate-limit:\n  fallback: { algorithm: FIXED_COUNTER, maxRequests: 1000, windowSize: 60 }\n";
    let output = run_with_input(["import", "rate-limit", "-"], section);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("the review finds "), "{output:?}");
    let checked = run_with_input(["check", "-"], &output.stdout);
    assert!(text(&checked.stdout).starts_with("OK: "), "{checked:?}");
    let wrong =
        run_with_input(["import", "rate-limit", "-"], b"rate-limit: { fallback: { algorithm: NONE } }\n");
    assert_eq!((wrong.status.code(), text(&wrong.stdout)), (Some(1), ""), "{wrong:?}");
}

/// Guards against a process that goes on with what a file said before, and against one that takes half of a file.
#[test]
fn a_file_that_is_served_is_watched_and_taken_whole_or_not_at_all() {
    let folder = Folder::new("import-watched");
    let shop = folder.file("shop.yaml", SHOP);
    let policy = "tidegate: 1\nenvoy: { listen: 127.0.0.1:0, files: shop.yaml }\n";
    let policy = folder.file("policy.yaml", policy).display().to_string();
    let mut running = Running::start(tidegate(["serve", "--log", "json", &policy]));
    running.log("the policy is in force");
    fs::write(&shop, SHOP.replace("unit: second", "unit: secnd")).unwrap();
    let refused = running.log("the unit \\\"secnd\\\" is not known");
    assert!(refused.contains("shop.yaml:7:25"), "{refused}");
    fs::write(&shop, SHOP.replace("requests_per_unit: 10 ", "requests_per_unit: 20 ")).unwrap();
    let told = running.log("was reloaded: ");
    assert!(told.contains("shop.remote_address/limit"), "{told}");
}

/// Guards what the page teaches.
#[test]
fn the_page_from_a_configuration_to_a_running_service_is_run() {
    Page::read("docs/import.md").on_free_ports([8082]).runs();
}
