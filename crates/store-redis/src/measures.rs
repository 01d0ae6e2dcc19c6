//! What the store counts about its own work.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tidegate_store::{Durations, Measures};

use crate::error::{Failure, Kind};

/// The counters of a store, shared by its lanes.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) durations: Durations,
    pub(crate) queued: AtomicUsize,
    calls: [AtomicU64; Called::NAMES.len()],
    errors: [AtomicU64; Kind::NAMES.len()],
    events: [AtomicU64; Event::NAMES.len()],
}

/// What a call asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Called {
    Script,
    Ping,
}

impl Called {
    const NAMES: [&'static str; 2] = ["script", "ping"];
}

/// What else came up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A question that a call carried.
    Question,
    /// A connection was made.
    Connected,
    /// The script was loaded once more, as the server had forgotten it.
    ScriptLoaded,
    /// The script and this program decided differently.
    Disagreement,
    /// A value under one of our keys was none of ours.
    ForeignValue,
    /// Another instance has another secret.
    SecretDiffers,
    /// A call was sent to another node than the first.
    Redirected,
    /// A charge of a batch that another node refused was given back.
    Compensated,
}

impl Event {
    const NAMES: [&'static str; 8] = [
        "questions",
        "connections",
        "script_loads",
        "disagreements",
        "foreign_values",
        "secret_differs",
        "redirections",
        "compensations",
    ];
}

impl Counters {
    pub(crate) fn called(&self, what: Called) {
        self.calls.get(what as usize).map(|count| count.fetch_add(1, Ordering::Relaxed));
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        self.errors.get(failure.kind.index()).map(|count| count.fetch_add(1, Ordering::Relaxed));
    }

    pub(crate) fn happened(&self, event: Event, times: u64) {
        self.events.get(event as usize).map(|count| count.fetch_add(times, Ordering::Relaxed));
    }

    pub(crate) fn read(&self) -> Measures {
        fn named<const N: usize>(
            names: [&'static str; N],
            counts: &[AtomicU64; N],
        ) -> Vec<(&'static str, u64)> {
            names.into_iter().zip(counts.iter().map(|count| count.load(Ordering::Relaxed))).collect()
        }
        Measures {
            calls: named(Called::NAMES, &self.calls),
            errors: named(Kind::NAMES, &self.errors),
            durations: self.durations.seen(),
            queued: u64::try_from(self.queued.load(Ordering::Relaxed)).unwrap_or(u64::MAX),
            events: named(Event::NAMES, &self.events),
        }
    }
}
