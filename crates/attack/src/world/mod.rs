//! The world that requests meet: how many processes decide, over which stores, and what happens to them.
//!
//! The limiters are the real ones over the real memory store, which also stands for a Redis that instances share: the two
//! decide alike, as the tests of the Redis store hold. Only what no store of ours does (deciding by what was read a while
//! ago, evicting keys that mean something, counting by everybody's own clock) is kept here as a bad example, and regions
//! that tell each other of charges later, as a database replicated both ways does.
//!
//! Requests go to regions and processes in turn, regions first: of n that arrive together each region decides its share.

mod bad;
mod exposure;
mod incident;
mod instance;
mod kept;
mod plain;
mod regions;
mod setting;
mod watched;

use std::fmt;
use std::sync::Arc;

use tidegate::{BuildError, MemoryOptions, MemoryStore};
use tidegate_algorithms::{Span, Timestamp};

use crate::act::{Outcome, Role, Who};
use crate::target::Target;

pub use exposure::{Exposure, Touched};
pub use incident::{Incident, What};
pub use setting::{Setting, StoreKind};
pub use watched::Operations;

use bad::{Evicting, OwnClocks, Racy, Write};
use exposure::Exposures;
use instance::{Arriving, Instance};
use plain::Plain;
use watched::Watched;

/// So many planned requests are kept by all processes together; a flood of new ones must not fill the memory.
const MOST_PLANNED: usize = 1 << 16;

/// The secret of every store: nobody aims at its keys, and a seed is to give one course of events.
const SECRET: [u8; 16] = *b"a known one here";

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether it passed.
    pub admitted: bool,
    /// How long it was held before it went on.
    pub delay: Span,
    /// How long a refusal said to wait: whole seconds, where clients are told.
    pub retry_after: Option<Span>,
    /// Whether it was decided without the store.
    pub degraded: bool,
}

impl Seen {
    /// Turned away, whatever limits say.
    const REFUSED: Self = Self { admitted: false, delay: Span::ZERO, retry_after: None, degraded: false };
}

/// Processes and stores, with what an attack has touched of them.
pub struct World {
    target: Arc<dyn Target>,
    setting: Setting,
    /// In the order in which requests come to them: the first of every region, then the second of every region.
    instances: Vec<Instance>,
    stores: Vec<Arc<Watched>>,
    exposures: Exposures,
    turn: usize,
    /// What stores of processes that have gone were asked for.
    past: Operations,
}

impl World {
    /// Makes a world of fresh stores.
    ///
    /// # Errors
    /// When the limits cannot be built.
    pub fn new(target: Arc<dyn Target>, setting: Setting) -> Result<Self, BuildError> {
        let stores = fresh(setting);
        let instances = processes(&*target, setting, &stores)?;
        let past = Operations::default();
        Ok(Self { target, setting, instances, stores, exposures: Exposures::default(), turn: 0, past })
    }

    /// Tells from now on what each of so many adversaries touches apart from what all do: [`World::exposure_of`].
    #[must_use]
    pub fn with_parties(mut self, parties: usize) -> Self {
        self.exposures.each.resize_with(parties, Exposure::default);
        self
    }

    /// Decides a request, of the first adversary if it is one's.
    pub fn request(&mut self, at: Timestamp, who: &Who, outcome: Outcome, role: Role) -> Seen {
        self.request_of(at, who, outcome, (role, 0))
    }

    /// Decides a request, of the adversary of that number if it is one's.
    pub fn request_of(
        &mut self,
        at: Timestamp,
        who: &Who,
        outcome: Outcome,
        (role, party): (Role, usize),
    ) -> Seen {
        let turn = self.turn.checked_rem(self.instances.len()).unwrap_or(0);
        self.turn = turn.wrapping_add(1);
        let Some(instance) = self.instances.get_mut(turn) else { return Seen::REFUSED };
        instance.request(&*self.target, &mut self.exposures, &Arriving { at, who, outcome, role, party })
    }

    /// Lets something happen. Only a store that processes share can be lost without them.
    pub fn happens(&mut self, incident: &Incident) {
        match incident.what {
            What::StoreLost if self.setting.shared => self.stores.iter().for_each(|store| store.lose()),
            What::StoreLost => {}
            What::StoreBack => {
                self.stores.iter().for_each(|store| store.find());
                self.instances.iter().for_each(Instance::notice);
            }
            What::Restart => self.restart(incident.at),
        }
    }

    /// Starts every process anew: what it holds by itself is forgotten, unless it left a snapshot; what is shared stays.
    fn restart(&mut self, at: Timestamp) {
        let stores = if self.setting.shared { self.stores.clone() } else { self.started_anew(at) };
        // They were built once, and are built of the same.
        let Ok(instances) = processes(&*self.target, self.setting, &stores) else { return };
        if !self.setting.shared {
            self.past = self.operations();
        }
        (self.instances, self.stores) = (instances, stores);
    }

