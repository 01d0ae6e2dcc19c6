//! The plan of a check: which limits, on which keys, at which cost. Pure.

use std::cell::Cell;
#[cfg(feature = "policy")]
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_algorithms::{Ask, Span};
use tidegate_store::{Check, LimitId};

use crate::inner::Registered;
use crate::limit::Limit;
use crate::observe::TermsTally;
use crate::own::OwnCounts;

/// What the store will be asked. Keys lie one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    keys: KeyBytes,
    items: SmallVec<[Item; 4]>,
    skipped: SmallVec<[usize; 2]>,
    /// The limits that came with the call.
    given: Vec<(Limit, Arc<OwnCounts>)>,
}

/// One limit of the plan, with the end of its key in the buffer.
#[derive(Debug, Clone, Copy)]
struct Item {
    limit: Which,
    key_end: usize,
    cost: u32,
    /// Whether it is asked without blocking the others, whatever the limit is by itself.
    watched: bool,
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// One of those in force, by its index and that of its terms.
    InForce { limit: usize, variant: usize },
    /// One that came with the call.
    Given(usize),
}

/// Which terms of a limit are asked, and for how many units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) variant: usize,
    pub(crate) cost: u32,
}

/// Which limit is asked, and for how many units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) limit: Which,
    pub(crate) cost: u32,
}

/// A limit of the plan, wherever it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) limit: &'a Limit,
    pub(crate) id: LimitId,
    /// The name by which the store keeps its counts.
    pub(crate) storage_name: &'a Arc<str>,
    /// What its answers are counted in.
    pub(crate) terms: Option<&'a TermsTally>,
    /// What else is known of one in force.
    pub(crate) registered: Option<&'a Registered>,
}

/// The bytes of keys, in a buffer that the next plan of the thread uses again: no check allocates for its keys.
#[derive(Debug)]
struct KeyBytes(Vec<u8>);

/// A buffer that grew larger for one long key is not kept.
const MOST_KEPT: usize = 4_096;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Default for KeyBytes {
    fn default() -> Self {
        // A thread that is ending has no spare one.
        Self(SPARE.try_with(Cell::take).unwrap_or_default())
    }
}

impl Drop for KeyBytes {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0);
        if (1..=MOST_KEPT).contains(&bytes.capacity()) {
            bytes.clear();
            let _ = SPARE.try_with(|spare| spare.set(bytes));
        }
    }
}

impl Plan {
    /// Adds a limit in force on a key that `write` appends to the buffer, or leaves it out when `write` gives no terms.
    pub(crate) fn push<E>(
        &mut self,
        limit: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<Option<Terms>, E>,
    ) -> Result<bool, E> {
        let start = self.keys.0.len();
        let terms = write(&mut self.keys.0)?;
        if let Some(Terms { variant, cost }) = terms {
            self.item(Which::InForce { limit, variant }, cost);
        } else {
            self.keys.0.truncate(start);
            self.skipped.push(limit);
        }
        Ok(terms.is_some())
    }

    /// Adds a limit that came with the call, on a key that `write` appends to the buffer.
    pub(crate) fn push_given(
        &mut self,
        (limit, counts): (&Limit, Arc<OwnCounts>),
        cost: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        write(&mut self.keys.0);
        self.given.push((limit.clone(), counts));
        self.item(Which::Given(self.given.len().saturating_sub(1)), cost);
    }

    fn item(&mut self, limit: Which, cost: u32) {
        self.items.push(Item { limit, key_end: self.keys.0.len(), cost, watched: false });
    }

    /// Asks these limits of the plan without blocking the others.
    #[cfg(feature = "policy")]
    pub(crate) fn watch(&mut self, places: Range<usize>) {
        self.items.get_mut(places).into_iter().flatten().for_each(|item| item.watched = true);
    }

    /// Takes those out from the `first` on that ask what one from `since` on asks already, and returns where all of them
    /// stand then.
    #[cfg(feature = "policy")]
    pub(crate) fn merge(&mut self, since: usize, first: usize) -> Vec<usize> {
        let all: Vec<_> = self.asked().map(|(asked, key)| (asked, key.to_vec())).collect();
        let watched: Vec<bool> = self.items.iter().map(|item| item.watched).collect();
        self.keys
            .0
            .truncate(first.checked_sub(1).and_then(|last| self.items.get(last)).map_or(0, |it| it.key_end));
        self.items.truncate(first);
        let places = all.iter().zip(watched).enumerate().skip(first).map(|(_, ((asked, key), watched))| {
            let same = self.asked().enumerate().skip(since).find(|(_, (it, of))| it == asked && of == key);
            if let Some((place, _)) = same {
                return place;
            }
            self.keys.0.extend_from_slice(key);
            self.items.push(Item {
                limit: asked.limit,
                key_end: self.keys.0.len(),
                cost: asked.cost,
                watched,
            });
            self.items.len().saturating_sub(1)
        });
        places.collect()
    }

    /// Returns how many limits are asked.
    #[cfg(feature = "policy")]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns a limit of the plan.
    pub(crate) fn find<'a>(&'a self, limits: &'a [Registered], which: Which) -> Option<Known<'a>> {
        match which {
            Which::InForce { limit, variant } => {
                let registered = limits.get(limit)?;
                Some(Known {
                    limit: registered.variants.get(variant)?,
                    id: registered.id,
                    storage_name: &registered.storage_name,
                    terms: registered.terms.get(variant).map(|terms| &**terms),
                    registered: Some(registered),
                })
            }
            Which::Given(index) => {
                let (limit, counts) = self.given.get(index)?;
                Some(Known {
                    limit,
                    id: counts.id,
                    storage_name: &counts.name,
                    terms: Some(&counts.terms),
                    registered: None,
                })
            }
        }
    }

    /// Returns the limits under the terms they are asked with, in order.
    pub(crate) fn limits<'a>(&'a self, limits: &'a [Registered]) -> impl Iterator<Item = &'a Limit> {
        self.items.iter().filter_map(|item| Some(self.find(limits, item.limit)?.limit))
    }

    /// Returns the indices of the limits that were left out, in order.
    pub(crate) fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// Returns which limits are asked, each with its key, in order.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (Asked, &[u8])> {
        let mut start = 0;
        self.items.iter().map(move |item| {
            let key = self.keys.0.get(start..item.key_end).unwrap_or_default();
            start = item.key_end;
            (Asked { limit: item.limit, cost: item.cost }, key)
        })
    }

    /// Returns what to ask the store.
    pub(crate) fn checks<'a>(
        &'a self,
        limits: &'a [Registered],
        max_delay: Span,
    ) -> SmallVec<[Check<'a>; 4]> {
        let mut start = 0;
        let mut checks = SmallVec::new();
        for item in &self.items {
            let key = self.keys.0.get(start..item.key_end).unwrap_or_default();
            start = item.key_end;
            let Some(known) = self.find(limits, item.limit) else { continue };
            checks.push(Check {
                limit: known.id,
                key,
                quota: known.limit.quota(),
                ask: Ask::units(item.cost).within(max_delay),
                shadow: item.watched || known.limit.is_shadow(),
            });
        }
        checks
    }
}
