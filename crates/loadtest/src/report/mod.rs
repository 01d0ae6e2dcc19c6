//! What was seen, as values that are written down as JSON as they are.

mod class;
mod expected;
mod generator;
mod hold;
mod lines;
mod page;
mod verdict;
mod words;

use std::time::Duration;

use hdrhistogram::CreationError;
use serde::Serialize;
use tidegate_review::float;

use crate::machine;
use crate::outcome::Odd;
use crate::plan::{Plan, Schedule, Shape};
use crate::run::Traffic;
use crate::scrape::Scraped;
use crate::target::Target;
use crate::worker::{CLASSES, Worked};

pub use class::{ClassReport, Errors, Latency, SecondReport};
pub use expected::Expectation;
pub use generator::Generator;
pub use lines::lines;
pub use page::page;
pub use words::{about, time};

/// The version of what is written: it grows when a member changes its meaning or goes.
const VERSION: u32 = 1;

/// What a load test saw.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this form.
    pub version: u32,
    /// The program that tested.
    pub tool: &'static str,
    /// Whom it asked.
    pub target: String,
    /// What kind of target that is.
    pub kind: &'static str,
    /// Who asked.
    pub shape: Shape,
    /// `open` or `closed`.
    #[serde(rename = "loop")]
    pub loop_kind: &'static str,
    /// How requests of an open loop came.
    pub schedule: Option<Schedule>,
    /// How it was asked.
    pub settings: Settings,
    /// In words, what all of it comes to.
    pub verdict: Vec<String>,
    /// What users met, and what the flood did, in the phase that counts: the last, of a ramp the highest step that held.
    pub classes: Classes,
    /// The capacity that a ramp found.
    pub capacity: Option<Capacity>,
    /// How many times its value without the flood the 99th percentile of users was with it.
    pub slowdown: Option<f64>,
    /// What was expected, and whether it was so.
    pub expectations: Vec<Expectation>,
    /// Whether the generator itself was what limited any phase that counts.
    pub generator_limited: bool,
    /// Whether it was ended before its time.
    pub interrupted: bool,
    /// Every phase in order.
    pub phases: Vec<Phase>,
}

/// How a target was asked.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Requests a second of users, in an open loop.
    pub rate: Option<f64>,
    /// Requests a second of the flood, in an open loop.
    pub flood_rate: Option<f64>,
    /// Requests of a class under way at once at most.
    pub connections: u32,
    /// Users.
    pub users: u32,
    /// The exponent of Zipf's law.
    pub skew: f64,
    /// Threads that sent.
    pub threads: u32,
    /// Processors of the machine that sent.
    pub processors: u32,
    /// How long a phase was to go on, in seconds.
    pub duration_seconds: f64,
    /// How long an answer was waited for, in seconds.
    pub timeout_seconds: f64,
    /// Where chance began.
    pub seed: u64,
}

/// The classes of traffic of a phase.
#[derive(Debug, Clone, Serialize)]
pub struct Classes {
    /// Users.
    pub others: ClassReport,
    /// Whoever floods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flood: Option<ClassReport>,
}

/// What a phase saw.
#[derive(Debug, Clone, Serialize)]
pub struct Phase {
    /// What it is called.
    pub name: String,
    /// How long requests were sent, in seconds.
    pub seconds: f64,
    /// The classes of traffic.
    pub classes: Classes,
    /// The generator.
    pub generator: Generator,
    /// The process that was watched, if one was.
    pub server: Option<Server>,
    /// The store, as far as it tells.
    pub store: Option<Store>,
}

/// What the process used that was watched.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    /// The processor's time, in seconds.
    pub cpu_seconds: f64,
    /// The same for each decision, in microseconds.
    pub cpu_us_per_request: f64,
}

/// What a store was asked.
#[derive(Debug, Clone, Serialize)]
pub struct Store {
    /// Calls over the network.
    pub calls: u64,
    /// The same for each decision.
    pub calls_per_request: f64,
    /// Refusals that needed no call, since they were remembered; of a gateway.
    pub remembered: Option<u64>,
}

/// The rate at which a target keeps up.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Capacity {
    /// What was decided a second in the highest step that held, and no more than came; zero when none held.
    pub rate: f64,
    /// What limits it; `None` where no limit was reached.
    pub limited_by: Option<Limited>,
    /// The place of the step that held, if one did.
    #[serde(skip)]
    step: Option<usize>,
}

/// A step of a ramp that held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// Its rate.
    pub(crate) rate: f64,
    /// What was decided a second, and no more than its rate.
    pub(crate) decided: f64,
    /// Its place among the steps.
    pub(crate) step: usize,
}

/// What keeps a rate from holding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limited {
    /// Fewer requests are answered than come.
    Throughput,
    /// They are answered too late.
    Latency,
    /// Too many bring no decision.
    Errors,
    /// The generator offers no more; of the target that says nothing.
    Generator,
}

/// What was read beside a phase.
pub(crate) struct Beside {
    pub(crate) cpu: Option<Duration>,
    pub(crate) scraped: Option<Scraped>,
}

impl Capacity {
    /// Returns the capacity of the highest rate that held, and of why the next did not.
    pub(crate) fn of(held: Option<Held>, failed: Option<Limited>) -> Option<Self> {
        (held.is_some() || failed.is_some()).then(|| Self {
            rate: held.map_or(0.0, |held| held.decided),
            limited_by: failed,
            step: held.map(|held| held.step),
        })
    }
}

