//! `tidegate attack --against`: adversaries at a running gateway, and what passed held against the simulation.

use std::sync::Arc;
use std::time::SystemTime;

use tidegate::Span;
use tidegate_attack::bench::{chosen, wanted};
use tidegate_attack::live::{Attacks, LiveOptions, LiveReport, Place, against};
use tidegate_policy::Policy;
use tidegate_review::spoken_count;

use crate::args::AttackArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::table::Table;

/// How long an attack on a gateway takes unless said.
const LENGTH: Span = Span::from_secs(30);

/// Attacks a gateway.
///
/// # Errors
/// When it may not be attacked, or does not answer.
pub(super) fn run(policy: &Arc<Policy>, url: &str, args: &AttackArgs) -> Result<Exit, Failure> {
    let place = Place::of(url, args.i_own_this.as_deref()).map_err(Failure::unusable)?;
    let rules = wanted(policy, &args.rule).map_err(Failure::unusable)?;
    let rules: Vec<(usize, String)> =
        rules.into_iter().map(|(index, rule)| (index, rule.name.clone())).collect();
    let adversaries = chosen(&args.adversary).map_err(Failure::unusable)?;
    let attacks = Attacks { policy, rules: &rules, adversaries: &adversaries };
    let options = LiveOptions {
        length: args.length.unwrap_or(LENGTH),
        requests: args.requests,
        tolerance: args.tolerance,
        seed: args.seed.unwrap_or_else(any_seed),
        means: super::means(&args.means),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let told = |rule: &str, adversary: &str| output::to_stderr(&format!("{rule}: {adversary} …"));
    let report = runtime.block_on(against(attacks, &place, options, &told));
    let report = report.map_err(Failure::failed)?;
    tell(&report, args)?;
    Ok(if report.differs() { Exit::Disproved } else { Exit::Fine })
}

/// Returns a seed that was not used a moment ago: what it asks about should be new to the gateway.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(1)
}

fn tell(report: &LiveReport, args: &AttackArgs) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if args.json {
        let text = serde_json::to_string_pretty(report);
        out.line(&text.map_err(|error| Failure::failed(format!("cannot write the report: {error}")))?);
    } else {
        lines(report, &mut out);
    }
    out.finish()
}

fn lines(report: &LiveReport, out: &mut Output) {
    let mut table =
        Table::new(["RULE", "ADVERSARY", "SENT", "PASSED", "SIMULATED", "BY THE CLOCK", "OTHERWISE"]);
    for row in &report.rows {
        let followed = &row.followed;
        let count = |count: u64| spoken_count(count.into());
        table.push([
            row.rule.clone(),
            row.adversary.to_owned(),
            count(followed.sent),
            count(followed.admitted),
            count(followed.simulated),
            count(followed.within_tolerance),
            count(followed.differing),
        ]);
    }
    table.lines().for_each(|line| out.line(&line));
    for skipped in &report.skipped {
        out.line(&format!("not attacked: {skipped}"));
    }
    for row in &report.rows {
        for difference in &row.followed.differences {
            let did = if difference.passed { "let it pass" } else { "refused it" };
            out.line(&format!(
                "{}, {}: the gateway {did} ({}), where the simulation says: {}",
                row.rule, row.adversary, difference.status, difference.simulation
            ));
        }
    }
    if report.differs() {
        out.line(&format!(
            "{} and the simulation differ: it is not governed by this policy, several processes count apart, it had counted \
             others' requests on these keys, or one of the two is wrong",
            report.gateway
        ));
    } else {
        out.line(&format!("{} did what the simulation says, up to clocks and the network", report.gateway));
    }
}
