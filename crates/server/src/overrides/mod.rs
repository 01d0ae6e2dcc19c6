//! Overrides: exceptions that an operator makes at run time, until an instant, for every instance on one store.
//!
//! What is in force is the file's policy with the overrides laid over it. Both change: the file by a reload, the overrides by
//! whoever asks this instance or another, and by their ends. Whatever changes is put together under one lock and put into
//! force as a reload is, so that no count is lost and no change either.

mod change;
mod install;
mod keep;
mod note;
mod view;
mod warning;

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tidegate::policy_file::Policy;
use tidegate::policy_file::overlay::{Became, Overlay, Unfit, overlaid};
use tidegate::{Limiter, Timestamp};
use tokio::time::Instant;

pub(crate) use change::{Change, Fault, Put};
pub(crate) use view::View;

use note::{Text, fingerprint};

/// The most overrides there are at once: every instance reads them all, twice a second.
const MOST: usize = 256;

/// The overrides of an application. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Overrides {
    limiter: Limiter,
    /// What is in force; held while that changes.
    state: Arc<Mutex<State>>,
    /// Held from reading the store until what was read is in force, so that an older reading follows no newer one.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// What is laid over what.
pub(crate) struct State {
    /// The policy as the file says it.
    file: Policy,
    /// The overrides, by name in ascending order.
    held: Vec<Held>,
    /// What became of each.
    outcomes: Vec<Outcome>,
}

/// What became of an override in this process.
pub(crate) type Outcome = Result<Vec<Became>, Unfit>;

/// An override that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    name: String,
    text: Text,
    /// Its end by the store's clock.
    until: Timestamp,
    /// Its end by this process's.
    ends: Instant,
}

/// How many overrides there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// By limit, those in force.
    pub(crate) limits: Vec<(String, u64)>,
    /// Those that apply to nothing here.
    pub(crate) idle: u64,
}

impl Overrides {
    /// Begins with none, over the policy in force.
    pub(crate) fn new(limiter: Limiter, file: Policy) -> Self {
        let state = State { file, held: Vec::new(), outcomes: Vec::new() };
        Self { limiter, state: Arc::new(Mutex::new(state)), turn: Arc::default() }
    }

    /// Takes hold of what is in force, for whoever changes the file's part of it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns how many there are.
    pub(crate) fn seen(&self) -> Seen {
        let state = self.state.lock();
        let mut seen = Seen::default();
        for (held, outcome) in state.held.iter().zip(&state.outcomes) {
            let limit = &held.text.limit;
            match seen.limits.iter_mut().find(|(name, _)| name == limit) {
                _ if outcome.is_err() => seen.idle = seen.idle.saturating_add(1),
                Some((_, count)) => *count = count.saturating_add(1),
                None => seen.limits.push((limit.clone(), 1)),
            }
        }
        seen
    }

    /// Returns what there is to show of each.
    pub(crate) fn views(&self) -> Vec<View> {
        let state = self.state.lock();
        let now = Instant::now();
        state.held.iter().zip(&state.outcomes).map(|(held, outcome)| View::of(held, outcome, now)).collect()
    }
}

impl State {
    /// Lays the overrides over a policy as a file says it; returns what is to be in force, and what became of each.
    pub(crate) fn over(&self, limiter: &Limiter, file: &Policy) -> (Policy, Vec<Outcome>) {
        laid(limiter, file, &self.held)
    }

    /// Notes that a policy as a file says it is in force, with the overrides over it.
    pub(crate) fn keep(&mut self, file: Policy, outcomes: Vec<Outcome>) {
        self.file = file;
        install::tell_of_idle(&self.held, &self.outcomes, &outcomes);
        self.outcomes = outcomes;
    }
}

/// Lays overrides over a policy; those whose key has its name under another secret apply to nothing.
fn laid(limiter: &Limiter, file: &Policy, held: &[Held]) -> (Policy, Vec<Outcome>) {
    let identities = limiter.identities_under(file);
    let own = identities.as_ref().map(fingerprint);
    let is_foreign = |held: &Held| held.text.key.is_some() && held.text.names != own;
    let overlays: Vec<Overlay> =
        held.iter().filter(|held| !is_foreign(held)).map(|held| held.text.overlay(held.until)).collect();
    let (policy, outcomes) = overlaid(file, &overlays, identities.as_ref());
    let mut outcomes = outcomes.into_iter();
    let of = |held: &Held| {
        let why = "its key was named under another key_secret_file; remove it, and make it anew";
        let foreign = || Err(Unfit { is_unknown_limit: false, why: why.to_owned() });
        if is_foreign(held) { foreign() } else { outcomes.next().unwrap_or_else(foreign) }
    };
    (policy, held.iter().map(of).collect())
}

impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overrides").field("held", &self.state.lock().held).finish_non_exhaustive()
    }
}