    /// Returns the stores of processes that start anew.
    fn started_anew(&mut self, at: Timestamp) -> Vec<Arc<Watched>> {
        // By the clock that is behind, nothing is forgotten too early.
        let micros = at.as_micros().saturating_sub(self.setting.skew.as_micros());
        let at = Timestamp::saturating_from_micros(micros);
        let options = options(self.setting);
        let kept = self.stores.iter().map(|store| store.restored(options, at).map(Arc::new));
        let kept: Option<Vec<_>> = if self.setting.snapshot { kept.collect() } else { None };
        kept.unwrap_or_else(|| {
            self.exposures.begin_anew();
            fresh(self.setting)
        })
    }

    /// Returns whether what is admitted has to stay within the bounds of [`World::exposure`]: not by stores that are wrong on
    /// purpose, whose bounds are those of a right one.
    pub fn holds_to_bounds(&self) -> bool {
        self.setting.store == StoreKind::Right
    }

    /// Returns what the adversaries' requests have touched of each limit.
    pub fn exposure(&self) -> &Exposure {
        &self.exposures.all
    }

    /// Returns what one adversary's requests have touched, if they are told apart.
    pub fn exposure_of(&self, party: usize) -> Option<&Exposure> {
        self.exposures.each.get(party)
    }

    /// Returns what the stores were asked for.
    pub fn operations(&self) -> Operations {
        self.stores.iter().map(|store| store.operations()).fold(self.past, Operations::with)
    }

    /// Returns how many keys the stores hold, and their bytes.
    pub fn usage(&self) -> (usize, usize) {
        let all = self.stores.iter().map(|store| store.usage());
        all.fold((0, 0), |(keys, bytes), (more, heavier)| {
            (usize::saturating_add(keys, more), usize::saturating_add(bytes, heavier))
        })
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("setting", &self.setting).finish_non_exhaustive()
    }
}

fn options(setting: Setting) -> MemoryOptions {
    MemoryOptions { max_keys: setting.keys, ..MemoryOptions::default() }
}

/// Makes the stores: one a region if they are shared, else one for each process, in the order of processes.
fn fresh(setting: Setting) -> Vec<Arc<Watched>> {
    let count = setting.stores();
    if let Some(lag) = setting.lag.filter(|_| setting.is_replicated()) {
        let regions = regions::replicated(usize::try_from(count).unwrap_or(usize::MAX), lag);
        return regions.into_iter().map(|region| Arc::new(Watched::other(Arc::new(region)))).collect();
    }
    (0..count).map(|_| Arc::new(store(setting))).collect()
}

fn store(setting: Setting) -> Watched {
    match setting.store {
        StoreKind::Right => Watched::memory(MemoryStore::with_secret(options(setting), SECRET)),
        StoreKind::StaleCheck { gap } => Watched::other(Arc::new(Plain::over(Racy::new(gap, Write::Added)))),
        StoreKind::ReadModifyWrite { gap } => {
            Watched::other(Arc::new(Plain::over(Racy::new(gap, Write::Over))))
        }
        StoreKind::Evicting { keys } => Watched::other(Arc::new(Plain::over(Evicting::new(keys)))),
        StoreKind::OwnClocks => Watched::other(Arc::new(Plain::over(OwnClocks::new(setting.skew)))),
    }
}

/// Starts the processes over the stores.
fn processes(
    target: &dyn Target,
    setting: Setting,
    stores: &[Arc<Watched>],
) -> Result<Vec<Instance>, BuildError> {
    let skew = i64::try_from(setting.skew.as_micros()).unwrap_or(i64::MAX);
    let tells_time = !setting.shared || setting.store == StoreKind::OwnClocks;
    let (regions, per_region) = (setting.regions.max(1), setting.instances.max(1));
    let count = usize::try_from(regions.saturating_mul(per_region)).unwrap_or(usize::MAX);
    let most_planned = MOST_PLANNED.checked_div(count).unwrap_or(0).max(1);
    let mut instances = Vec::new();
    for index in 0..per_region {
        for region in 0..regions {
            let own = index.saturating_mul(regions).saturating_add(region);
            let number = usize::try_from(if setting.shared { region } else { own }).unwrap_or(usize::MAX);
            let Some(store) = stores.get(number) else { continue };
            let ahead = if own % 2 == 0 { skew } else { skew.saturating_neg() };
            let ahead = if tells_time { ahead } else { 0 };
            instances.push(Instance::new(target, (Arc::clone(store), number), ahead, most_planned)?);
        }
    }
    Ok(instances)
}

#[cfg(test)]
mod tests;
