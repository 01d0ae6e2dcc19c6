//! Every rule of every policy in `examples/`.

use std::path::{Path, PathBuf};

use tidegate::files;

use super::*;

/// Returns the policies of the examples with their names.
fn examples() -> Vec<(String, Arc<Policy>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        // Tests and scenarios are no policies.
        let is_policy = text.lines().any(|line| line.starts_with("tidegate:"));
        is_policy.then(|| {
            let loaded = files::load(path).unwrap_or_else(|error| panic!("{error}"));
            (path.file_name().unwrap().to_string_lossy().into_owned(), Arc::new(loaded.policy))
        })
    };
    paths.iter().filter_map(read).collect()
}

/// Guards the default run against rules that it plays nothing at, or at which it misses a limit.
#[test]
fn every_rule_of_the_examples_becomes_a_request_that_asks_all_of_its_limits() {
    let mut unreachable = Vec::new();
    let examples = examples();
    assert!(examples.len() >= 9, "{examples:?}");
    for (name, policy) in examples {
        for (index, rule) in policy.rules.iter().chain(&policy.fallback).enumerate() {
            let requests = match Requests::new(Arc::clone(&policy), index) {
                Ok(requests) => requests,
                Err(why) => {
                    unreachable.push(format!("{name}: {why}"));
                    continue;
                }
            };
            let aim = requests.aim();
            eprintln!("{name} {}: {:?}\n  {:?}", rule.name, requests.wire(&at_victim()), aim);
            for limit in &rule.limits {
                assert!(aim.guards.iter().any(|guard| guard.name == limit.name), "{name}: {}", limit.name);
            }
        }
    }
    assert_eq!(unreachable, [""]);
}
