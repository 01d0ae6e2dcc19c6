//! A scenario, played: all its adversaries and people in one simulation, over what it says there is, with what it says
//! happens.
//!
//! It is played once as it is written, which is what it is for: it tells what came of that day, not what the worst day is.
//! The people are played alone first, by the same chance and through the same outages, so that what the attack took from them
//! is told apart from what the limits take anyway.

mod apart;
mod cast;
mod met;
mod rows;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tidegate::BuildError;
use tidegate_algorithms::{Span, Timestamp};
use tidegate_policy::scenario::{Kept, Scenario};
use tidegate_policy::{Policy, Problems};
use tidegate_review::Guess;

use crate::act::Role;
use crate::adversary::{Aim, Means, Play, adversaries};
use crate::bench::{MONDAY, limits};
use crate::measure::{Measure, Measured, Wanted};
use crate::report::{Report, RuleReport};
use crate::simulate::{Course, simulate};
use crate::stage::Stage;
use crate::target::{Requests, Target};
use crate::world::{Setting, StoreKind, World};

pub use met::{Met, PeopleMet, Seen};

use cast::Cast;

/// The most requests that are made: some twenty seconds of a simulation.
const MOST_REQUESTS: u64 = 20_000_000;
/// Chance begins here where neither the scenario nor whoever plays it says.
const SEED: u64 = 1;

/// What came of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioReport {
    /// The scenario file's name as it was given.
    pub scenario: String,
    /// What the adversaries came to, in a report of the one rule: a row for all of them together, if there are several, and
    /// one for each. Figures of a row are those of the one play; bounds are of what all of them touched.
    pub report: Report,
    /// What the people met, if there are any.
    pub people: Option<PeopleMet>,
}

/// Why a scenario cannot be played.
#[derive(Debug)]
pub enum ScenarioError {
    /// It names what is not there, or says what cannot be; each with its place.
    Problems(Problems),
    /// The limits cannot be built.
    Build(BuildError),
}

/// Plays a scenario at a policy; `name` is what the report calls the policy, `seed` wins over the scenario's own, and
/// `progress` is told now and then which share of it has been played, from 0 to 1.
///
/// # Errors
/// When a rule, a limit or an adversary that it names is not there or has nothing to do, or the limits cannot be built.
pub fn play(
    policy: &Arc<Policy>,
    name: &str,
    scenario: &Scenario,
    seed: Option<u64>,
    progress: &mut dyn FnMut(f64),
) -> Result<ScenarioReport, ScenarioError> {
    let names: Vec<&str> = adversaries().iter().map(|adversary| adversary.name()).collect();
    scenario.check_names(policy, &names)?;
    let rules = policy.rules.iter().chain(&policy.fallback);
    let index = rules.clone().position(|rule| rule.name == scenario.rule.name).unwrap_or(0);
    let requests = Requests::new(Arc::clone(policy), index).map_err(|unreachable| {
        scenario.problem(scenario.rule.place, unreachable.to_string(), "name another rule")
    })?;
    let aim = requests.aim();
    let seed = seed.or(scenario.seed).unwrap_or(SEED);
    let limits = limits(policy, &aim);
    let (rule, people) = perform(Arc::new(requests), aim, scenario, seed, progress)?;
    let rule = RuleReport { limits, ..rule };
    let requests = rows::requests(&rule, people.as_ref());
    let report = Report { policy: name.to_owned(), seed, requests, rules: vec![rule] };
    Ok(ScenarioReport { scenario: scenario.file.clone(), report, people })
}

/// Plays it at a target, whatever that is made of.
fn perform(
    target: Arc<dyn Target>,
    aim: Aim,
    scenario: &Scenario,
    seed: u64,
    progress: &mut dyn FnMut(f64),
) -> Result<(RuleReport, Option<PeopleMet>), ScenarioError> {
    let setting = setting(aim.setting, scenario)?;
    let code = scenario.code.clone().or_else(|| aim.code.clone());
    let aim = Aim { code, setting, ..aim };
    let guess = aim.code.as_ref().and_then(|code| Guess::of(code).ok());
    let stage = Stage { most_requests: MOST_REQUESTS, ..Stage::new(target, seed, guess) };
    let script = Script { scenario, aim: &aim, stage: &stage, start: scenario.start.unwrap_or(MONDAY) };
    let cast = Cast::of(&script)?;
    let halves = if cast.people > 0 && cast.has_adversaries() { 2.0 } else { 1.0 };
    let alone = (cast.people > 0).then(|| {
        let people = Cast::people_of(&script);
        script.run(people, &mut |done| progress(done / halves))
    });
    let alone = alone.transpose()?;
    let mut rule = RuleReport::new(&aim.rule, aim.class).guessing(guess.as_ref());
    let attacked = if cast.has_adversaries() {
        let before = if alone.is_some() { 1.0 } else { 0.0 };
        let run = script.run(cast, &mut |done| progress((before + done) / halves))?;
        rule.rows = rows::of(&script, &run);
        Some(run.met)
    } else {
        None
    };
    let people = alone.map(|alone| PeopleMet { alone: alone.met, attacked });
    Ok((rule, people))
}

/// What a scenario is played with.
struct Script<'a> {
    scenario: &'a Scenario,
    aim: &'a Aim,
    stage: &'a Stage,
    start: Timestamp,
}

