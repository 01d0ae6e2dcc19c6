//! A run: which parts, in which order, and where what they found goes.

use std::fs;
use std::io::{self, Write as _};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::computed::page::Page;
use super::machine::Machine;
use super::report::{Found, Report};
use super::tools::{self, Tool};
use super::{Scale, algorithms, flood, gateway, memory, redis, rules, servers};

/// What can be run by its name.
pub(super) struct Part {
    name: &'static str,
    title: &'static str,
    needs: &'static [Tool],
    measure: fn(Scale, &mut Page) -> Result<()>,
}

const PARTS: [Part; 7] = [
    Part { name: "memory", title: "In process", needs: &[], measure: memory::measure },
    Part { name: "redis", title: "With Redis", needs: &[Tool::Redis], measure: redis::measure },
    Part {
        name: "algorithms",
        title: "The algorithms side by side",
        needs: &[Tool::Redis],
        measure: algorithms::measure,
    },
    Part {
        name: "gateway",
        title: "The gateway",
        needs: &[Tool::Nginx, Tool::Wrk, Tool::Taskset, Tool::Tidegate],
        measure: gateway::measure,
    },
    Part {
        name: "servers",
        title: "Decision servers",
        needs: &[Tool::Redis, Tool::Wrk, Tool::Taskset, Tool::Tidegate, Tool::ThrottlecrabServer],
        measure: servers::measure,
    },
    Part {
        name: "flood",
        title: "A flood of one key",
        needs: &[Tool::Nginx, Tool::Wrk, Tool::Taskset, Tool::Tidegate],
        measure: flood::measure,
    },
    Part {
        name: "rules",
        title: "Many rules",
        needs: &[Tool::Wrk, Tool::Taskset, Tool::Tidegate],
        measure: rules::measure,
    },
];

/// The page that a whole run writes.
const PAGE: &str = "docs/benchmarks.md";
/// Where every run leaves what it found.
const FOLDER: &str = "target/bench";

/// Takes the measurements that are asked for; `Ok(false)` when what is asked for is not understood.
///
/// # Errors
/// When something is missing that is needed, or a measurement cannot be taken, or what was measured did not do its work. The
/// parts after it are measured all the same, and the page is not written.
pub(crate) fn run(arguments: &[&str]) -> Result<bool> {
    if let [memory::grow::FLAG, side, keys] = arguments {
        let grown = memory::grow::fill(side, keys.parse()?)?;
        writeln!(io::stdout(), "{grown}")?;
        return Ok(true);
    }
    let Some(asked) = Asked::read(arguments) else { return Ok(false) };
    // Whatever folder it is started from, what it names lies in the repository.
    std::env::set_current_dir(tools::root()?)?;
    tools::ready(asked.parts.iter().flat_map(|part| part.needs))?;
    let machine = Machine::look()?;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for part in &asked.parts {
        say(&format!("{} …", part.name))?;
        let (began, mut page) = (Instant::now(), Page::new());
        match (part.measure)(asked.scale, &mut page) {
            Ok(()) => found.push(Found { name: part.name, title: part.title, page }),
            Err(error) => failed.push(format!("{}: {error:#}", part.name)),
        }
        say(&format!("{} took {} s", part.name, began.elapsed().as_secs()))?;
    }
    let report = Report { machine: &machine, quick: asked.scale.quick(), found: &found };
    let whole = asked.whole && failed.is_empty() && !asked.scale.quick();
    keep(&report, whole)?;
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(true)
}

/// What a run is asked for.
struct Asked {
    scale: Scale,
    parts: Vec<&'static Part>,
    /// Whether that is all there is.
    whole: bool,
}

impl Asked {
    fn read(arguments: &[&str]) -> Option<Self> {
        const ALL: &[Part] = &PARTS;
        let quick = arguments.contains(&"--quick");
        let mut names = arguments.iter().filter(|argument| **argument != "--quick");
        let mut parts = names.try_fold(Vec::new(), |mut parts, name| {
            parts.push(ALL.iter().find(|part| part.name == *name)?);
            Some(parts)
        })?;
        let whole = parts.is_empty();
        if whole {
            parts = ALL.iter().collect();
        }
        Some(Self { scale: if quick { Scale::Quick } else { Scale::Full }, parts, whole })
    }
}

/// Writes what was found, and shows the tables of a run that does not write the page.
fn keep(report: &Report<'_>, whole: bool) -> Result<()> {
    let text = report.markdown()?;
    fs::create_dir_all(FOLDER)?;
    fs::write(format!("{FOLDER}/results.json"), report.json()?)?;
    fs::write(format!("{FOLDER}/report.md"), &text)?;
    if whole {
        fs::write(PAGE, &text).with_context(|| format!("writing {PAGE}"))?;
        return say(&format!("written: {PAGE}, {FOLDER}/results.json"));
    }
    let mut out = io::stdout().lock();
    for part in report.found {
        writeln!(out, "## {}\n\n{}\n", part.title, part.page.text())?;
    }
    writeln!(out, "{}", report.aims())?;
    say(&format!(
        "kept: {FOLDER}/report.md, {FOLDER}/results.json; {PAGE} is written by a whole run without --quick"
    ))
}

/// Tells whoever waits how far it is.
fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stderr(), "bench: {text}")?)
}
