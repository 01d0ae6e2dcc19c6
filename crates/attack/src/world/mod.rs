//! The world that requests meet: how many processes decide, over which stores, and what happens to them.
//!
//! The limiters are the real ones over the real memory store, which also stands for a Redis that instances share: the two
//! decide alike, as the tests of the Redis store hold. Only what no store of ours does (deciding by what was read a while
//! ago, evicting keys that mean something) is kept here as a bad example.

mod exposure;
mod incident;
mod instance;
mod watched;

use std::fmt;
use std::sync::Arc;

use tidegate::{BuildError, MemoryOptions, MemoryStore};
use tidegate_algorithms::{Span, Timestamp};

use crate::act::{Outcome, Role, Who};
use crate::target::Target;

pub use exposure::{Exposure, Touched};
pub use incident::{Incident, What};
pub use watched::Operations;

use instance::{Arriving, Instance};
use watched::Watched;

/// The secret of every store: nobody aims at its keys, and a seed is to give one course of events.
const SECRET: [u8; 16] = *b"a known one here";

/// How many processes decide, and over which stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// How many processes share the requests of a region, in turn.
    pub instances: u32,
    /// How many regions there are; an actor's requests go to them in turn.
    pub regions: u32,
    /// Whether the processes of a region share one store, as a Redis; else each has its own.
    pub shared: bool,
    /// The most keys of a store.
    pub keys: usize,
}

impl Default for Setting {
    fn default() -> Self {
        Self { instances: 1, regions: 1, shared: true, keys: MemoryOptions::default().max_keys }
    }
}

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

/// Processes and stores, with what an attack has touched of them.
pub struct World {
    target: Arc<dyn Target>,
    setting: Setting,
    /// Those of the first region, then those of the next.
    instances: Vec<Instance>,
    stores: Vec<Arc<Watched>>,
    exposure: Exposure,
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
        let (instances, stores) = processes(&*target, setting)?;
        let past = Operations::default();
        Ok(Self { target, setting, instances, stores, exposure: Exposure::default(), turn: 0, past })
    }

    /// Decides a request.
    pub fn request(&mut self, at: Timestamp, who: &Who, outcome: Outcome, role: Role) -> Seen {
        let turn = self.turn.checked_rem(self.instances.len()).unwrap_or(0);
        self.turn = turn.wrapping_add(1);
        let Some(instance) = self.instances.get_mut(turn) else {
            return Seen { admitted: true, delay: Span::ZERO, retry_after: None, degraded: false };
        };
        instance.request(&*self.target, &mut self.exposure, &Arriving { at, who, outcome, role })
    }

    /// Lets something happen.
    pub fn happens(&mut self, incident: &Incident) {
        match incident.what {
            What::StoreLost => self.stores.iter().for_each(|store| store.lose()),
            What::StoreBack => {
                self.stores.iter().for_each(|store| store.find());
                self.instances.iter().for_each(Instance::notice);
            }
            What::Restart => self.restart(),
        }
    }

    /// Starts every process anew: what it holds by itself is forgotten, what is shared stays.
    fn restart(&mut self) {
        if self.setting.shared {
            return;
        }
        // It was built once, and is built of the same.
        if let Ok((instances, stores)) = processes(&*self.target, self.setting) {
            self.past = self.operations();
            (self.instances, self.stores) = (instances, stores);
            self.exposure.begin_anew();
        }
    }

    /// Returns what the adversary's requests have touched of each limit.
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }

    /// Returns what the stores were asked for.
    pub fn operations(&self) -> Operations {
        self.stores.iter().map(|store| store.operations()).fold(self.past, Operations::with)
    }

    /// Returns how many keys the stores hold, and their bytes.
    pub fn usage(&self) -> (usize, usize) {
        let all = self.stores.iter().filter_map(|store| store.usage());
        all.fold((0, 0), |(keys, bytes), usage| {
            (keys.saturating_add(usage.keys), bytes.saturating_add(usage.bytes))
        })
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("setting", &self.setting).finish_non_exhaustive()
    }
}

/// Builds the processes of all regions over fresh stores.
fn processes(
    target: &dyn Target,
    setting: Setting,
) -> Result<(Vec<Instance>, Vec<Arc<Watched>>), BuildError> {
    let options = MemoryOptions { max_keys: setting.keys, ..MemoryOptions::default() };
    let (mut instances, mut stores) = (Vec::new(), Vec::new());
    for _ in 0..setting.regions.max(1) {
        for index in 0..setting.instances.max(1) {
            if index == 0 || !setting.shared {
                stores.push(Arc::new(Watched::memory(MemoryStore::with_secret(options, SECRET))));
            }
            let Some(store) = stores.last() else { continue };
            instances.push(Instance::new(target, Arc::clone(store), stores.len())?);
        }
    }
    Ok((instances, stores))
}
