//! What a run is asked for. Read before anything is built, so that a slip costs no minutes.

/// The parts that can be asked for by name, in the order in which they run.
pub(super) const PARTS: [&str; 7] = ["memory", "redis", "algorithms", "gateway", "servers", "flood", "rules"];

const HELP: &str = "usage: cargo xtask bench [--quick] [PART…]

Measures what Tidegate costs beside its peers, as ratios of runs that take turns.

  PART      one or several of: memory redis algorithms gateway servers flood rules; without any all of them, which
            writes docs/benchmarks.md
  --quick   as short as shows that everything works; the page is left alone

Building takes some minutes; then all of it takes about ten, and a minute with --quick. Keep the machine quiet meanwhile.
Every run leaves target/bench/report.md and target/bench/results.json. It needs redis-server, nginx, wrk and two
processors, and builds a peer's server once, for which it needs protoc; what is missing is told with what to install.
";

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked<'a> {
    /// Something that measures has started another to measure in: with these arguments.
    #[cfg_attr(
        not(feature = "bench"),
        allow(dead_code, reason = "it is the optimised build that starts itself")
    )]
    Inner(&'a [&'a str]),
    /// To measure: these parts, or all if there is none.
    Parts { quick: bool, names: Vec<&'a str> },
    /// To say what can be asked.
    Help(&'static str),
}

/// Reads the arguments; `inner` is the flag of a process that measures for another.
///
/// # Errors
/// In words, when a part is none.
pub(super) fn read<'a>(arguments: &'a [&'a str], inner: &str) -> Result<Asked<'a>, String> {
    if arguments.first() == Some(&inner) {
        return Ok(Asked::Inner(arguments));
    }
    if arguments.iter().any(|argument| ["--help", "-h", "help"].contains(argument)) {
        return Ok(Asked::Help(HELP));
    }
    let quick = arguments.contains(&"--quick");
    let names: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--quick").collect();
    match names.iter().find(|name| !PARTS.contains(name)) {
        Some(name) => Err(format!("there is no part {name:?}; there are {} (and --quick)", PARTS.join(", "))),
        None => Ok(Asked::Parts { quick, names }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_from_slips_before_anything_is_built() {
        let parts = |quick, names: &[&'static str]| Ok(Asked::Parts { quick, names: names.to_vec() });
        assert_eq!(read(&[], "-i"), parts(false, &[]));
        assert_eq!(read(&["rules", "--quick", "flood"], "-i"), parts(true, &["rules", "flood"]));
        assert_eq!(read(&["-i", "a"], "-i"), Ok(Asked::Inner(&["-i", "a"])));
        assert!(
            read(&["--quik"], "-i").is_err_and(|words| words.contains("--quik") && words.contains("rules"))
        );
        assert!(
            matches!(read(&["rules", "--help"], "-i"), Ok(Asked::Help(help)) if PARTS.iter().all(|part| help.contains(part)))
        );
    }
}
