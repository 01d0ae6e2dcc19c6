//! The bench: every adversary that fits, at every rule of a policy, at many instants, and what he came to at his worst.
//!
//! A single run can mislead tenfold: whether it begins just before a window's end or just after it, whether it hits the
//! instants it aims at. So each attack is played short at many phases and jitters, and long at the one that let most through.
//! Plays know nothing of each other, and go on side by side on all cores; what comes out does not depend on how many.

mod plays;
mod rows;
mod workers;

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use tidegate::BuildError;
use tidegate_algorithms::Span;
use tidegate_policy::{Policy, Rule};
use tidegate_review::{DAY, Guess};

use crate::adversary::{Adversary, Aim, Exposed, Means, adversaries};
use crate::report::{LimitShown, Report, Row, RuleReport, Trade};
use crate::stage::Stage;
use crate::target::{Requests, Target};

pub use plays::Effort;
pub(crate) use plays::MONDAY;
pub(crate) use rows::Attack;
pub(crate) use workers::run;

/// What is played.
#[derive(Debug, Clone)]
pub struct Options {
    /// The rules; all unless said.
    pub rules: Vec<String>,
    /// The adversaries by name; all that fit unless said.
    pub adversaries: Vec<String>,
    /// Where chance begins.
    pub seed: u64,
    /// What adversaries have.
    pub means: Means,
    /// How much is played.
    pub effort: Effort,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            adversaries: Vec::new(),
            seed: 1,
            means: Means::default(),
            effort: Effort::default(),
        }
    }
}

