//! `docs/the-seed-examined.md` and `docs/attack.md`: what they show is run, and comes out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tidegate_attack::adversary::adversaries;

use crate::process::{text, tidegate};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A command that a page shows, and the lines of its output that it shows.
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// Returns the commands of a page's fenced blocks: each begins with `$ `, and what follows up to the next is of its output.
fn shown(page: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let (mut in_block, mut in_command) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            (in_block, in_command) = (!in_block, false);
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            all.push(Shown { command: command.to_owned(), lines: Vec::new() });
            in_command = true;
        } else if in_command && let Some(last) = all.last_mut() {
            last.lines.push(even(line));
        }
    }
    assert!(!in_block, "a block is not closed");
    all
}

/// Returns a line with one blank between its words.
fn even(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words of a command, of which single quotes hold some together.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Runs what a page shows, and returns how many commands it has.
fn holds(page: &str) -> usize {
    let text_of_page = fs::read_to_string(root().join(page)).unwrap();
    let all = shown(&text_of_page);
    for Shown { command, lines } in &all {
        let words = words(command);
        let (name, args) = words.split_first().unwrap();
        assert_eq!(name, "tidegate", "{page}: {command}");
        assert!(!lines.is_empty(), "{page}: {command} is shown without what comes out");
        let output = tidegate(args).current_dir(root()).output().unwrap();
        let said = text(&output.stdout);
        let evened: Vec<String> = said.lines().map(even).collect();
        let mut rest = evened.iter();
        let mut code = 0;
        for line in lines {
            if let Some(expected) = line.strip_prefix("exit code ") {
                code = expected.parse().unwrap();
                continue;
            }
            // In the order in which they come out.
            let is_there = rest.by_ref().any(|said| said.contains(line.as_str()));
            assert!(
                is_there,
                "{page}: {command}\ndoes not say, or says earlier: {line}\n{said}{}",
                text(&output.stderr)
            );
        }
        assert_eq!(output.status.code(), Some(code), "{page}: {command}\n{said}{}", text(&output.stderr));
    }
    all.len()
}

/// Guards what is said of the two articles against figures that do not come out.
#[test]
fn the_seed_examined_shows_what_its_commands_say() {
    let commands = holds("docs/the-seed-examined.md");
    assert!(commands >= 30, "only {commands} commands");
}

/// Guards the page of the bench against outputs that nobody has seen.
#[test]
fn the_page_of_the_attack_bench_shows_what_its_commands_say() {
    let commands = holds("docs/attack.md");
    assert!(commands >= 3, "only {commands} commands");
}

/// Guards the page against an adversary that is not played, that it leaves out, or that needs something else than it says.
#[test]
fn the_page_lists_every_adversary_with_what_he_needs() {
    let page = fs::read_to_string(root().join("docs/attack.md")).unwrap();
    let (_, table) = page.split_once("| name | what he does | needs |\n|---|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let listed: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            (cells[0].trim_matches('`').to_owned(), cells[2].to_owned())
        })
        .collect();
    let played: Vec<(String, String)> = adversaries()
        .iter()
        .map(|adversary| {
            let needs: Vec<&str> = adversary.needs().iter().map(|need| need.words()).collect();
            let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
            (adversary.name().to_owned(), needs)
        })
        .collect();
    assert_eq!(listed, played);
}

/// Returns the names of all members of a JSON value, however deep they stand.
fn members(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                names.insert(name.clone());
                members(value, names);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| members(value, names)),
        _ => {}
    }
}

/// Guards the page against a member of a JSON report that it does not explain.
#[test]
fn the_page_names_every_member_of_the_json_reports() {
    let page = fs::read_to_string(root().join("docs/attack.md")).unwrap();
    let rule = "attack examples/seed-article.yaml --rule bucket --adversary lockout --for 10m --json";
    let args = rule.split(' ').map(str::to_owned).collect();
    let limit = "token_bucket: {capacity: 1, refill: 1 per 1h}".to_owned();
    let compared = vec!["compare".to_owned(), limit, "--json".to_owned()];
    for (args, part, known) in [(args, "JSON", "exposed"), (compared, "Limits side by side", "kept_by")] {
        let args: Vec<String> = args;
        let output = tidegate(&args).current_dir(root()).output().unwrap();
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        if let Some(columns) = report.get_mut("columns").and_then(Value::as_array_mut) {
            // What stands in a limit and a row is told of the other report.
            for column in columns {
                for name in ["limit", "trade", "rows"] {
                    column[name] = Value::Null;
                }
            }
        }
        let mut names = BTreeSet::new();
        members(&report, &mut names);
        assert!(names.contains(known), "{names:?}");
        let (_, part) = page.split_once(&format!("\n## {part}\n")).unwrap();
        let (part, _) = part.split_once("\n## ").unwrap();
        let missing: Vec<&String> =
            names.iter().filter(|name| !part.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/attack.md does not name {missing:?}");
    }
}