/// What came of one play.
struct Run {
    /// What all adversaries came to together.
    all: Measured,
    /// What each came to.
    each: Vec<(cast::Part, Measured)>,
    met: Met,
    /// Whether what was admitted has to stay within its bounds.
    holds_to_bounds: bool,
}

impl Script<'_> {
    /// Returns the whole scenario as the play of one adversary.
    fn whole(&self) -> Play {
        Play { start: self.start, length: self.scenario.length, jitter: Span::ZERO, means: Means::default() }
    }

    /// Plays a cast.
    fn run(&self, cast: Cast, progress: &mut dyn FnMut(f64)) -> Result<Run, BuildError> {
        let world = World::new(Arc::clone(&self.stage.target), self.aim.setting)?;
        let mut world = world.with_parties(cast.parts.len());
        let whole = self.whole();
        // Somebody else may have been at a limit before.
        let measure =
            |play: &Play| Measure::new(Wanted { is_first: false, ..self.stage.wanted(self.aim, play) });
        let mut all = measure(&whole);
        let mut each: Vec<Measure> = cast.parts.iter().map(|part| measure(&part.play)).collect();
        let mut met = met::Meeting::default();
        let mut clock = Clock::new(&whole);
        let course =
            Course { until: whole.end(), most_requests: self.stage.most_requests, seed: self.stage.seed };
        let (people, parts) = (cast.people, cast.parts);
        let part_of = cast.part_of;
        let played = simulate(&mut world, cast.seats, cast.incidents, course, &mut |event| {
            clock.tick(event.at, progress);
            all.event(event);
            match event.role {
                Role::Person => met.tried(event),
                Role::Adversary => {
                    let part = event.seat.checked_sub(people).and_then(|seat| part_of.get(seat));
                    if let Some(measure) = part.and_then(|part| each.get_mut(*part)) {
                        measure.event(event);
                    }
                }
            }
        });
        progress(1.0);
        let closed = |mut measure: Measure, party: Option<usize>| {
            measure.ended(played.ended);
            let touched =
                party.and_then(|party| world.exposure_of(party)).unwrap_or_else(|| world.exposure());
            measure.finish(&world, touched)
        };
        // What one alone has touched bounds what passed for him, whoever else was there.
        let own = |(party, measure)| closed(measure, Some(party));
        Ok(Run {
            holds_to_bounds: world.holds_to_bounds(),
            met: met.finish(),
            each: parts.into_iter().zip(each.into_iter().enumerate().map(own)).collect(),
            all: closed(all, None),
        })
    }
}

/// Tells of every percent that has been played.
struct Clock {
    start: Timestamp,
    percent: u64,
    next: Timestamp,
}

impl Clock {
    fn new(play: &Play) -> Self {
        Self { start: play.start, percent: (play.length.as_micros() / 100).max(1), next: play.start }
    }

    fn tick(&mut self, at: Timestamp, progress: &mut dyn FnMut(f64)) {
        if at < self.next {
            return;
        }
        let percents = at.saturating_since(self.start).as_micros().checked_div(self.percent).unwrap_or(0);
        let percents = u32::try_from(percents.min(100)).unwrap_or(100);
        let until = self.percent.saturating_mul(u64::from(percents).saturating_add(1));
        self.next = self.start.saturating_add(Span::from_micros(until));
        progress(f64::from(percents) / 100.0);
    }
}

/// Returns how the limits are run: as the policy says, where the scenario says nothing else.
fn setting(policys: Setting, scenario: &Scenario) -> Result<Setting, Problems> {
    let around = scenario.topology;
    let mut setting = Setting {
        instances: around.instances.unwrap_or(policys.instances),
        regions: around.regions.unwrap_or(policys.regions),
        // Stores that learn of each other are those of regions, not of processes.
        shared: around.shared.unwrap_or(policys.shared || around.lag.is_some()),
        lag: around.lag.or(policys.lag),
        skew: around.skew.unwrap_or(policys.skew),
        ..policys
    };
    let many = |keys: u32| usize::try_from(keys).unwrap_or(usize::MAX);
    match scenario.store {
        None => {}
        Some(Kept::Keys(keys)) => setting.keys = many(keys),
        Some(Kept::Evicting(keys)) => setting.store = StoreKind::Evicting { keys: many(keys) },
        Some(Kept::StaleCheck(gap)) => setting.store = StoreKind::StaleCheck { gap },
        Some(Kept::ReadModifyWrite(gap)) => setting.store = StoreKind::ReadModifyWrite { gap },
        Some(Kept::OwnClocks) => setting.store = StoreKind::OwnClocks,
    }
    match scenario.outages.first() {
        Some(outage) if !setting.shared => {
            let message = "a store in the process's own memory is not lost without the process";
            let remedy = "write `topology: { shared: true }` for a store outside, or `restarts` for outages";
            Err(scenario.problem(outage.written.0, message, remedy))
        }
        _ => Ok(setting),
    }
}

impl From<Problems> for ScenarioError {
    fn from(problems: Problems) -> Self {
        Self::Problems(problems)
    }
}

impl From<BuildError> for ScenarioError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problems(problems) => problems.fmt(f),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests;
