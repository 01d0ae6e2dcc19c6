//! What is asked of a load test.

use std::time::Duration;

use serde::Serialize;

use crate::target::Target;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Many users, of whom some come far more often than others.
    Normal,
    /// The same users, first alone and then beside one key that is hammered.
    OneKeyFlood,
    /// The same users, first alone and then beside keys that come once each.
    ManyKeyFlood,
    /// The same users, first alone and then beside both floods, each with half of the flood's rate.
    Mix,
    /// The same users, at a rate that rises until the target keeps up no longer.
    Ramp,
}

impl Shape {
    /// Returns the name by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::OneKeyFlood => "one-key-flood",
            Self::ManyKeyFlood => "many-key-flood",
            Self::Mix => "mix",
            Self::Ramp => "ramp",
        }
    }

    /// Returns whether somebody floods.
    pub fn floods(self) -> bool {
        matches!(self, Self::OneKeyFlood | Self::ManyKeyFlood | Self::Mix)
    }
}

/// How requests of an open loop come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// By chance, as those do who know nothing of each other.
    Poisson,
    /// Evenly.
    Constant,
}

/// A load test.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Whom to ask.
    pub target: Target,
    /// Who asks.
    pub shape: Shape,
    /// How many requests users send a second, in an open loop; `None` for a closed one. A ramp begins with it.
    pub rate: Option<f64>,
    /// How many requests a flood sends a second, in an open loop.
    pub flood_rate: f64,
    /// How requests come.
    pub schedule: Schedule,
    /// How many requests of each class of traffic are under way at once at most.
    pub connections: u32,
    /// How many users there are.
    pub users: u32,
    /// The exponent of Zipf's law for how often each comes; zero for equally often.
    pub skew: f64,
    /// How long each phase goes on; of a ramp, about how long all of it takes.
    pub duration: Duration,
    /// How long users send before anything is measured.
    pub warm_up: Duration,
    /// How long an answer is waited for, from when its request was meant to be sent.
    pub timeout: Duration,
    /// How many threads send.
    pub threads: u32,
    /// How high the 99th percentile may go before a ramp has reached its end.
    pub ramp_p99: Duration,
    /// What is expected.
    pub expected: Expected,
    /// Where chance begins.
    pub seed: u64,
    /// A number that no run before had, from which keys that nobody has seen begin.
    pub run: u64,
    /// The process whose time of the processor is read.
    pub pid: Option<u32>,
    /// The operator's endpoint whose metrics are read.
    pub admin: Option<Admin>,
}

/// An operator's endpoint.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Where it is.
    pub place: tidegate_trials::Place,
    /// The token that it demands.
    pub token: Option<String>,
}

/// What a load test is to show.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expected {
    /// The highest 99th percentile of users' latencies.
    pub max_p99: Option<Duration>,
    /// The lowest rate: of answers, or of a ramp the capacity.
    pub min_rate: Option<f64>,
    /// How many times its value without the flood the 99th percentile of users may be.
    pub max_slowdown: Option<f64>,
    /// The highest share of requests that bring no decision, from 0 to 1.
    pub max_errors: Option<f64>,
}

/// A short test of a memory store in this process.
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) fn sample(shape: Shape) -> Plan {
    use tidegate_algorithms::{Quota, Span};
    use tidegate_store::{MemoryOptions, MemoryStore};

    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    let quota = Quota::sliding_counter(100, Span::from_secs(60)).unwrap();
    Plan {
        target: Target::Memory(std::sync::Arc::new(store), quota),
        shape,
        rate: Some(2_000.0),
        flood_rate: 8_000.0,
        schedule: Schedule::Poisson,
        connections: 4,
        users: 100,
        skew: 1.0,
        duration: Duration::from_secs(3),
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(1),
        threads: 1,
        ramp_p99: Duration::from_millis(50),
        expected: Expected::default(),
        seed: 1,
        run: 1,
        pid: None,
        admin: None,
    }
}
