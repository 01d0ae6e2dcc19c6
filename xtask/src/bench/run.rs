//! A run: which parts, in which order, and where what they found goes.

use std::fs;
use std::io::{self, Write as _};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use super::asked::{self, Asked};
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

/// Takes the measurements that are asked for.
///
/// # Errors
/// When something is missing that is needed, or a measurement cannot be taken, or what was measured did not do its work. The
/// parts after it are measured all the same, and the page is not written.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (quick, names) = match asked::read(arguments, memory::grow::FLAG).map_err(anyhow::Error::msg)? {
        Asked::Inner([_, side, keys]) => {
            return Ok(writeln!(io::stdout(), "{}", memory::grow::fill(side, keys.parse()?)?)?);
        }
        Asked::Inner(_) => bail!("this is for the bench itself"),
        Asked::Help(help) => return Ok(io::stdout().write_all(help.as_bytes())?),
        Asked::Parts { quick, names } => (quick, names),
    };
    let whole = names.is_empty();
    let parts: Vec<&Part> = PARTS.iter().filter(|part| whole || names.contains(&part.name)).collect();
    let scale = if quick { Scale::Quick } else { Scale::Full };
    // Whatever folder it is started from, what it names lies in the repository.
    std::env::set_current_dir(tools::root()?)?;
    tools::ready(parts.iter().flat_map(|part| part.needs))?;
    let machine = Machine::look()?;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for part in &parts {
        say(&format!("{} …", part.name))?;
        let (began, mut page) = (Instant::now(), Page::new());
        match (part.measure)(scale, &mut page) {
            Ok(()) => found.push(Found { name: part.name, title: part.title, page }),
            Err(error) => failed.push(format!("{}: {error:#}", part.name)),
        }
        say(&format!("{} took {} s", part.name, began.elapsed().as_secs()))?;
    }
    let report = Report { machine: &machine, quick, found: &found };
    keep(&report, whole && failed.is_empty() && !quick)?;
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
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
    writeln!(out, "{}\n{}", report.aims(), report.rehearsal())?;
    say(&format!(
        "kept: {FOLDER}/report.md, {FOLDER}/results.json; {PAGE} is written by a whole run without --quick"
    ))
}

/// Tells whoever waits how far it is.
fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stderr(), "bench: {text}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_can_be_asked_for_and_there_are_no_others() {
        assert_eq!(PARTS.each_ref().map(|part| part.name), asked::PARTS);
    }
}
