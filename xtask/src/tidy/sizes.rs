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

/// Counts the lines up to a `#[cfg(test)]` module that closes the file. A module with code after it does not count
/// as the end, lest a file hide behind it.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let closes_the_file = |start: &usize| {
        let after = &lines[*start + 1..];
        let opens = after
            .iter()
            .position(|line| !line.starts_with("#["))
            .unwrap_or(after.len());
        let is_module = after
            .get(opens)
            .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'));
        let closed_at = lines
            .iter()
            .skip(*start)
            .position(|line| *line == "}")
            .map(|at| at + start);
        is_module && closed_at == Some(lines.len() - 1)
    };
    let starts = (0..lines.len()).filter(|at| lines[*at] == "#[cfg(test)]");
    starts.into_iter().find(closes_the_file).unwrap_or(lines.len())
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
        assert_eq!(
            found("crates/store/src/lib.rs", &format!("{full}// one more\n{TESTS}")),
            1
        );
        assert_eq!(found("xtask/src/main.rs", &format!("{full}// one more\n")), 1);
    }

    #[test]
    fn code_cannot_hide_behind_a_test_module() {
        let long = "fn a() {}\n".repeat(MOST_LINES);
        assert_eq!(found("crates/store/src/lib.rs", &format!("{TESTS}{long}")), 1);
    }

    #[test]
    fn files_of_tests_may_be_as_long_as_they_need() {
        let long = "fn a() {}\n".repeat(MOST_LINES + 1);
        for path in [
            "crates/store/tests/it/main.rs",
            "crates/store/src/memory/tests.rs",
            "examples/a.rs",
        ] {
            assert_eq!(found(path, &long), 0, "{path}");
        }
    }
}
