//! `tidegate attack`: what a policy's limits admit against adversaries.

mod live;
mod progress;
mod scenario;
mod show;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tidegate_attack::adversary::Means;
use tidegate_attack::bench::{self, BenchError, Effort, Options};
use tidegate_attack::report::{Report, page};
use tidegate_attack::scenario::ScenarioReport;
use tidegate_policy::Policy;

use crate::args::{AttackArgs, MeansArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) use progress::Progress;

/// Attacks a policy and tells what came of it.
///
/// # Errors
/// When the policy cannot be used, or what was found cannot be written.
pub(crate) fn run(args: &AttackArgs) -> Result<Exit, Failure> {
    let policy = Arc::new(args.policy.load().map_err(Failure::unusable)?.policy);
    if let Some(url) = &args.against {
        return live::run(&policy, url, args);
    }
    if let Some(path) = &args.scenario {
        let played = scenario::played(&policy, path, args)?;
        tell(&played.report, Some(&played), args)?;
        return Ok(verdict(&played.report, args.strict));
    }
    let report = simulated(&policy, args)?;
    tell(&report, None, args)?;
    Ok(verdict(&report, args.strict))
}

fn simulated(policy: &Arc<Policy>, args: &AttackArgs) -> Result<Report, Failure> {
    let effort = if args.quick { Effort::quick() } else { Effort::default() };
    let effort = Effort { length: args.length.unwrap_or(effort.length), ..effort };
    let options = Options {
        rules: args.rule.clone(),
        adversaries: args.adversary.clone(),
        seed: args.seed.unwrap_or(1),
        means: means(&args.means),
        effort,
    };
    let progress = Progress::new();
    let report = bench::attack(policy, &args.policy.name(), &options, &|plays| progress.played(plays));
    progress.finish();
    report.map_err(|error| match error {
        BenchError::Build(_) => Failure::failed(error),
        _ => Failure::unusable(error),
    })
}

/// Returns what adversaries have.
fn means(args: &MeansArgs) -> Means {
    Means {
        addresses: args.addresses,
        ipv6_prefix: args.ipv6_prefix,
        rate: args.rate,
        subjects: args.subjects,
        ..Means::default()
    }
}

/// Tells what came of an attack, and of the people in a scenario.
fn tell(report: &Report, played: Option<&ScenarioReport>, args: &AttackArgs) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if args.json {
        match played {
            Some(played) => out.json(played)?,
            None => out.json(report)?,
        }
    } else {
        show::report(report, &args.adversary, &mut out);
        if let Some(played) = played {
            scenario::people(played, &mut out);
        }
    }
    // First: what was found must not be lost with a page that cannot be written.
    let told = out.finish();
    let kept = args.html.as_deref().map_or(Ok(()), |path| write(path, &page(report)));
    told.and(kept)
}

/// Writes a page to a file.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("cannot write {}: {error}", path.display()));
    fs::write(path, page).map_err(failed)
}

/// Returns how an attack ends: a fault of ours before a mistake of the policy.
fn verdict(report: &Report, strict: bool) -> Exit {
    if report.is_exceeded() {
        Exit::Disproved
    } else if strict && report.rules.iter().any(|rule| !rule.exposed.is_empty()) {
        Exit::Problems
    } else {
        Exit::Fine
    }
}

#[cfg(test)]
mod tests {
    use tidegate_attack::adversary::Exposed;
    use tidegate_attack::bench;

    use super::*;

    /// Guards the codes that a pipeline goes by: more than can be is ours, and comes before the policy's mistakes.
    #[test]
    fn an_excess_ends_with_its_own_code_and_a_mistake_only_where_it_is_asked_for() {
        let policy = Arc::new(crate::demo::setup::policy().unwrap());
        let options = Options {
            rules: vec!["recovery".to_owned()],
            adversaries: vec!["burst-and-wait".to_owned()],
            effort: Effort::quick(),
            ..Options::default()
        };
        let mut report = bench::attack(&policy, "quillon.yaml", &options, &|_| ()).unwrap();
        assert_eq!((verdict(&report, false), verdict(&report, true)), (Exit::Fine, Exit::Fine));
        let exposed = Exposed { finding: None, says: "something".to_owned() };
        report.rules[0].exposed.push(exposed);
        assert_eq!((verdict(&report, false), verdict(&report, true)), (Exit::Fine, Exit::Problems));
        report.rules[0].rows[0].is_exceeded = true;
        assert_eq!((verdict(&report, false), verdict(&report, true)), (Exit::Disproved, Exit::Disproved));
    }
}
