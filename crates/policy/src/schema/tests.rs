use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::file::{self, Node, Report, Value};

/// Converts a file as another YAML reader would read it.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Scalar { text, plain: true } => plain(text),
        Value::Scalar { text, .. } => Json::from(text.as_str()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect())
        }
    }
}

fn plain(text: &str) -> Json {
    match text {
        "true" => Json::Bool(true),
        "false" => Json::Bool(false),
        _ if file::is_null(text) => Json::Null,
        // Many make a date of it, which is no text.
        _ if crate::date::parse_instant(text).is_some() => json!({ "date": text }),
        _ => {
            let whole = text.parse::<i64>().map(Json::from);
            let number = whole.ok().or_else(|| text.parse::<f64>().ok().map(|number| json!(number)));
            number.unwrap_or_else(|| Json::from(text))
        }
    }
}

fn read(path: &Path) -> Option<Json> {
    let text = fs::read_to_string(path).unwrap();
    let mut report = Report::default();
    let root = file::load(&text, 0, &mut report)?;
    report.is_empty().then(|| json(&root))
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&super::schema()).unwrap()
}

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// Guards editors against marking what is right.
#[test]
fn every_example_fits() {
    let validator = validator();
    let mut count = 0;
    for path in yaml_files("../../examples") {
        if [".test.yaml", ".scenario.yaml"]
            .iter()
            .any(|end| path.to_str().is_some_and(|path| path.ends_with(end)))
        {
            continue;
        }
        let value = read(&path).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("\n"));
        count += 1;
    }
    assert!(count >= 6, "only {count} examples found");
}

/// Policies with one member that nobody knows in every mapping; the answer lists those that are known.
const STRANGERS: [&str; 4] = [
    include_str!("../../tests/strangers/first.yaml"),
    include_str!("../../tests/strangers/more.yaml"),
    include_str!("../../tests/strangers/stores.yaml"),
    include_str!("../../tests/strangers/examined.yaml"),
];

/// Collects the names of members that a schema knows, but for those of `$defs`, which are names of shapes.
fn names(schema: &Json, into: &mut BTreeSet<String>) {
    match schema {
        Json::Object(object) => {
            if let Some(Json::Object(properties)) = object.get("properties") {
                into.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| names(value, into));
        }
        Json::Array(items) => items.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

/// Guards the schema against a member that only the reader knows, and against one that it does not.
#[test]
fn the_schema_knows_the_members_that_the_reader_knows() {
    let mut read = BTreeSet::new();
    for strangers in STRANGERS {
        let problems = crate::parse("strangers.yaml", strangers).unwrap_err();
        let lists = problems.list().iter().filter_map(|problem| problem.remedy.strip_prefix("it knows "));
        read.extend(lists.flat_map(|names| names.split(", ")).map(str::to_owned));
    }
    let mut known = BTreeSet::new();
    names(&super::schema(), &mut known);
    let only_read: Vec<_> = read.difference(&known).collect();
    let only_known: Vec<_> = known.difference(&read).collect();
    assert!(only_read.is_empty(), "the schema does not know {only_read:?}");
    assert!(only_known.is_empty(), "the reader does not know {only_known:?}");
}

/// Refused files whose mistake no schema sees: what a name refers to, how two members fit together, what a text means,
/// and slips of YAML itself.
const UNSEEN: &str = include_str!("unseen.txt");

/// Guards the schema against accepting what it could see is wrong, and the list of what it cannot against growing stale.
#[test]
fn the_schema_refuses_what_is_refused_but_for_what_no_schema_sees() {
    let validator = validator();
    let unseen: BTreeSet<&str> = UNSEEN.lines().filter(|line| !line.starts_with('#')).collect();
    let mut passed = BTreeSet::new();
    let mut refused = 0;
    let files = yaml_files("tests/refused");
    for path in &files {
        match read(path) {
            Some(value) if !validator.is_valid(&value) => refused += 1,
            _ => drop(passed.insert(path.file_stem().unwrap().to_str().unwrap())),
        }
    }
    let news: Vec<_> = passed.difference(&unseen).collect();
    let stale: Vec<_> = unseen.difference(&passed).collect();
    assert!(news.is_empty(), "the schema accepts {news:?}");
    assert!(stale.is_empty(), "the schema refuses {stale:?} by now");
    assert!(refused >= 60, "only {refused} of {} are refused", files.len());
}

/// Adds members that are not there, as the page's fragments leave them out.
fn complete(value: &mut Json, instead: &[&str], name: &str, member: Json) {
    let object = value.as_object_mut().unwrap();
    if !instead.iter().any(|name| object.contains_key(*name)) {
        object.insert(name.to_owned(), member);
    }
}

fn as_limit(mut value: Json) -> Json {
    let algorithms: Vec<&str> = super::algorithms().iter().map(|one| one.name).collect();
    complete(&mut value, &["name"], "name", json!("all"));
    complete(&mut value, &["key"], "key", json!("global"));
    complete(&mut value, &["says", "plans"], "says", json!("In words."));
    let log = json!({ "limit": 10, "window": "1m" });
    complete(&mut value, &[&algorithms[..], &["plans"]].concat(), "sliding_log", log);
    value
}

fn as_rule(mut value: Json) -> Json {
    complete(&mut value, &["name"], "name", json!("any"));
    complete(&mut value, &["match"], "match", json!({ "path": "/**" }));
    complete(&mut value, &["limits", "refuse"], "limits", json!([as_limit(json!({}))]));
    value
}

fn as_policy(mut value: Json) -> Json {
    complete(&mut value, &["tidegate"], "tidegate", json!(1));
    complete(&mut value, &["rules", "fallback", "include"], "rules", json!([as_rule(json!({}))]));
    value
}

/// Guards editors against marking what the reference shows.
#[test]
fn every_block_of_the_reference_fits() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = fs::read_to_string(page).unwrap();
    let validator = validator();
    let mut fitting = 0;
    for block in page.split("\n```yaml").skip(1) {
        let (kind, rest) = block.split_once('\n').unwrap();
        let text = rest.split("\n```").next().unwrap();
        let mut report = Report::default();
        let Some(root) = file::load(text, 0, &mut report) else { continue };
        let value = match kind.trim() {
            "" => json(&root),
            "top" => as_policy(json(&root)),
            "rule" => as_policy(json!({ "rules": [as_rule(json(&root))] })),
            "limit" => as_policy(json!({ "rules": [as_rule(json!({ "limits": [as_limit(json(&root))] }))] })),
            _ => continue,
        };
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{text}\n{}", errors.join("\n"));
        fitting += 1;
    }
    assert!(fitting > 30, "only {fitting} blocks found");
}
