//! Every rule of the review with its page: the page's first policy trips it, the second does not, and what the page says
//! the review says is what it says.

mod envoy;
mod figures;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tidegate_algorithms::Timestamp;
use tidegate_policy::{Policy, Reading, Surroundings};
use tidegate_review::{Finding, lints, review};

/// Noon of 30 November 2026, in UTC.
const TODAY: u64 = 1_796_040_000_000_000;

/// The folder of the examples, for the secret that lies there.
struct Examples;

impl Surroundings for Examples {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join("examples").join(path)).map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a policy and reviews it.
fn reviewed(name: &str, text: &str) -> Vec<Finding> {
    let policy: Policy =
        Reading::of(&Examples).parse(name, text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    review(&policy, Timestamp::from_micros(TODAY))
}

fn page(id: &str) -> String {
    let path = root().join("docs/review").join(format!("{id}.md"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a page's blocks of one language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Guards each rule against finding nothing and against finding everything, and its page against telling old figures.
#[test]
fn of_each_page_s_policies_the_first_trips_its_rule_and_the_second_does_not() {
    let mut wrong = Vec::new();
    for lint in lints() {
        let page = page(lint.id);
        let policies = blocks(&page, "yaml");
        assert_eq!(policies.len(), 2, "{}", lint.id);
        let found = reviewed(lint.id, policies[0]);
        let said = blocks(&page, "text").join("\n");
        match found.iter().find(|finding| finding.id == lint.id) {
            None => wrong.push(format!("{}: the first policy does not trip it", lint.id)),
            Some(finding) => {
                let expected = format!("{}: {}; {}", finding.severity, finding.message, finding.remedy);
                if said.trim() != expected {
                    wrong.push(format!("{}: the review says\n{expected}", lint.id));
                }
            }
        }
        if let Some(finding) = reviewed(lint.id, policies[1]).iter().find(|finding| finding.id == lint.id) {
            wrong.push(format!("{}: the second policy trips it: {}", lint.id, finding.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Guards against ids without a page and pages that nobody is led to.
#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let ids: BTreeSet<String> = lints().map(|lint| lint.id.to_owned()).collect();
    assert_eq!(ids.len(), lints().count(), "an id is there twice");
    let folder = std::fs::read_dir(root().join("docs/review")).unwrap();
    let stems = folder.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
    let pages: BTreeSet<String> = stems.filter(|stem| stem != "README").collect();
    assert_eq!(ids, pages);
    let index = page("README");
    for lint in lints() {
        let row = format!("| [{0}]({0}.md) | {1} |", lint.id, lint.summary);
        assert!(index.contains(&row), "docs/review/README.md lacks\n{row}");
    }
}

/// Guards the example of `accept` on the index against a finding that is no longer called so.
#[test]
fn the_index_shows_how_a_finding_is_accepted() {
    let index = page("README");
    let rule = blocks(&index, "yaml rule").join("").replace('\n', "\n    ");
    let text = format!("tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nrules:\n  - {}\n", rule.trim_end());
    let found = reviewed("README", &text);
    let accepted: Vec<&str> =
        found.iter().filter(|finding| finding.accepted.is_some()).map(|finding| finding.id).collect();
    assert_eq!(accepted, ["verify-by-address-only"]);
    assert!(!found.iter().any(|finding| finding.id.starts_with("accept-")), "{found:#?}");
}

/// Beside an address in one key an account holds nobody: whoever comes from elsewhere begins afresh.
#[test]
fn a_key_of_address_and_account_together_holds_no_account() {
    let found = reviewed(
        "pair.yaml",
        "\
tidegate: 1
gateway: { listen: 0.0.0.0:8080, upstream: http://127.0.0.1:3000 }
codes: { otp: { digits: 6, step: 30s, skew_steps: 1 } }
keys: { account: { json: /account, normalize: [trim, lowercase] } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    guesses: otp
    on_store_failure: deny
    limits:
      - name: per-pair
        says: Never more than five in any 24 hours, per client ip and account.
        key: [client_ip, account]
        sliding_log: { limit: 5, window: 24h }
",
    );
    let said = |id: &str| found.iter().find(|one| one.id == id).map(|one| one.message.clone());
    assert!(said("verify-by-address-only").is_some(), "{found:#?}");
    let one = said("one-address-tries-everybody").unwrap();
    assert!(one.contains("may try 5 guesses at each"), "{one}");
}
