//! The order in which a gateway can have decided what it was sent.
//!
//! Of two requests the one that was answered before the other was sent was decided first; those that were under way together
//! were decided in an order that only the gateway knows. Any that explains what it did is right. So of those that come next
//! the refusals that the simulation agrees with are taken first, since they change nothing; then what passed and may; then
//! what answers have given back; and only then what can be explained by clocks alone, or not at all.

use tidegate::{Prepared, Settlement};
use tidegate_algorithms::Timestamp;

use super::drive::Record;
use super::follow::{Agreement, Follower, Said, charge};
use super::kind::Kind;

/// A request that was not decided yet.
struct Waiting<'r> {
    record: &'r Record,
    prepared: Option<Prepared>,
    /// Whether, before something else was decided, clocks would have explained that it was refused.
    was_near: bool,
}

/// What an answer gives back, at some instant before the answer came.
struct Unsettled {
    settlement: Settlement,
    by: Timestamp,
}

struct Course<'r> {
    records: std::slice::Iter<'r, &'r Record>,
    next: Option<&'r Record>,
    waiting: Vec<Waiting<'r>>,
    unsettled: Vec<Unsettled>,
}

/// Decides records, which are in the order in which they were sent.
pub(super) fn in_order(follower: &mut Follower<'_>, records: &[&Record]) {
    let mut records = records.iter();
    let mut course =
        Course { next: records.next().copied(), records, waiting: Vec::new(), unsettled: Vec::new() };
    while course.step(follower) {}
}

impl Course<'_> {
    /// Decides one request, or settles one answer; returns whether there was one.
    fn step(&mut self, follower: &mut Follower<'_>) -> bool {
        let Some(horizon) = self.horizon(follower) else { return false };
        let mut passing: Option<(usize, Said)> = None;
        let mut differing: Option<(usize, Said)> = None;
        for (place, waiting) in self.waiting.iter_mut().enumerate() {
            let response = &waiting.record.response;
            if response.sent > horizon {
                continue;
            }
            let said = follower.say(waiting.prepared.as_ref(), waiting.record);
            let passed = response.kind.is_admitted();
            if !passed && said.agrees == Agreement::Exact {
                return self.decide(follower, place, said);
            }
            waiting.was_near |= !passed && said.agrees == Agreement::Near;
            let best = if passed && said.agrees != Agreement::None { &mut passing } else { &mut differing };
            if best.as_ref().is_none_or(|(_, best)| comes_before(&said, best)) {
                *best = Some((place, said));
            }
        }
        if let Some((place, said)) = passing.take_if(|(_, said)| said.agrees == Agreement::Exact) {
            return self.decide(follower, place, said);
        }
        let first =
            (0..self.unsettled.len()).min_by_key(|place| self.unsettled.get(*place).map(|one| one.by));
        if let Some(first) = first {
            let Unsettled { settlement, by } = self.unsettled.swap_remove(first);
            follower.settle(settlement, by);
            return true;
        }
        match passing.or(differing) {
            Some((place, said)) => self.decide(follower, place, said),
            None => false,
        }
    }

    /// Loads what may come next, and returns the instant by which the first of all that is left was decided: what was sent
    /// later cannot be next.
    fn horizon(&mut self, follower: &Follower<'_>) -> Option<Timestamp> {
        let waiting = self.waiting.iter().map(|waiting| waiting.record.response.received);
        let mut horizon = waiting.chain(self.unsettled.iter().map(|one| one.by)).min();
        while let Some(record) = self.next.take_if(|next| horizon.is_none_or(|by| next.response.sent <= by)) {
            self.next = self.records.next().copied();
            if record.response.kind == Kind::Undecided {
                continue;
            }
            let received = record.response.received;
            horizon = Some(horizon.map_or(received, |by| by.min(received)));
            let prepared = follower.prepare(record);
            self.waiting.push(Waiting { record, prepared, was_near: false });
        }
        horizon
    }

    fn decide(&mut self, follower: &mut Follower<'_>, place: usize, mut said: Said) -> bool {
        // The order of those that wait is that in which they were sent.
        let Waiting { record, prepared, was_near } = self.waiting.remove(place);
        let passed = record.response.kind.is_admitted();
        if !passed && was_near && said.agrees == Agreement::None {
            said.agrees = Agreement::Near;
        }
        if let Some(prepared) = prepared.filter(|_| passed) {
            let given = charge(&prepared, &said, &record.response);
            let by = record.response.received;
            self.unsettled.extend(given.map(|settlement| Unsettled { settlement, by }));
        }
        follower.note(record, said);
        true
    }
}

/// Returns whether one of two that passed is taken first: the one that is explained better, then the one that was answered
/// first, since what its answer gave back may be what let the other pass.
fn comes_before(one: &Said, other: &Said) -> bool {
    let rank = |said: &Said| match said.agrees {
        Agreement::Exact => 0,
        Agreement::Near => 1,
        Agreement::None => 2,
    };
    (rank(one), one.by) < (rank(other), other.by)
}

#[cfg(test)]
mod tests;
