//! Every crate from outside is named once, with its reason.
//!
//! The version stands in the root manifest, the reason in `docs/dependencies.md`, in a table row whose first cell is
//! the crate's name in backticks. A crate that nobody uses is in neither.

use std::collections::BTreeSet;

use super::members::Member;
use super::{Finding, Tree};

const REASONS: &str = "docs/dependencies.md";
const MANIFEST: &str = "Cargo.toml";

/// Finds outside crates without a reason, reasons without a crate, and versions kept anywhere but in the root.
pub(crate) fn check(members: &[Member], tree: &Tree) -> Vec<Finding> {
    let Some(declared) = declared(tree.text(MANIFEST).unwrap_or_default()) else {
        return vec![Finding::new(MANIFEST, "it is not TOML", "mend its syntax")];
    };
    let used: BTreeSet<String> = outside(members).map(|(_, package)| package.to_owned()).collect();
    let explained = explained(tree.text(REASONS).unwrap_or_default());

    let unexplained = declared.difference(&explained).map(|name| {
        Finding::new(REASONS, format!("no reason for `{name}`"), format!("add a row ``| `{name}` | why |``"))
    });
    let stale = explained.difference(&used).map(|name| {
        Finding::new(REASONS, format!("`{name}` is explained and used by no crate"), "drop its row")
    });
    let unused = declared
        .difference(&used)
        .map(|name| Finding::new(MANIFEST, format!("`{name}` is declared and used by no crate"), "drop it"));
    let undeclared =
        outside(members).filter(|(_, package)| !declared.contains(*package)).map(|(member, package)| {
            let fault = format!("`{package}` is not in the root's `[workspace.dependencies]`");
            Finding::new(
                &member.manifest,
                fault,
                format!("declare it there and write `{package}.workspace = true`"),
            )
        });
    unexplained.chain(stale).chain(unused).chain(undeclared).collect()
}

fn outside(members: &[Member]) -> impl Iterator<Item = (&Member, &str)> {
    let needs = members.iter().flat_map(|member| member.needs.iter().map(move |need| (member, need)));
    needs.filter(|(_, need)| !need.by_path).map(|(member, need)| (member, need.package.as_str()))
}

/// Takes the package names of the outside crates from `[workspace.dependencies]`; `None` where it cannot be read.
fn declared(manifest: &str) -> Option<BTreeSet<String>> {
    let manifest: toml::Table = manifest.parse().ok()?;
    let empty = toml::Table::new();
    let table = manifest.get("workspace").and_then(|it| it.get("dependencies"));
    let outside = |value: &toml::Value| value.get("path").is_none();
    // A renamed crate is known to cargo's metadata by its own name.
    let own_name = |(key, value): (&String, &toml::Value)| {
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
    };
    let dependencies = table.and_then(toml::Value::as_table).unwrap_or(&empty);
    Some(dependencies.iter().filter(|(_, value)| outside(value)).map(own_name).collect())
}

fn explained(text: &str) -> BTreeSet<String> {
    let row = |line: &str| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        let reason = rest.trim().trim_end_matches('|').trim();
        (!reason.is_empty()).then(|| name.to_owned())
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::members::made_up::member;
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\n\
        tidegate = { path = \"crates/tidegate\" }\nbytes = \"1\"\njson = { package = \"serde_json\", version = \"1\" }";

    fn found(root: &str, reasons: &str, needs: &[&str]) -> Vec<Finding> {
        let tree = Tree::of(&[(MANIFEST, root), (REASONS, reasons)]);
        check(&[member("tidegate-server", needs)], &tree)
    }

    #[test]
    fn nothing_is_found_where_each_crate_is_used_and_explained() {
        let reasons = "| crate | why |\n|---|---|\n| `bytes` | bodies |\n| `serde_json` | answers |\n";
        assert_eq!(found(ROOT, reasons, &["tidegate", "bytes", "serde_json"]), []);
    }

    #[test]
    fn a_crate_without_a_reason_is_found_and_an_empty_reason_is_none() {
        let found = found(ROOT, "| `bytes` | bodies |\n| `serde_json` | |\n", &["bytes", "serde_json"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fault, "no reason for `serde_json`");
    }

    #[test]
    fn a_crate_that_nobody_uses_is_found_in_both_places() {
        let found = found(ROOT, "| `bytes` | bodies |\n| `serde_json` | answers |\n", &["bytes"]);
        let places: Vec<&str> = found.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, [REASONS, MANIFEST]);
        assert!(found.iter().all(|it| it.fault.starts_with("`serde_json`")));
    }

    #[test]
    fn a_version_kept_in_a_crate_is_found() {
        let root = "[workspace.dependencies]\nbytes = \"1\"";
        let found = found(root, "| `bytes` | bodies |\n", &["bytes", "http"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "crates/server/Cargo.toml");
    }

    #[test]
    fn a_root_that_is_not_toml_is_found() {
        assert_eq!(found("[workspace", "", &[]).len(), 1);
    }
}
