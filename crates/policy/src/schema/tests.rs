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
        if path.to_str().is_some_and(|path| path.ends_with(".test.yaml")) {
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
