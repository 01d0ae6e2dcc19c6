//! The same adversaries in real time at a running gateway, and what passed held against the simulation.
//!
//! A gateway is attacked only on loopback, or at a host that its owner names; requests and time are bounded, and shared out
//! before anything is sent (`plan`). Every request is kept with the instants at which it was sent and answered (`drive`).
//! Afterwards a limiter built of the policy is asked about the same requests at those instants (`follow`): where the two say
//! different things by more than clocks and the network explain, the gateway does not do what the policy says, or the
//! simulation does not do what the gateway does.

mod client;
mod drive;
mod follow;
mod here;
mod kind;
mod order;
mod plan;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use serde::Serialize;
use tidegate::BuildError;
use tidegate_algorithms::Span;
use tidegate_policy::Policy;
use tokio::time::sleep;

use crate::adversary::{Adversary, Means};
use crate::target::Requests;

pub use follow::{Difference, Followed};
pub use tidegate_trials::{Place, PlaceError};

use client::Client;
use drive::{Driven, drive_all, now};
use follow::follow;
use here::Sources;
use plan::{Plan, Planned};

/// How often is told how far an attack has come.
const TOLD: Duration = Duration::from_millis(250);

/// Why a rule is not played for which Envoy alone asks.
const FOR_ENVOY: &str = "it is for Envoy's descriptors, and a gateway is sent requests";

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
    /// Where chance began.
    pub seed: u64,
    /// How far in time the two may have decided apart, in microseconds: the tolerance, and the longest time that a refusal took
    /// there and back.
    pub borne_micros: u64,
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
    /// The limit that his schedule is made for, if it is made for one.
    pub limit: Option<String>,
    /// How long he was at it, in microseconds.
    pub length_micros: u64,
    /// How long two windows of his limit take, in microseconds: played for less, he has not shown all he can.
    pub windows_micros: u64,
    /// Whether he would have made more requests than there were for him.
    pub is_cut: bool,
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

    /// Returns how many requests were sent.
    pub fn sent(&self) -> u64 {
        self.rows.iter().map(|row| row.followed.sent).sum()
    }
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

/// Attacks a gateway with every adversary that fits and can be played from here; `told` is called now and then with the share
/// of the time that has gone.
///
/// # Errors
/// When the gateway does not answer.
pub async fn against(
    attacks: Attacks<'_>,
    place: &Place,
    options: LiveOptions,
    told: &dyn Fn(f64),
) -> Result<LiveReport, LiveError> {
    let mut unreachable = Vec::new();
    let mut reached = Vec::new();
    for (index, name) in attacks.rules {
        match Requests::new(Arc::clone(attacks.policy), *index) {
            Ok(requests) if requests.are_calls() => unreachable.push(format!("{name}: {FOR_ENVOY}")),
            Ok(requests) => reached.push((name.clone(), requests)),
            Err(why) => unreachable.push(format!("{name}: {why}")),
        }
    }
    let sources = Sources::to(place);
    let Plan { attacks: all, lanes, mut skipped } =
        Plan::new(&reached, sources, attacks.adversaries, &options);
    let client = Client::new(place, sources, &attacks.policy.problem);
    let driven = ticking(drive_all(&client, &all, &lanes, &options), &options, told).await?;
    let (mut records, mut cut) = (Vec::new(), vec![false; all.len()]);
    for (index, Driven { records: of_one, is_cut }) in driven {
        records.extend(of_one);
        if let Some(cut) = cut.get_mut(index) {
            *cut = is_cut;
        }
    }
    let (followed, borne) = follow(&all, records, options.tolerance).map_err(LiveError::Build)?;
    let mut rows = Vec::new();
    for ((attack, followed), is_cut) in all.iter().zip(followed).zip(cut) {
        if followed.sent == 0 {
            skipped.push(format!(
                "{}, {}: it would have begun after the time was over",
                attack.rule,
                attack.adversary.name()
            ));
        } else {
            rows.push(row(attack, followed, is_cut));
        }
    }
    rows.sort_by_key(|row| {
        let rule = attacks.rules.iter().position(|(_, name)| *name == row.rule);
        let adversary = attacks.adversaries.iter().position(|one| one.name() == row.adversary);
        (rule, adversary, row.limit.clone())
    });
    unreachable.extend(skipped);
    Ok(LiveReport {
        gateway: place.to_string(),
        seed: options.seed,
        borne_micros: borne.as_micros(),
        rows,
        skipped: unreachable,
    })
}

fn row(attack: &Planned, followed: Followed, is_cut: bool) -> LiveRow {
    LiveRow {
        rule: attack.rule.clone(),
        adversary: attack.adversary.name(),
        limit: attack.limit().map(str::to_owned),
        length_micros: attack.length.as_micros(),
        windows_micros: attack.windows.as_micros(),
        is_cut,
        followed,
    }
}

/// Waits for work, and tells meanwhile which share of its time has gone.
async fn ticking<T>(work: impl Future<Output = T>, options: &LiveOptions, told: &dyn Fn(f64)) -> T {
    let began = now();
    let ticks = async {
        loop {
            sleep(TOLD).await;
            let gone = now().saturating_since(began).as_micros();
            #[allow(clippy::cast_precision_loss, reason = "it is only shown")]
            told((gone as f64 / options.length.as_micros().max(1) as f64).min(1.0));
        }
    };
    match select(pin!(work), pin!(ticks)).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => never,
    }
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
