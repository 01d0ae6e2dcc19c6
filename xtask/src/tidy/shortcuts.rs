//! Nothing in the crates is left for later, and no test sleeps or is skipped.

use super::{Finding, Tree};

/// What may not be written in a crate, and what to write instead.
const SHORTCUTS: &[(&str, &str)] = &[
    ("todo!", "write what is missing, or leave the item out"),
    ("unimplemented!", "write what is missing, or leave the item out"),
    ("#[ignore", "make the test run everywhere, or drop it"),
    ("thread::sleep", "pass the time as an argument, or wait for the event itself"),
];

/// What may not be written in a crate's `tests/` besides: there the sockets are real, and so is the time. Unit tests may
/// sleep, since what they test can be run in paused time.
const IN_TESTS: &[(&str, &str)] = &[
    ("time::sleep", SLEEP_REMEDY),
    (" sleep(", SLEEP_REMEDY),
    (" sleep_until(", SLEEP_REMEDY),
    ("time::interval", SLEEP_REMEDY),
];
const SLEEP_REMEDY: &str =
    "wait for the event itself, or test the part alone in paused time, beside its code";

/// Where a pause may be: a bench measures what happens meanwhile, and other processes, which kits and pages wait for, tell of
/// nothing by themselves. A load test sends when it is time, and a service that it is tried on stalls.
const MAY_PAUSE: &[&str] = &[
    "crates/cli/tests/it/loadtest/service.rs",
    "crates/loadtest/src/run/phase.rs",
    "crates/loadtest/src/worker/memory.rs",
    "crates/proxy-kit/src/lib.rs",
    "crates/redis-kit/src/server.rs",
    "crates/store/benches/snapshot.rs",
    "crates/tower/tests/it/page.rs",
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
    let in_tests = if path.contains("/tests/") { IN_TESTS } else { &[] };
    SHORTCUTS
        .iter()
        .chain(in_tests)
        .filter(|(shortcut, _)| line.contains(shortcut))
        .filter(|(shortcut, _)| *shortcut != "thread::sleep" || !MAY_PAUSE.contains(&path))
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
    fn a_sleep_on_the_runtimes_clock_is_found_in_integration_tests_and_let_be_in_unit_tests() {
        let lines = "use tokio::time::sleep;\nasync fn f() {\n    sleep(t).await;\n    tokio::time::sleep_until(t).await;\n}\n";
        let found = check(&Tree::of(&[
            ("crates/server/tests/it/drain.rs", lines),
            ("crates/server/src/net/connection/tests.rs", lines),
        ]));
        let places: Vec<&str> = found.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, [1, 3, 4].map(|line| format!("crates/server/tests/it/drain.rs:{line}")));
    }

    #[test]
    fn a_comment_may_name_them() {
        assert_eq!(
            check(&Tree::of(&[("crates/store/src/lib.rs", "/// Never `todo!`.\n// nor thread::sleep")])),
            []
        );
    }
}
