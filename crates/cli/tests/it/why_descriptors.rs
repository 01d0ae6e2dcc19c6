//! `tidegate why` of calls of Envoy's: what is told of each descriptor, and what is no call.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Folder, run, text};

const POLICY: &str = r#"
tidegate: 1
envoy: { listen: 127.0.0.1:0 }
headers: [ietf]
keys:
  caller: { descriptor: remote_address }
rules:
  - name: checkout
    match: { domain: shop, descriptor: [ { key: path, value: "/checkout*", except: ["/checkout/health"] }, remote_address ] }
    limits:
      - name: per-caller
        says: Two in any minute, per caller.
        key: caller
        sliding_log: { limit: 2, window: 1m }
  - name: everyone
    match: { domain: shop, descriptor: [path] }
    limits:
      - name: all
        says: Three in any minute, for everyone together.
        key: global
        sliding_log: { limit: 3, window: 1m }
  - name: staff
    match: { domain: shop, descriptor: [staff] }
    envoy: { unlimited: true, replaces: [everyone] }
"#;

fn why(test: &str, args: &[&str]) -> (String, i32) {
    let folder = Folder::new(test);
    let policy = folder.file("policy.yaml", POLICY).display().to_string();
    let output = run(["why", &policy].iter().chain(args));
    (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code().unwrap())
}

/// Guards against a call told otherwise than a request: every rule, key and limit of each descriptor, then what Envoy gets.
#[test]
fn a_call_is_told_descriptor_by_descriptor() {
    let args = [
        "--domain",
        "shop",
        "--descriptor",
        "{ path: /checkout, remote_address: 192.0.2.7 }",
        "--descriptor",
        "{ path: \"/a,b=c\" }",
        "--repeat",
        "2",
        "--at",
        "2027-01-31T12:00:00Z",
    ];
    let expected = "\
domain shop, descriptor (path=/checkout, remote_address=192.0.2.7): over, by checkout/per-caller

+ checkout applies by domain shop, descriptor (path=/checkout* but not /checkout/health, remote_address)
    checkout/per-caller: caller = \"192.0.2.7\" (descriptor remote_address)
      for 1 unit: refuses for 1m; 0 of 2 left, whole again in 1m
      “Two in any minute, per caller.”

- everyone is for domain shop, descriptor (path), and this has 2 entries, not 1

- staff is for domain shop, descriptor (staff), and this has 2 entries, not 1

domain shop, descriptor (path=/a,b=c): ok, by everyone/all

- checkout is for domain shop, descriptor (path=/checkout* but not /checkout/health, remote_address), and this has 1 entry, not 2

+ everyone applies by domain shop, descriptor (path)
    everyone/all: everyone together
      for 1 unit: passes; 1 of 3 left, whole again in 1m
      “Three in any minute, for everyone together.”

- staff is for domain shop, descriptor (staff), and this has path where staff should be

refused by checkout/per-caller: 0 of 2 left, again in 1m (“Two in any minute, per caller.”)
Envoy is answered OVER_LIMIT
  retry-after: 60
  ratelimit-policy: \"checkout/per-caller\";q=2;w=60, \"everyone/all\";q=3;w=60
  ratelimit: \"checkout/per-caller\";r=0;t=60
";
    assert_eq!(why("why-call", &args), (expected.to_owned(), 0));
}

#[test]
fn programs_are_told_the_same() {
    let args = "--domain shop --descriptor {path:\\ /a} --descriptor [[staff,\\ ada]] --hits 2 --output json";
    let args: Vec<String> =
        args.replace("\\ ", "\u{1f}").split(' ').map(|arg| arg.replace('\u{1f}', " ")).collect();
    let (told, code) = why("why-call-json", &args.iter().map(String::as_str).collect::<Vec<_>>());
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert_eq!(code, 0);
    assert_eq!(told["code"], "OK");
    let status = |index: usize| told["descriptors"][index]["status"].clone();
    assert_eq!([status(0), status(1)], [json!("unmatched"), json!("unlimited")]);
    assert_eq!(told["descriptors"][1]["entries"], json!([["staff", "ada"]]));
    let replaced = &told["descriptors"][0]["rules"][1];
    assert_eq!(replaced["applies"], false);
    assert_eq!(replaced["because"], "applies by domain shop, descriptor (path), but staff replaces it");
}

#[test]
fn what_is_no_call_is_told_with_a_remedy() {
    let table: [(&[&str], &str); 7] = [
        (&["--domain", "shop"], "--descriptor <ENTRIES>"),
        (&["--descriptor", "{ path: /a }"], "--domain <DOMAIN>"),
        (&["/x", "--domain", "shop", "--descriptor", "{ path: /a }"], "cannot be used with"),
        (&["--domain", "shop", "--descriptor", "path=/a"], "a descriptor has to be a mapping"),
        (&["--domain", "shop", "--descriptor", ""], "there is no descriptor; write `{ path: /checkout }`"),
        (&["--domain", "shop", "--descriptor", "{ path: /a, path: /b }"], "path"),
        (&["/x", "--hits", "2"], "--domain <DOMAIN>"),
    ];
    for (args, message) in table {
        let (told, code) = why("why-no-call", args);
        assert!(told.contains(message), "{args:?}: {told}");
        assert_eq!(code, 2, "{args:?}");
    }
}

/// Guards the page's call, whose policy another page shows.
#[test]
fn the_pages_call_is_answered_as_it_says() {
    let page = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        fs::read_to_string(path).unwrap()
    };
    let envoy = page("envoy.md");
    let policy = envoy.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let testing = page("testing.md");
    let descriptor = "{ path: /checkout, remote_address: 192.0.2.7 }";
    let command = format!(
        "tidegate why policy.yaml --domain shop --descriptor '{descriptor}' --repeat 5\n```\n\n```text\n"
    );
    let shown = testing.split(&command).nth(1).unwrap().split("```").next().unwrap();
    let folder = Folder::new("why-call-page");
    let policy = folder.file("policy.yaml", policy).display().to_string();
    let output = run(["why", &policy, "--domain", "shop", "--descriptor", descriptor, "--repeat", "5"]);
    assert_eq!(text(&output.stdout), shown, "{output:?}");
}
