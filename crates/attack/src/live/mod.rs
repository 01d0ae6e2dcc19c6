//! The same adversaries in real time at a running gateway, and what passed held against the simulation.
//!
//! A gateway is attacked only on loopback, or at a host that its owner names; requests and time are bounded. Every request is
//! kept with the instants at which it was sent and answered. Afterwards a limiter built of the policy is asked about the same
//! requests at those instants ([`follow`]): where the two say different things by more than clocks and the network explain,
//! the gateway does not do what the policy says, or the simulation does not do what the gateway does.

mod client;
mod drive;
mod follow;
mod here;
mod place;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tidegate::BuildError;
use tidegate_algorithms::Span;
use tidegate_policy::Policy;

use crate::adversary::{Adversary, Aim, Means, Need, Play};
use crate::target::Requests;

pub use follow::{Difference, Followed};
pub use place::{Place, PlaceError};

use drive::{Budget, drive, now};
use follow::Follower;
use here::Here;

/// How a gateway is attacked.
#[derive(Debug, Clone, Copy)]
pub struct LiveOptions {
    /// How long all of it may take.
    pub length: Span,
    /// The most requests.
    pub requests: u64,
    /// How far the gateway's clock may be off ours, beside the time that a request is under way.
    pub tolerance: Span,
    /// Where chance begins; also which accounts are asked about, so that another number finds nothing counted.
    pub seed: u64,
    /// What adversaries have.
    pub means: Means,
}

/// What attacks on a gateway came to.
#[derive(Debug, Clone, Serialize)]
pub struct LiveReport {
    /// The gateway.
    pub gateway: String,
    /// What was played at every rule.
    pub rows: Vec<LiveRow>,
    /// What was not played, and why.
    pub skipped: Vec<String>,
}

/// What one adversary came to at one rule.
#[derive(Debug, Clone, Serialize)]
pub struct LiveRow {
    /// The rule.
    pub rule: String,
    /// The adversary's name.
    pub adversary: &'static str,
    /// What came of his requests, at the gateway and in the simulation.
    pub followed: Followed,
}

/// Why a gateway cannot be attacked.
#[derive(Debug)]
pub enum LiveError {
    /// A gateway cannot be reached, or went away.
    Gateway(String),
    /// The limits cannot be built.
    Build(BuildError),
}

impl LiveReport {
    /// Returns whether the gateway and the simulation differ.
    pub fn differs(&self) -> bool {
        self.rows.iter().any(|row| !row.followed.differences.is_empty())
    }
}

/// One attack that is to be played at a gateway.
struct Planned<'r> {
    rule: String,
    here: &'r Here,
    aim: Aim,
    adversary: &'static dyn Adversary,
}

/// What is played at a gateway.
#[derive(Clone, Copy)]
pub struct Attacks<'a> {
    /// The policy that governs it.
    pub policy: &'a Arc<Policy>,
    /// The indices of the rules with their names; the fallback's is that after the last.
    pub rules: &'a [(usize, String)],
    /// The adversaries.
    pub adversaries: &'a [&'static dyn Adversary],
}

/// Attacks a gateway with every adversary that fits and can be played from here, one after the other; `told` is called before
/// each with the rule and the adversary.
///
/// # Errors
/// When the gateway does not answer.
pub async fn against(
    attacks: Attacks<'_>,
    place: &Place,
    options: LiveOptions,
    told: &dyn Fn(&str, &str),
) -> Result<LiveReport, LiveError> {
    let mut report = LiveReport { gateway: place.to_string(), rows: Vec::new(), skipped: Vec::new() };
    let mut reached = Vec::new();
    for (index, name) in attacks.rules {
        let requests = Requests::new(Arc::clone(attacks.policy), *index).map_err(|why| why.to_string());
        match requests.and_then(|requests| Here::new(requests, place, options.seed)) {
            Ok(here) => reached.push((name, here)),
            Err(why) => report.skipped.push(format!("{name}: {why}")),
        }
    }
    let all = reached.iter().flat_map(|(rule, here)| planned(rule, here, attacks.adversaries));
    let all: Vec<Planned<'_>> = all.collect();
    let Some((_, first)) = reached.first() else { return Ok(report) };
    let mut limits = Follower::new(first.requests(), options.tolerance).map_err(LiveError::Build)?;
    let mut budget = Budget::new(options.requests);
    let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let each = Span::from_micros(options.length.as_micros().checked_div(count).unwrap_or(0));
    for attack in all {
        told(&attack.rule, attack.adversary.name());
        let play = Play { start: now(), length: each, jitter: Span::ZERO, means: options.means };
        let seats = attack.adversary.seats(&attack.aim, &play);
        let records = drive(place, attack.here, seats, &play, &mut budget).await?;
        let followed = limits.decide(attack.here.requests(), records);
        report.rows.push(LiveRow { rule: attack.rule, adversary: attack.adversary.name(), followed });
    }
    Ok(report)
}

/// Returns what can be played at a rule: what needs nothing that a gateway would have to be brought into.
fn planned<'r>(rule: &str, here: &'r Here, adversaries: &[&'static dyn Adversary]) -> Vec<Planned<'r>> {
    let aim = here.requests().aim();
    let playable = |adversary: &&&'static dyn Adversary| {
        let needs = adversary.needs();
        !needs.iter().any(|need| matches!(need, Need::Outage | Need::Restarts | Need::Ipv6Network))
    };
    let each = adversaries.iter().filter(playable).flat_map(|adversary| {
        let focuses = if adversary.is_for_one_limit() { aim.guards.len() } else { 1 };
        let aims = (0..focuses).map(|focus| Aim { focus, ..aim.clone() });
        let fitting = aims.filter(|aim| adversary.fits(aim));
        fitting
            .map(|aim| Planned { rule: rule.to_owned(), here, aim, adversary: *adversary })
            .collect::<Vec<_>>()
    });
    each.collect()
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(why) => f.write_str(why),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LiveError {}
