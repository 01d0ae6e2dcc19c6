//! `tidegate explain` and `tidegate threat-model`, and the pages that show what they say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_browser_kit::{Browser, Scheme};

use crate::process::{Folder, run, text};

const SEED: &str = "../../../../../examples/seed-otp.yaml";
const QUILLON: &str = "../../../../../examples/quillon.yaml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn explained(args: &[&str]) -> serde_json::Value {
    let output = run([&["explain"], args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Guards what scripts read, by the figures of the document on attempts per thirty seconds.
#[test]
fn an_explanation_has_the_exact_figures_of_each_limit() {
    let told = explained(&[SEED]);
    let spans: BTreeMap<&str, Vec<u64>> = told["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let limit = &rule["limits"][0];
            let most = ["1s", "1m", "1h", "1d"].map(|span| limit["half_open"][span].as_u64().unwrap());
            let own = [limit["at_once"].as_u64().unwrap(), limit["in_window"].as_u64().unwrap()];
            (rule["name"].as_str().unwrap(), [&own[..], &most[..]].concat())
        })
        .collect();
    assert_eq!(spans["fixed"], [5, 10, 10, 15, 605, 14_405]);
    assert_eq!(spans["counter"], [5, 10, 6, 15, 605, 14_405]);
    assert_eq!(spans["log"], [5, 5, 5, 10, 600, 14_400]);
    assert_eq!(spans["bucket"], [4, 7, 4, 9, 363, 8_643]);
    let bucket = &told["rules"][3]["limits"][0];
    assert_eq!(bucket["words"], "4 requests at once, then 1 every 10 seconds, per account.");
    assert_eq!(bucket["long_run"], serde_json::json!({ "units": 1, "micros": 10_000_000 }));
    assert_eq!(bucket["refusal"]["fields"], serde_json::json!(["Retry-After"]));
    assert_eq!(bucket["without_store"]["choice"], "deny");
}

#[test]
fn one_rule_is_explained_alone_and_an_unknown_one_is_told_with_those_there_are() {
    let told = explained(&[QUILLON, "--rule", "verify"]);
    assert_eq!(told["rules"].as_array().map(Vec::len), Some(1));
    let output = run(["explain", QUILLON, "--rule", "verfiy"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("has no rule verfiy\nits rules are: edge, send, verify,"), "{said}");
}

/// Guards plans and overrides against being told as one limit, and an override against telling whose it is.
#[test]
fn plans_and_overrides_are_explained_each() {
    let output = run(["explain", "../../../../../examples/public-api.yaml"]);
    let said = text(&output.stdout);
    let names: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  api/")).collect();
    let digest = "pace, for sha256:319afb56…";
    assert_eq!(
        names,
        ["pace, anonymous", "pace, free", "pace, premium", digest, "monthly, free", "monthly, premium"]
    );
    assert_eq!(output.status.code(), Some(0));
}

/// Guards CI's gate: what it lets through, what it stops, and what it says then.
#[test]
fn a_copy_is_held_to_the_policy_and_told_how_to_be_renewed() {
    let folder = Folder::new("threat-model");
    let policy = fs::read_to_string(root().join("examples/seed-otp.yaml")).unwrap();
    let file = folder.file("policy.yaml", &policy);
    let file = file.to_str().unwrap();
    for name in ["copy.md", "copy.json"] {
        let copy = folder.path(name);
        let copy = copy.to_str().unwrap();
        assert_eq!(run(["threat-model", file, "--output", copy]).status.code(), Some(0));
        let fresh = run(["threat-model", file, "--check", copy]);
        assert_eq!((fresh.status.code(), text(&fresh.stdout)), (Some(0), ""));
        let was = fs::read_to_string(copy).unwrap();
        let (from, to) = if name == "copy.md" {
            ("| Most in any 1h | 363 |", "| Most in any 1h | 360 |")
        } else {
            ("\"1h\": 363", "\"1h\": 360")
        };
        assert!(was.contains(from), "{was}");
        fs::write(copy, was.replace(from, to)).unwrap();
        let stale = run(["threat-model", file, "--check", copy]);
        let said = text(&stale.stdout);
        assert_eq!(stale.status.code(), Some(1), "{said}");
        assert!(said.contains("bucket/per-account: ") && said.contains(": 360 -> 363\n"), "{said}");
        assert!(
            said.contains(&format!("renew it with: tidegate threat-model {file} --output {copy}")),
            "{said}"
        );
        assert_eq!(said.lines().count(), 2, "one number and how to renew: {said}");
        // Prose on both sides.
        fs::write(copy, was.replace("quickly", "in a row")).unwrap();
        assert_eq!(run(["threat-model", file, "--check", copy]).status.code(), Some(0));
    }
}

#[test]
fn a_copy_that_cannot_be_used_is_told_with_the_reason() {
    let folder = Folder::new("threat-model-copies");
    for (name, content, why) in [
        ("page.html", "<!DOCTYPE html>", "it is HTML, which is not read back"),
        ("empty.md", "# Threat model\n", "there is no table of a threat model in it"),
        ("broken.json", "{ \"rules\": ", "it begins as JSON and is none"),
    ] {
        let copy = folder.file(name, content);
        let output = run(["threat-model", SEED, "--check", copy.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(why), "{output:?}");
        // What is advised has to help: a page renewed in HTML would be refused again.
        let renewed = format!("--output {}", copy.display()).replace("page.html", "page.md");
        assert!(text(&output.stderr).trim_end().ends_with(&renewed), "{output:?}");
    }
    let missing = run(["threat-model", SEED, "--check", "nowhere.md"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("cannot read nowhere.md"), "{missing:?}");
    let nowhere = run(["threat-model", SEED, "--output", "nowhere/copy.md"]);
    assert_eq!(nowhere.status.code(), Some(1));
}

/// A policy whose texts try to be markup.
const HOSTILE: &str = r#"tidegate: 1
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
keys: { account: { json: "/<b>|</b>" } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    store_failure_because: "</p><script>document.body.innerHTML = 'gone'</script>"
    accept: [{ id: fails-open, because: "<img src=x onerror=alert(1)> | \"quoted\" 'too'" }]
    limits:
      - name: per-account
        says: Never more than nine in any 24 hours, per account.
        note: "</blockquote><script>document.title = 'gone'</script> [a](javascript:alert(1))"
        key: account
        sliding_log: { limit: 9, window: 24h }
"#;

/// Returns the names of the elements of a page in order, having checked that each that begins also ends where it has to.
fn elements(page: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let (mut open, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some((_, from)) = rest.split_once('<') {
        let (tag, after) = from.split_once('>').unwrap_or_else(|| panic!("a tag does not end: {from}"));
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "an element ends that is not the last that began");
            continue;
        }
        let name = tag.split_whitespace().next().unwrap_or_default().to_owned();
        assert_eq!(tag.matches('"').count() % 2, 0, "an attribute does not end: {tag}");
        if !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        all.push(name);
    }
    assert!(open.is_empty(), "not ended: {open:?}");
    all
}

/// Guards whoever opens a page of a policy that somebody else wrote.
#[test]
fn what_a_policy_says_never_becomes_markup() {
    let folder = Folder::new("hostile");
    let file = folder.file("policy.yaml", HOSTILE);
    let page = run(["threat-model", file.to_str().unwrap(), "--format", "html"]);
    let page = text(&page.stdout);
    let known = [
        "!DOCTYPE",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "p",
        "table",
        "thead",
        "tr",
        "th",
        "tbody",
        "td",
        "h2",
        "h3",
        "div",
        "a",
        "section",
        "article",
        "blockquote",
    ];
    for element in elements(page) {
        assert!(known.contains(&element.as_str()), "<{element}> comes from the policy");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt; | &quot;quoted&quot; &#39;too&#39;"), "{page}");
    let markdown = run(["threat-model", file.to_str().unwrap()]);
    let markdown = text(&markdown.stdout);
    assert!(!markdown.contains('<'), "{markdown}");
    assert!(markdown.contains(r"\[a\](javascript:alert(1))"), "{markdown}");
}

/// Guards the page against other files, and against colours for one kind of screen.
#[test]
fn the_page_needs_nothing_else_and_is_read_in_light_and_dark() {
    let page = run(["threat-model", QUILLON, "--format", "html"]);
    let page = text(&page.stdout);
    elements(page);
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("name=\"viewport\""));
    let folder = Folder::new("threat-page");
    let file = folder.file("page.html", page);
    let (browser, limits) = (Browser::start(), page.matches("<article").count());
    let shown = browser.page();
    shown.open(&file);
    for (scheme, colours) in [
        (Scheme::Light, ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]),
        (Scheme::Dark, ["rgb(21, 24, 28)", "rgb(232, 234, 237)"]),
    ] {
        for width in [390, 1280] {
            shown.screen(width, scheme);
            let style = |name: &str| shown.value(&format!("getComputedStyle(document.body).{name}"));
            assert_eq!([style("backgroundColor"), style("color")], colours);
            assert_eq!(shown.overflowing(), [""; 0], "{width}");
            let (contrast, text) = shown.lowest_contrast();
            assert!(contrast >= 7.0, "{contrast} to 1: {text}");
        }
    }
    assert_eq!(shown.value("document.querySelectorAll('article').length"), limits);
}

/// Guards the pages against showing what the commands no longer say.
#[test]
fn the_pages_show_what_their_commands_say() {
    let folder = Folder::new("pages");
    std::os::unix::fs::symlink(root().join("examples").canonicalize().unwrap(), folder.path("examples"))
        .unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    for (page, least) in [("docs/seeds.md", 8), ("docs/threat-model.md", 3)] {
        let page = fs::read_to_string(root().join(page)).unwrap();
        let blocks = page.split("```sh\n").skip(1).filter_map(|block| {
            let (command, rest) = block.split_once("```\n")?;
            let shown = rest.trim_start().strip_prefix("```text\n")?.split("```").next()?;
            Some((command, shown))
        });
        let blocks: Vec<_> = blocks.collect();
        assert!(blocks.len() >= least, "only {} commands with their output", blocks.len());
        for (command, shown) in blocks {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).env("PATH", &path).current_dir(folder.path(""));
            let output = shell.output().unwrap();
            assert_eq!(text(&output.stdout), shown, "{command}{}", text(&output.stderr));
        }
    }
}
