//! A source file holds one thought, and a thought fits a few pages.

use super::{Finding, Tree};

const MOST_LINES: usize = 400;

/// Finds source files that are too long, tests not counted.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending_in("rs")
        .filter(|(path, _)| is_source(path))
        .map(|(path, text)| (path, lines_before_tests(text)))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| {
            let fault = format!("{lines} lines without tests, where {MOST_LINES} are the most");
            Finding::new(path, fault, "split it into files of one thought each")
        })
        .collect()
}

fn is_source(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let in_src = matches!(parts[..], ["crates", _, "src", ..] | ["xtask", "src", ..]);
    in_src && !parts.contains(&"tests") && !path.ends_with("/tests.rs")
}

/// Counts the lines up to an inline `#[cfg(test)]` module. Code that hides behind one is clippy's to find
/// (`items_after_test_module`).
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |at: &usize| {
        let mut after = lines[*at + 1..].iter().skip_while(|line| line.starts_with("#["));
        let module =
            after.next().filter(|line| line.starts_with("mod ") || line.starts_with("pub(crate) mod "));
        lines[*at] == "#[cfg(test)]" && module.is_some_and(|line| line.ends_with('{'))
    };
    (0..lines.len()).find(opens_tests).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[cfg(test)]\n#[allow(unused)]\nmod tests {\n    fn a() {}\n}\n";

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_are_not_counted() {
        let full = "fn a() {}\n".repeat(MOST_LINES);
        assert_eq!(found("crates/store/src/lib.rs", &format!("{full}{TESTS}")), 0);
        assert_eq!(found("crates/store/src/lib.rs", &format!("{full}// one more\n{TESTS}")), 1);
        assert_eq!(found("xtask/src/main.rs", &format!("{full}// one more\n")), 1);
    }

    #[test]
    fn a_test_module_in_another_file_ends_nothing() {
        let long = "fn a() {}\n".repeat(MOST_LINES);
        assert_eq!(found("crates/store/src/lib.rs", &format!("#[cfg(test)]\nmod tests;\n{long}")), 1);
    }

    #[test]
    fn files_of_tests_may_be_as_long_as_they_need() {
        let long = "fn a() {}\n".repeat(MOST_LINES + 1);
        for path in ["crates/store/tests/it/main.rs", "crates/store/src/memory/tests.rs", "examples/a.rs"] {
            assert_eq!(found(path, &long), 0, "{path}");
        }
    }
}