impl Phase {
    /// Adds up what threads counted.
    ///
    /// # Errors
    /// When there can be no histogram, which does not happen.
    pub(crate) fn new(
        name: &str,
        plan: &Plan,
        traffic: &Traffic,
        worked: &[Worked],
        beside: &Beside,
    ) -> Result<Self, CreationError> {
        let seconds = worked.iter().map(|one| one.sending).max().unwrap_or_default().as_secs_f64();
        let of = |class: usize| ClassReport::new(worked.iter().map(|one| &one.tallies[class]), seconds);
        let others = of(0)?;
        let flood = if traffic.floods() > 0 { Some(of(CLASSES - 1)?) } else { None };
        let generator = Generator::new(&plan.target, worked, others.latency_us.p99)?;
        let decided = others.decided() + flood.as_ref().map_or(0, ClassReport::decided);
        let per_request = |count: f64| if decided > 0 { count / float(decided) } else { 0.0 };
        let server = beside.cpu.map(|cpu| Server {
            cpu_seconds: cpu.as_secs_f64(),
            cpu_us_per_request: per_request(cpu.as_secs_f64() * 1e6),
        });
        let own = worked.iter().filter_map(|one| one.store_calls).reduce(|all, one| all + one);
        let store = match beside.scraped {
            Some(scraped) => Some((scraped.store_calls, Some(scraped.remembered))),
            None => own.map(|calls| (calls, None)),
        };
        let store = store.map(|(calls, remembered)| Store {
            calls,
            calls_per_request: per_request(float(calls)),
            remembered,
        });
        Ok(Self {
            name: name.to_owned(),
            seconds,
            classes: Classes { others, flood },
            generator,
            server,
            store,
        })
    }

    /// Returns the classes in order, each with its name.
    pub fn classes(&self) -> impl Iterator<Item = (&'static str, &ClassReport)> {
        let flood = self.classes.flood.iter().map(|flood| ("flood", flood));
        std::iter::once(("others", &self.classes.others)).chain(flood)
    }

    /// Returns how many requests brought a decision.
    pub fn decided(&self) -> u64 {
        self.classes().map(|(_, class)| class.decided()).sum()
    }

    /// Returns how many decisions came a second.
    pub fn rate(&self) -> f64 {
        self.classes().map(|(_, class)| class.rate).sum()
    }

    /// Returns the share of requests that brought no decision.
    pub fn error_share(&self) -> f64 {
        let requests: u64 = self.classes().map(|(_, class)| class.requests).sum();
        let errors: u64 = self.classes().map(|(_, class)| class.errors).sum();
        if requests == 0 { 0.0 } else { float(errors) / float(requests) }
    }

    /// Returns the first answer that was no decision.
    pub(crate) fn odd(&self) -> Option<Odd> {
        self.classes().find_map(|(_, class)| class.odd)
    }

    /// Returns how many requests brought no decision, by why.
    pub(crate) fn faults(&self) -> [(&'static str, u64); 4] {
        let mut all = Errors::default();
        for (_, class) in self.classes() {
            all.add(&class.errors_by_kind);
        }
        all.named()
    }
}

impl Report {
    pub(crate) fn new(
        plan: &Plan,
        phases: Vec<Phase>,
        capacity: Option<Capacity>,
        interrupted: bool,
    ) -> Self {
        let is_open = plan.rate.is_some() || plan.shape == Shape::Ramp;
        let floods = plan.shape.floods();
        let settings = Settings {
            rate: plan.rate,
            flood_rate: (floods && is_open).then_some(plan.flood_rate),
            connections: plan.connections,
            users: if plan.target.by_address() { plan.connections } else { plan.users },
            skew: plan.skew,
            threads: plan.threads,
            processors: machine::processors(),
            duration_seconds: plan.duration.as_secs_f64(),
            timeout_seconds: plan.timeout.as_secs_f64(),
            seed: plan.seed,
        };
        let counts = Self::that_counts(&phases, capacity);
        let classes = counts.map_or_else(Classes::nothing, |phase| phase.classes.clone());
        let generator_limited = match capacity {
            Some(capacity) => capacity.limited_by == Some(Limited::Generator),
            None => phases.iter().any(|phase| phase.generator.limited_by.is_some()),
        };
        let slowdown = match &phases[..] {
            [without, with] if floods => {
                let (without, with) = (&without.classes.others, &with.classes.others);
                let is_known = without.latency_us.p99 > 0.0 && with.requests > 0;
                is_known.then(|| with.latency_us.p99 / without.latency_us.p99)
            }
            _ => None,
        };
        let mut report = Self {
            version: VERSION,
            tool: concat!("tidegate ", env!("CARGO_PKG_VERSION")),
            target: plan.target.to_string(),
            kind: plan.target.kind(),
            shape: plan.shape,
            loop_kind: if is_open { "open" } else { "closed" },
            schedule: is_open.then_some(plan.schedule),
            settings,
            verdict: Vec::new(),
            classes,
            capacity,
            slowdown,
            expectations: Vec::new(),
            generator_limited,
            interrupted,
            phases,
        };
        report.expectations = expected::hold(&plan.expected, &report);
        report.verdict = verdict::verdict(&report);
        report
    }

    /// Returns the phase that counts: the last, of a ramp the highest step that held.
    fn that_counts(phases: &[Phase], capacity: Option<Capacity>) -> Option<&Phase> {
        let Some(capacity) = capacity else { return phases.last() };
        phases.get(capacity.step.unwrap_or_default())
    }

    /// Returns the phase that counts.
    pub fn counts(&self) -> Option<&Phase> {
        Self::that_counts(&self.phases, self.capacity)
    }

    /// Returns whether everything that was expected is so.
    pub fn is_as_expected(&self) -> bool {
        self.expectations.iter().all(|one| one.held)
    }
}

impl Classes {
    fn nothing() -> Self {
        Self { others: ClassReport::default(), flood: None }
    }
}

/// Returns whether a target is a store that this process asks itself.
pub(crate) fn is_own(target: &Target) -> bool {
    matches!(target, Target::Memory(..))
}
