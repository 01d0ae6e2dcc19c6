//! How limits are run: how many processes decide, over which stores, by which clocks.

use tidegate::MemoryOptions;
use tidegate_algorithms::Span;

/// How many processes decide, and over which stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// How many processes share the requests of a region, in turn.
    pub instances: u32,
    /// How many regions there are; requests go to them in turn.
    pub regions: u32,
    /// Whether the processes of a region share one store, as a Redis; else each has its own.
    pub shared: bool,
    /// The most keys of a store in memory: the policy's `max_keys`.
    pub keys: usize,
    /// Whether a process that starts anew goes on with the snapshot that it left, where each has its own store.
    pub snapshot: bool,
    /// After how long the stores that regions share know each other's charges; `None` for never.
    pub lag: Option<Span>,
    /// How far processes' clocks are off: every other one is so much ahead, the others so much behind. It matters where a
    /// process tells its store the time: its own store, and [`StoreKind::OwnClocks`]. Other shared stores have one clock.
    pub skew: Span,
    /// What stores do.
    pub store: StoreKind,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            instances: 1,
            regions: 1,
            shared: true,
            keys: MemoryOptions::default().max_keys,
            snapshot: false,
            lag: None,
            skew: Span::ZERO,
            store: StoreKind::Right,
        }
    }
}

impl Setting {
    /// Returns how many stores count apart.
    pub fn stores(&self) -> u32 {
        let each = if self.shared { 1 } else { self.instances.max(1) };
        self.regions.max(1).saturating_mul(each)
    }

    /// Returns whether the stores of regions tell each other what they charged.
    pub(super) fn is_replicated(&self) -> bool {
        self.lag.is_some() && self.shared && self.regions > 1 && self.store == StoreKind::Right
    }
}

/// What a store does with what it is asked: what ours do, or what others are known to do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreKind {
    /// Decides and charges in one step, and forgets nothing that still means something.
    #[default]
    Right,
    /// Decides by what was there a while ago, and adds the charge to what is there now.
    StaleCheck {
        /// How long ago.
        gap: Span,
    },
    /// Decides by what was there a while ago, and writes what follows from that over what is there now.
    ReadModifyWrite {
        /// How long ago.
        gap: Span,
    },
    /// Forgets the key that has not been asked about for longest when there are too many.
    Evicting {
        /// How many it holds.
        keys: usize,
    },
    /// Keeps a count for each window of the clock, and takes from whoever asks which window it is.
    OwnClocks,
}
