//! The changelog has a place for what is not released yet.

use super::{Finding, Tree};

const FILE: &str = "CHANGELOG.md";
const HEADING: &str = "## [Unreleased]";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let headed = tree.text(FILE).is_some_and(|text| text.lines().any(|line| line.trim_end() == HEADING));
    let missing = || Finding::new(FILE, "no place for what comes next", format!("add a line `{HEADING}`"));
    if headed { Vec::new() } else { vec![missing()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_without_unreleased_is_found() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
        assert_eq!(check(&Tree::of(&[(FILE, "## [0.1.0]\nUnreleased")])).len(), 1);
        assert_eq!(check(&Tree::of(&[(FILE, "# Changelog\n\n## [Unreleased]\n")])), []);
    }
}
