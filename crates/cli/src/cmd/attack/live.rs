//! `tidegate attack --against`: adversaries at a running gateway, and what passed held against the simulation.

use std::sync::Arc;
use std::time::SystemTime;

use tidegate::Span;
use tidegate_attack::bench::{chosen, wanted};
use tidegate_attack::live::{Attacks, LiveOptions, LiveReport, Place, against};
use tidegate_attack::target::Requests;
use tidegate_policy::Policy;
use tidegate_review::spoken_count;

use super::Progress;
use crate::args::AttackArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::table::Table;

/// Clocks that are further apart than this are to be set.
const MOST_TOLERANCE: Span = Span::from_secs(10);
/// How long an attack on a gateway takes unless said.
const LENGTH: Span = Span::from_secs(30);

/// Attacks a gateway.
///
/// # Errors
/// When it may not be attacked, or does not answer.
pub(super) fn run(policy: &Arc<Policy>, url: &str, args: &AttackArgs) -> Result<Exit, Failure> {
    if args.tolerance > MOST_TOLERANCE {
        let message = format!("a tolerance of {} explains nearly anything that a limit does", args.tolerance);
        let remedy = format!("set the clocks, and write at most --tolerance {MOST_TOLERANCE}");
        return Err(Failure::unusable(message).advise(remedy));
    }
    let place = Place::of(url, args.i_own_this.as_deref()).map_err(Failure::unusable)?;
    let rules = wanted(policy, &args.rule).map_err(Failure::unusable)?;
    if rules.iter().all(|(_, rule)| Requests::come_as_calls(policy, rule)) {
        return Err(for_envoy());
    }
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
    let progress = Progress::new();
    let report = runtime.block_on(against(attacks, &place, options, &|share| progress.reached(share)));
    progress.finish();
    let report = report.map_err(Failure::failed)?;
    tell(&report, args)?;
    if report.sent() == 0 {
        return Err(Failure::unusable("nothing was sent; see above what it would take"));
    }
    Ok(if report.differs() { Exit::Disproved } else { Exit::Fine })
}

/// Returns the failure of an attack on rules that no request over HTTP meets.
fn for_envoy() -> Failure {
    let message =
        "these rules are for Envoy's descriptors, and `--against` sends requests, which none of them is for";
    let remedy = "leave --against out to attack them in virtual time, or name rules of the gateway by --rule; a running service \
                  of theirs is tested through Envoy (docs/envoy.md)";
    Failure::unusable(message).advise(remedy)
}

/// Returns a seed that was not used a moment ago: what it asks about should be new to the gateway.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(1)
}

fn tell(report: &LiveReport, args: &AttackArgs) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if args.json {
        out.json(report)?;
    } else {
        lines(report, &mut out);
    }
    out.finish()
}

fn lines(report: &LiveReport, out: &mut Output) {
    let mut table = Table::new([
        "RULE",
        "ADVERSARY",
        "LIMIT",
        "SENT",
        "PASSED",
        "SIMULATED",
        "BY THE CLOCK",
        "OTHERWISE",
    ]);
    for row in &report.rows {
        let followed = &row.followed;
        let count = |count: u64| spoken_count(count.into());
        let limit = row.limit.as_deref().unwrap_or_default();
        table.push([
            row.rule.clone(),
            row.adversary.to_owned(),
            limit.rsplit('/').next().unwrap_or_default().to_owned(),
            count(followed.sent),
            count(followed.admitted),
            count(followed.simulated),
            count(followed.within_tolerance),
            count(followed.differing),
        ]);
    }
    table.lines().for_each(|line| out.line(&line));
    for skipped in &report.skipped {
        out.line(&format!("not played: {skipped}"));
    }
    shortened(report, out);
    for row in &report.rows {
        for difference in &row.followed.differences {
            let did = if difference.passed { "let it pass" } else { "refused it" };
            out.line(&format!(
                "{}, {}: the gateway {did} ({}), where the simulation says: {}",
                row.rule, row.adversary, difference.status, difference.simulation
            ));
        }
    }
    verdict(report, out);
}

/// Tells what was played for less than it takes to show all of it.
fn shortened(report: &LiveReport, out: &mut Output) {
    let too_short = report.rows.iter().filter(|row| row.length_micros < row.windows_micros);
    if let Some(longest) = too_short.clone().map(|row| row.windows_micros).max() {
        let longest = Span::from_micros(longest);
        let rows = too_short.count();
        out.line(&format!(
            "{rows} attacks saw less than two windows of their limits; --for {longest} would show the slowest"
        ));
    }
    let cut = report.rows.iter().filter(|row| row.is_cut).count();
    if cut > 0 {
        out.line(&format!("{cut} attacks used up their share of --requests"));
    }
}

fn verdict(report: &LiveReport, out: &mut Output) {
    let (gateway, seed) = (&report.gateway, report.seed);
    let undecided: u64 = report.rows.iter().map(|row| row.followed.undecided).sum();
    if undecided > 0 {
        out.line(&format!(
            "{} requests were answered without the limits' counts, and show nothing: the store was down, or the gateway \
             took no more",
            spoken_count(undecided.into())
        ));
    }
    let untold = report.rows.iter().filter(|row| row.followed.untold > 0).count();
    let borne = Span::from_micros(report.borne_micros.div_ceil(1_000).saturating_mul(1_000));
    if untold > 0 {
        out.line(&format!(
            "{untold} attacks cannot be told: answers took so long that {borne} have to be borne, too much beside their limits' \
             windows; play them again when this machine and the gateway's are less busy"
        ));
    }
    if report.differs() {
        out.line(&format!(
            "{gateway} and the simulation differ (seed {seed}): it is not governed by this policy, several processes count \
             apart, others' requests were counted on the same keys, its clock is off by more than --tolerance, or one of \
             the two is wrong. Accounts, sessions and addresses were new; a limit that has one key for everybody counts \
             others too"
        ));
    } else if report.sent() > 0 {
        out.line(&format!(
            "{gateway} did what the simulation says, up to {borne} for clocks and the network"
        ));
    }
}
