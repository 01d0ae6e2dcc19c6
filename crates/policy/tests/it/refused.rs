//! Every file under `tests/refused` is refused, with exactly the problems that stand beside it.
//!
//! `BLESS=1` rewrites what stands beside them, to be read before it is committed. What the files include stands in
//! `tests/refused/around`, and the variables they read in [`VARIABLES`].

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_policy::{Policy, Problems, Reading, Surroundings};

/// The variables that files may read.
const VARIABLES: [(&str, &str); 5] = [
    ("LISTEN", "127.0.0.1:8080"),
    ("PORT", "eighty"),
    ("EMPTY", ""),
    ("LIST", "[10.0.0.0/8, 192.0.2.1]"),
    ("PASSWORD", SECRET),
];
/// What no message may show.
const SECRET: &str = "hunter2";

/// The fewest files: each is a mistake that people make.
const FEWEST: usize = 120;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused")
}

/// What is around the files.
struct Around;

impl Surroundings for Around {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(folder().join(path)).map_err(|_| "cannot be read: there is no such file".to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }
}

fn parse(name: &str, text: &str) -> Result<Policy, Problems> {
    Reading::of(&Around).parse(name, text)
}

/// Guards the wording, the places and the completeness of what a file's author is told.
#[test]
#[allow(clippy::disallowed_methods, reason = "whoever runs the test says whether to rewrite the files")]
fn a_bad_file_is_refused_with_every_problem_at_its_place() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= FEWEST, "only {} files found", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let rendered = match parse(name, &text) {
            Ok(_) => "accepted\n".to_owned(),
            Err(problems) => format!("{problems}\n"),
        };
        assert!(!rendered.contains(SECRET), "{name} shows a secret: {rendered}");
        let beside = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&beside, &rendered).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if rendered != expected || rendered == "accepted\n" {
            wrong.push(format!("--- {name}: expected\n{expected}--- got\n{rendered}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Guards the difference between a text that says something wrong and one of which nobody knows what it says.
#[test]
fn a_slip_of_yaml_is_told_from_a_slip_of_policy() {
    let is_not_yaml = |text: &str| tidegate_policy::parse("test.yaml", text).unwrap_err().is_not_yaml();
    assert!(!is_not_yaml("tidegate: 7\nnonsense: true\n") && !is_not_yaml("\u{feff}tidegate: 1\n"));
    assert!(is_not_yaml("tidegate: [1\nrules: {"));
}