/// Why nothing can be played.
#[derive(Debug)]
pub enum BenchError {
    /// The policy has no rule of that name.
    NoRule {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is no adversary of that name.
    NoAdversary {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// None of the adversaries that are asked for fits a rule.
    NothingFits {
        /// The adversaries.
        adversaries: Vec<String>,
        /// The rules that they were tried at.
        rules: Vec<String>,
    },
    /// The limits cannot be built.
    Build(BuildError),
}

/// Attacks every rule of a policy; `name` is what the report calls it, and `played` is called after every play with how many
/// there are in all.
///
/// # Errors
/// When a rule or an adversary that is asked for does not exist, or none of those adversaries fits a rule.
pub fn attack(
    policy: &Arc<Policy>,
    name: &str,
    options: &Options,
    played: &(dyn Fn(usize) + Sync),
) -> Result<Report, BenchError> {
    let adversaries = chosen(&options.adversaries)?;
    let mut report = Report { policy: name.to_owned(), seed: options.seed, requests: 0, rules: Vec::new() };
    let rules: Vec<(usize, &Rule)> = wanted(policy, &options.rules)?;
    let (mut attacks, mut unfit) = (Vec::new(), Vec::new());
    for (index, rule) in rules {
        let shown = report.rules.len();
        let mut begun = RuleReport::new(&rule.name, rule.class);
        match Requests::new(Arc::clone(policy), index) {
            Err(unreachable) => begun.skipped = Some(unreachable.to_string()),
            Ok(requests) => {
                let aim = requests.aim();
                let guess = aim.code.as_ref().and_then(|code| Guess::of(code).ok());
                begun = begun.guessing(guess.as_ref());
                begun.limits = limits(policy, &aim);
                begun.trades = guess.iter().flat_map(|guess| trades(&aim, guess)).collect();
                let stage = Stage::new(Arc::new(requests) as Arc<dyn Target>, options.seed, guess);
                let all = Attack::all(&adversaries, &aim, &stage, options);
                if all.is_empty() {
                    begun.skipped = Some(fits_nowhere(&options.adversaries));
                    unfit.push(rule.name.clone());
                }
                attacks.extend(all.into_iter().map(|attack| (shown, attack)));
            }
        }
        report.rules.push(begun);
    }
    if attacks.is_empty() && !unfit.is_empty() {
        return Err(BenchError::NothingFits { adversaries: options.adversaries.clone(), rules: unfit });
    }
    let mut exposed: Vec<Vec<(u128, Exposed)>> = vec![Vec::new(); report.rules.len()];
    for (index, done) in run(&attacks, played).map_err(BenchError::Build)? {
        report.requests = report.requests.saturating_add(done.requests);
        if let (Some(all), Some(one)) = (exposed.get_mut(index), done.exposed) {
            all.push((guesses_a_day(&done.row), one));
        }
        if let Some(rule) = report.rules.get_mut(index) {
            rule.rows.push(done.row);
        }
    }
    for (rule, exposed) in report.rules.iter_mut().zip(exposed) {
        rule.exposed = gravest(exposed);
    }
    Ok(report)
}

/// Tells why a rule has no attacks: the adversaries that were chosen, or all there are, need something else.
fn fits_nowhere(chosen: &[String]) -> String {
    let who =
        if chosen.is_empty() { "no adversary".to_owned() } else { format!("none of {}", chosen.join(", ")) };
    format!("{who} fits it")
}

/// Returns how many guesses an attack made a day for as long as it went on: of two that were cut short after unlike times
/// it says which does more.
fn guesses_a_day(row: &Row) -> u128 {
    let went_on = row.worst.went_on(Span::from_micros(row.length_micros)).as_micros();
    let in_days = u128::from(row.worst.guesses).saturating_mul(DAY.as_micros().into());
    in_days.checked_div(went_on.into()).unwrap_or(0)
}

/// Returns of each mistake the sentence of the attack that let most through in its time, those of the most first.
fn gravest(mut exposed: Vec<(u128, Exposed)>) -> Vec<Exposed> {
    exposed.sort_by_key(|(guesses, _)| Reverse(*guesses));
    let mut told: Vec<Exposed> = Vec::new();
    for (_, one) in exposed {
        if one.finding.is_none() || told.iter().all(|other| other.finding != one.finding) {
            told.push(one);
        }
    }
    told
}

/// Returns the rules of those names, or all when none are named, each with its index; the fallback comes last.
///
/// # Errors
/// When the policy has no such rule.
pub fn wanted<'p>(policy: &'p Policy, names: &[String]) -> Result<Vec<(usize, &'p Rule)>, BenchError> {
    let all = || policy.rules.iter().chain(&policy.fallback).enumerate();
    if names.is_empty() {
        return Ok(all().collect());
    }
    let find = |name: &String| {
        all().find(|(_, rule)| rule.name == *name).ok_or_else(|| BenchError::NoRule {
            wanted: name.clone(),
            known: all().map(|(_, rule)| rule.name.clone()).collect(),
        })
    };
    once(names).map(find).collect()
}

/// Returns each name once, in its first place.
fn once(names: &[String]) -> impl Iterator<Item = &String> {
    names
        .iter()
        .enumerate()
        .filter(|(place, name)| !names.iter().take(*place).any(|other| other == *name))
        .map(|(_, name)| name)
}

/// Returns the adversaries of those names, or all when none are named.
///
/// # Errors
/// When there is no such adversary.
pub fn chosen(names: &[String]) -> Result<Vec<&'static dyn Adversary>, BenchError> {
    if names.is_empty() {
        return Ok(adversaries().to_vec());
    }
    let find = |name: &String| {
        crate::adversary::named(name).ok_or_else(|| BenchError::NoAdversary {
            wanted: name.clone(),
            known: adversaries().iter().map(|adversary| adversary.name().to_owned()).collect(),
        })
    };
    once(names).map(find).collect()
}

/// Weighs every limit that tells people apart.
fn trades<'a>(aim: &'a Aim, guess: &'a Guess) -> impl Iterator<Item = Trade> + 'a {
    let of_people = aim.guards.iter().filter(|guard| guard.keyed.subject);
    of_people.filter_map(|guard| Trade::of(&guard.name, &guard.quota, guess))
}

/// Returns the limits that an attack has to pass, as a report shows them.
pub(crate) fn limits(policy: &Policy, aim: &Aim) -> Vec<LimitShown> {
    let shown = aim.guards.iter().map(|guard| {
        let terms = policy.limits().find(|limit| limit.name == guard.name).map(|limit| &limit.terms);
        let says = terms.map_or_else(String::new, |terms| terms.says.clone());
        LimitShown::of(&guard.name, &says, &guard.quota)
    });
    shown.collect()
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule { wanted, known } => {
                write!(f, "the policy has no rule \"{wanted}\"; it has {}", known.join(", "))
            }
            Self::NoAdversary { wanted, known } => {
                write!(f, "there is no adversary \"{wanted}\"; there are {}", known.join(", "))
            }
            Self::NothingFits { adversaries, rules } => write!(
                f,
                "{} does nothing at {} as it is set up and run here; without --adversary all that fit are played, and \
                 docs/attack.md says what each is for",
                adversaries.join(", "),
                rules.join(", ")
            ),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BenchError {}
