//! The stores of regions that tell each other what they charged, some time later.
//!
//! Each decides by itself and at once; a charge reaches the others after the lag, and they take it as
//! [`Kept`](super::kept::Kept) says: a count in the same window, a stamp, a debt. So each burst that is shorter than the lag
//! finds every region as it was before: N·L in each window for as long as somebody likes, and of a bucket N·B once, for which
//! all of them then owe.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tidegate_algorithms::{Span, Timestamp};

use super::kept::{Charge, Kept};
use super::plain::{Held, Key, Plain, Table, lock};

/// Charges that are under way to each region, in the order in which they arrive.
type Under = Arc<Mutex<Vec<VecDeque<Sent>>>>;

/// A charge under way.
#[derive(Debug, Clone, Copy)]
struct Sent {
    arrives: Timestamp,
    key: Key,
    charge: Charge,
}

/// What one region holds.
pub(super) struct Region {
    number: usize,
    lag: Span,
    under: Under,
    held: Held<Kept>,
}

/// Makes the stores of so many regions.
pub(super) fn replicated(regions: usize, lag: Span) -> Vec<Plain<Region>> {
    let under: Under = Arc::new(Mutex::new(vec![VecDeque::new(); regions]));
    let region = |number| Region { number, lag, under: Arc::clone(&under), held: Held::default() };
    (0..regions).map(region).map(Plain::over).collect()
}

impl Region {
    /// Takes in what has arrived.
    fn receive(&mut self, now: Timestamp) {
        let mut under = lock(&self.under);
        let Some(inbox) = under.get_mut(self.number) else { return };
        while inbox.front().is_some_and(|sent| sent.arrives <= now)
            && let Some(sent) = inbox.pop_front()
        {
            let kept = self.held.by_key.entry(sent.key).or_insert_with(|| Kept::fresh(sent.charge.quota));
            kept.take(&sent.charge, sent.arrives);
        }
    }

    fn send(&self, key: Key, charge: Charge) {
        let sent = Sent { arrives: charge.at.saturating_add(self.lag), key, charge };
        let mut under = lock(&self.under);
        let others = under.iter_mut().enumerate().filter(|(number, _)| *number != self.number);
        others.for_each(|(_, inbox)| inbox.push_back(sent));
    }
}

impl Table for Region {
    fn read(&mut self, key: Key, now: Timestamp) -> Option<Kept> {
        self.receive(now);
        self.held.by_key.get(&key).cloned()
    }

    fn write(&mut self, key: Key, left: Kept, charge: Option<Charge>, now: Timestamp) {
        if let Some(charge) = charge {
            self.send(key, charge);
        }
        self.held.by_key.insert(key, left);
        self.held.sweep(|kept| kept.is_over(now));
    }

    fn forget(&mut self, key: Key) {
        self.held.by_key.remove(&key);
    }

    fn keys(&self) -> usize {
        self.held.by_key.len()
    }
}
