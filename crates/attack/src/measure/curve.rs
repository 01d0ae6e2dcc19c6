//! What has passed over time, thinned out so that it has the same size whatever the length of an attack.

use tidegate_algorithms::Timestamp;

/// The most points, with the last.
pub(super) const MOST_POINTS: usize = 2_000;

/// How much had passed by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) at: Timestamp,
    /// How many requests had passed, those of this instant among them.
    pub(super) admitted: u64,
    /// How many guesses they carried.
    pub(super) guesses: u64,
    /// How many of both were decided without the store.
    pub(super) without_store: (u64, u64),
}

/// Points of the instants at which something passed.
///
/// Every `every`-th instant is kept; when there are too many, every second of those goes and `every` doubles. So the first
/// and the last are always there, and what is kept depends on nothing but the instants.
#[derive(Debug)]
pub(super) struct Curve {
    kept: Vec<Point>,
    /// The last instant, at which more may pass.
    last: Option<Point>,
    /// How many instants there were before the last.
    instants: u64,
    every: u64,
}

impl Curve {
    pub(super) fn new() -> Self {
        Self { kept: Vec::new(), last: None, instants: 0, every: 1 }
    }

    /// Takes in how much has passed by now.
    pub(super) fn passed(&mut self, point: Point) {
        let before = self.last.replace(point).filter(|last| last.at != point.at);
        if let Some(before) = before {
            self.keep(before);
        }
    }

    fn keep(&mut self, point: Point) {
        if self.instants.is_multiple_of(self.every) {
            self.kept.push(point);
        }
        self.instants = self.instants.saturating_add(1);
        if self.kept.len() >= MOST_POINTS {
            let mut second = false;
            self.kept.retain(|_| {
                second = !second;
                second
            });
            self.every = self.every.saturating_mul(2);
        }
    }

    /// Returns the points that are kept, and the last.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        self.kept.iter().copied().chain(self.last)
    }

    /// Returns how much had passed before an instant; where that is not known any more, the nearest earlier one by which it
    /// is.
    pub(super) fn before(&self, middle: Timestamp) -> Point {
        let known = self.points().take_while(|point| point.at < middle).last();
        match known {
            None => Point { at: middle, admitted: 0, guesses: 0, without_store: (0, 0) },
            // Nothing passed between it and the next that is known, as all are.
            Some(known) if self.every == 1 || Some(known) == self.last => Point { at: middle, ..known },
            Some(known) => known,
        }
    }
}
