//! A load test from its first phase to its last.

mod phase;
mod ramp;
mod streams;

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::plan::{Plan, Shape};
use crate::report::{Phase, Report};
use crate::target::{NO_PASSWORDS, Target};

use phase::Played;
pub(crate) use streams::Traffic;

/// How long a target may take to accept a connection before anything is measured, and the operator's endpoint to tell its metrics.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How far a load test is.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Which share of all is over, from 0 to 1; of a ramp, as far as that can be known.
    pub share: f64,
    /// How many requests are answered a second at this moment.
    pub rate: f64,
}

/// What whoever runs a load test hears of it, and by what he ends it.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Is told how far it is, several times a second.
    pub told: &'a dyn Fn(&Told<'_>),
    /// Ends it once it is true; what was measured is reported.
    pub stop: &'a Arc<AtomicBool>,
}

/// Why a load test came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It cannot be run as it is asked for.
    Unusable(String),
    /// The target, or what measures it, does not answer.
    Unreachable(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) | Self::Unreachable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs a load test.
///
/// # Errors
/// When it cannot be run, or the target does not answer.
pub fn run(plan: &Plan, control: Control<'_>) -> Result<Report, RunError> {
    reach(&plan.target)?;
    let mut run = Run { plan, control, played: 0, of: steps(plan) };
    run.warm_up()?;
    let (phases, capacity) = match plan.shape {
        Shape::Ramp => ramp::climb(&mut run)?,
        shape => {
            let mut phases = vec![run.phase(
                if shape.floods() { "without the flood" } else { "normal" },
                Traffic::users(plan.rate),
                plan.duration,
            )?];
            if shape.floods() && !run.is_stopped() {
                let flood = Traffic::users(plan.rate).with_flood(shape, plan.flood_rate);
                phases.push(run.phase("with the flood", flood, plan.duration)?);
            }
            (phases, None)
        }
    };
    if phases.iter().all(|phase| phase.decided() == 0) && !run.is_stopped() {
        return Err(undecided(plan, &phases));
    }
    Ok(Report::new(plan, phases, capacity, run.is_stopped()))
}

/// How many phases there will be, as far as that can be known.
fn steps(plan: &Plan) -> f64 {
    match plan.shape {
        Shape::Ramp => f64::from(ramp::STEPS),
        shape if shape.floods() => 2.0,
        _ => 1.0,
    }
}

/// A load test under way.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    control: Control<'a>,
    played: u32,
    of: f64,
}

impl Run<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Lets users send for a while, and measures nothing.
    fn warm_up(&mut self) -> Result<(), RunError> {
        if !self.plan.warm_up.is_zero() {
            // A ramp knows no rate that would be right; its first is low.
            let rate =
                self.plan.rate.or_else(|| (self.plan.shape == Shape::Ramp).then(|| ramp::first(self.plan)));
            let traffic = Traffic::users(rate);
            Played { plan: self.plan, traffic: &traffic, length: self.plan.warm_up, number: 0 }
                .play(self.control.stop, &|_| ())?;
        }
        Ok(())
    }

    /// Plays a phase.
    pub(crate) fn phase(
        &mut self,
        name: &str,
        traffic: Traffic,
        length: Duration,
    ) -> Result<Phase, RunError> {
        self.played += 1;
        let before = f64::from(self.played - 1);
        let told = |part: (f64, f64)| {
            let share = ((before + part.0) / self.of).min(1.0);
            (self.control.told)(&Told { phase: name, share, rate: part.1 });
        };
        let played = Played { plan: self.plan, traffic: &traffic, length, number: u64::from(self.played) };
        played.measure(name, self.control.stop, &told)
    }
}

/// Looks whether anything listens where a target is.
fn reach(target: &Target) -> Result<(), RunError> {
    let place = match target {
        Target::Gateway(requests) | Target::Api(requests) => &requests.place,
        Target::Envoy(calls) => &calls.place,
        Target::Redis(redis, _) => &redis.place,
        Target::Memory(..) => return Ok(()),
    };
    let connected = TcpStream::connect_timeout(&place.address(), PATIENCE)
        .map_err(|error| RunError::Unreachable(format!("{target}: {error}; {}", remedy(target))))?;
    if matches!(target, Target::Redis(..)) && wants_password(connected) {
        return Err(RunError::Unusable(format!("{target}: it asks for a password; {NO_PASSWORDS}")));
    }
    Ok(())
}

/// Returns whether a Redis tells nothing to whom it does not know. One that says nothing at all may be busy.
fn wants_password(mut redis: TcpStream) -> bool {
    let mut answer = [0; 7];
    let asked = redis
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| redis.write_all(b"PING\r\n"))
        .and_then(|()| redis.read_exact(&mut answer));
    asked.is_ok() && answer == *b"-NOAUTH"
}

fn remedy(target: &Target) -> &'static str {
    match target {
        Target::Gateway(_) => {
            "start the gateway with `tidegate serve POLICY`, or name the address it listens on"
        }
        Target::Api(_) => "start it with `tidegate serve POLICY`, or name where the policy's `api` listens",
        Target::Envoy(_) => {
            "start it with `tidegate serve POLICY`, or name where the policy's `envoy` listens"
        }
        Target::Redis(..) => "start a redis-server, or name the address it listens on",
        Target::Memory(..) => "",
    }
}

/// Says why nothing was decided at all.
fn undecided(plan: &Plan, phases: &[Phase]) -> RunError {
    let mut kinds: Vec<&str> = Vec::new();
    for (kind, count) in phases.iter().flat_map(Phase::faults) {
        if count > 0 && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let advice = match (&plan.target, kinds.contains(&"status")) {
        (Target::Gateway(_), true) => {
            "neither 2xx or 3xx nor 429 came; try the URL with curl: the service behind may be down, or want another path, method or field"
        }
        (Target::Api(_), true) => {
            "no verdict came; try the question with curl: a token may be demanded (--token-file), or a member be wrong"
        }
        (Target::Envoy(_), true) => {
            "no overall code came; a token may be demanded (--token-file), or the domain be unknown"
        }
        (Target::Redis(..), true) => "it does not decide; `tidegate doctor POLICY` looks why",
        _ => "it accepts connections and says nothing that is understood; is it the right port?",
    };
    let came = phases.iter().find_map(Phase::odd).map_or_else(String::new, |odd| format!(": {odd}"));
    RunError::Unreachable(format!(
        "{}: no request was decided ({}{came}); {advice}",
        plan.target,
        kinds.join(", ")
    ))
}
