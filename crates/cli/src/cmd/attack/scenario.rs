//! `tidegate attack --scenario`: what a file says, in one simulation.

use std::path::Path;
use std::sync::Arc;

use tidegate_attack::scenario::{ScenarioError, ScenarioReport, Seen, play};
use tidegate_policy::Policy;
use tidegate_policy::scenario::Scenario;
use tidegate_review::spoken_count;

use super::progress::Progress;
use crate::args::AttackArgs;
use crate::exit::Failure;
use crate::input::read_text;
use crate::output::Output;
use crate::table::Table;

/// Plays a scenario file at a policy.
///
/// # Errors
/// When the file cannot be read, has problems, or does not fit the policy.
pub(super) fn played(
    policy: &Arc<Policy>,
    path: &Path,
    args: &AttackArgs,
) -> Result<ScenarioReport, Failure> {
    let name = path.display().to_string();
    let text = read_text(path, "a scenario file")?;
    let scenario = Scenario::parse(&name, &text).map_err(Failure::unusable)?;
    let progress = Progress::new();
    let mut tell = |share: f64| progress.reached(share);
    let report = play(policy, &args.policy.name(), &scenario, args.seed, &mut tell);
    progress.finish();
    report.map_err(|error| match error {
        ScenarioError::Problems(problems) => Failure::unusable(problems),
        ScenarioError::Build(error) => Failure::failed(error),
    })
}

/// Writes what people met, without the attack and with it.
pub(super) fn people(report: &ScenarioReport, out: &mut Output) {
    let Some(people) = &report.people else { return };
    let mut table = Table::new(["WHO", "PEOPLE", "VISITS", "IN VAIN", "TRIES", "REFUSED", "NEVER SERVED"]);
    let mut row = |who: &str, seen: &Seen| {
        let count = |count: u64| spoken_count(count.into());
        table.push([
            who.to_owned(),
            count(seen.people),
            count(seen.visits),
            count(seen.in_vain),
            count(seen.tries),
            count(seen.denied),
            count(seen.shut_out),
        ]);
    };
    row("people, without the attack", &people.alone.everybody);
    if let Some(attacked) = &people.attacked {
        row("people, with it", &attacked.everybody);
        row("the victim among them", &attacked.victim);
    }
    table.lines().for_each(|line| out.line(&line));
    out.line("");
}
