//! Nothing in the crates is left for later, and no test sleeps or is skipped.

use super::{Finding, Tree};

/// What may not be written, and what to write instead.
const SHORTCUTS: &[(&str, &str)] = &[
    ("todo!", "write what is missing, or leave the item out"),
    ("unimplemented!", "write what is missing, or leave the item out"),
    ("#[ignore", "make the test run everywhere, or drop it"),
    ("thread::sleep", "pass the time as an argument, or wait for the event itself"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending_in("rs")
        .filter(|(path, _)| path.starts_with("crates/"))
        .flat_map(|(path, text)| {
            text.lines().enumerate().flat_map(move |(at, line)| of_line(path, at + 1, line))
        })
        .collect()
}

fn of_line(path: &str, number: usize, line: &str) -> Vec<Finding> {
    // A comment may name what code may not use.
    if line.trim_start().starts_with("//") {
        return Vec::new();
    }
    SHORTCUTS
        .iter()
        .filter(|(shortcut, _)| line.contains(shortcut))
        .map(|(shortcut, remedy)| {
            let fault = format!("`{}`", shortcut.trim_start_matches("#["));
            Finding::new(format!("{path}:{number}"), format!("{fault} in a crate"), *remedy)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortcut_is_found_with_its_line() {
        let lines = "\n    todo!()\n    unimplemented!(\"x\")\n    #[ignore = \"slow\"]\n    std::thread::sleep(t);\n";
        let found = check(&Tree::of(&[("crates/store/tests/it/main.rs", lines)]));
        let places: Vec<&str> = found.iter().map(|it| it.place.as_str()).collect();
        let expected = [2, 3, 4, 5].map(|line| format!("crates/store/tests/it/main.rs:{line}"));
        assert_eq!(places, expected);
    }

    #[test]
    fn a_comment_may_name_them() {
        assert_eq!(
            check(&Tree::of(&[("crates/store/src/lib.rs", "/// Never `todo!`.\n// nor thread::sleep")])),
            []
        );
    }
}
