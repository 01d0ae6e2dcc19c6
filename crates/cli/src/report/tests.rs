use serde_json::Value;

use super::*;

fn item(severity: Severity, accepted: Option<&str>) -> Item {
    Item {
        id: "fails-open",
        severity,
        file: "a b/p:1,2.yaml".to_owned(),
        line: 12,
        column: 5,
        about: Some("verify/per-account".to_owned()),
        message: "100 % of\nit passes".to_owned(),
        remedy: "deny it".to_owned(),
        accepted: accepted.map(str::to_owned),
    }
}

/// Guards against annotations that end in the middle, or that GitHub takes for another command.
#[test]
fn a_workflow_command_is_escaped() {
    let text = github::command(&item(Severity::Error, None));
    let expected =
        "::error file=a b/p%3A1%2C2.yaml,line=12,col=5,title=fails-open::100 %25 of%0Ait passes; deny it";
    assert_eq!(text, expected);
    assert!(github::command(&item(Severity::Note, None)).starts_with("::notice "));
    let accepted = github::command(&item(Severity::Error, Some("behind the VPN")));
    assert!(
        accepted.starts_with("::notice ") && accepted.ends_with(" (accepted: behind the VPN)"),
        "{accepted}"
    );
}

/// Returns the member of an object that a pointer leads to.
fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {value:#}"))
}

/// Guards the members that the schema of SARIF 2.1.0 requires, and those without which GitHub drops a result.
#[test]
fn a_sarif_log_has_what_its_schema_requires() {
    let items = [item(Severity::Error, None), item(Severity::Warning, Some("behind the VPN"))];
    let log = sarif::render(&items);
    // sarifLog: version, runs; run: tool; tool: driver; toolComponent: name.
    assert_eq!(at(&log, "/version"), "2.1.0");
    assert!(at(&log, "/$schema").as_str().is_some_and(|uri| uri.contains("sarif-2.1.0")));
    assert_eq!(at(&log, "/runs").as_array().map(Vec::len), Some(1));
    assert_eq!(at(&log, "/runs/0/tool/driver/name"), "tidegate");
    // reportingDescriptor: id, unique; multiformatMessageString: text.
    let rules = at(&log, "/runs/0/tool/driver/rules").as_array().unwrap();
    let mut ids: Vec<&str> = rules.iter().map(|rule| at(rule, "/id").as_str().unwrap()).collect();
    assert!(rules.iter().all(|rule| at(rule, "/shortDescription/text").is_string()));
    let results = at(&log, "/runs/0/results").as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (result, item) in results.iter().zip(&items) {
        // result: message; message: text. A ruleIndex has to point at the rule of the same id.
        assert!(at(result, "/message/text").as_str().is_some_and(|text| text.contains("; deny it")));
        let level = at(result, "/level").as_str().unwrap();
        assert!(["none", "note", "warning", "error"].contains(&level), "{level}");
        let index = usize::try_from(at(result, "/ruleIndex").as_u64().unwrap()).unwrap();
        assert_eq!(at(result, "/ruleId").as_str(), Some(ids[index]));
        let place = at(result, "/locations/0/physicalLocation");
        assert_eq!(at(place, "/artifactLocation/uri"), "a%20b/p:1,2.yaml");
        assert_eq!(at(place, "/region/startLine"), 12);
        assert_eq!(at(place, "/region/startColumn"), 5);
        // suppression: kind, one of inSource and external.
        let suppressions = result.get("suppressions");
        assert_eq!(suppressions.is_some(), item.accepted.is_some());
        if let Some(suppressions) = suppressions {
            assert_eq!(at(suppressions, "/0/kind"), "inSource");
            assert_eq!(at(suppressions, "/0/justification"), "behind the VPN");
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands among the rules twice");
}

#[test]
fn a_summary_counts_what_is_accepted_apart() {
    assert_eq!(summary(&[]), None);
    let items = [
        item(Severity::Error, None),
        item(Severity::Error, Some("x")),
        item(Severity::Note, None),
        item(Severity::Note, None),
    ];
    assert_eq!(summary(&items).as_deref(), Some("1 error, 2 notes, 1 accepted"));
    let counts = json::render(&items);
    assert_eq!((&counts["errors"], &counts["notes"], &counts["accepted"]), (&1.into(), &2.into(), &1.into()));
    assert_eq!(counts["findings"][1]["accepted"], "x");
}
