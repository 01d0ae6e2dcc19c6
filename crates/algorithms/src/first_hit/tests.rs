//! Every history of a few charges and refunds on a small grid: none leaves more than if the charge had not been made.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "the numbers of the search are small, and a test may panic"
)]

use crate::decision::{Ask, Receipt};
use crate::quota::{Anchor, FixedWindow, Lockout, Quota};
use crate::state::State;
use crate::time::{Span, Timestamp};
use crate::{decide, peek, refund};

const EPOCH: u64 = 1_700_000_000_000_000;

#[derive(Debug, Clone, Copy)]
enum Event {
    Charge,
    Refund(usize),
}

/// A key and what was charged to it; a refund takes the receipt.
#[derive(Debug, Clone, Default)]
struct Key {
    state: Option<State>,
    receipts: Vec<Option<Receipt>>,
}

impl Key {
    /// Returns whether a charge was admitted.
    fn charge(&mut self, quota: &Quota, at: u64) -> bool {
        let outcome = decide(quota, self.state.as_ref(), Ask::ONE, now(at));
        outcome.change.apply(&mut self.state);
        self.receipts.push(outcome.receipt);
        outcome.receipt.is_some()
    }

    fn refund(&mut self, quota: &Quota, charge: usize, at: u64) {
        if let Some(receipt) = self.receipts[charge].take() {
            refund(quota, self.state.as_ref(), &receipt, now(at)).apply(&mut self.state);
        }
    }

    fn remaining(&self, quota: &Quota, at: u64) -> u32 {
        peek(quota, self.state.as_ref(), Ask::ONE, now(at)).remaining
    }
}

fn now(at: u64) -> Timestamp {
    Timestamp::from_micros(EPOCH + at).unwrap()
}

/// Plays the events without one charge; `None` if one of the others is then refused.
fn without(quota: &Quota, events: &[(u64, Event)], left_out: usize) -> Option<Key> {
    let mut key = Key::default();
    for (at, event) in events {
        match *event {
            Event::Charge if key.receipts.len() == left_out => key.receipts.push(None),
            Event::Charge => key.charge(quota, *at).then_some(())?,
            Event::Refund(charge) => key.refund(quota, charge, *at),
        }
    }
    Some(key)
}

struct Search {
    quota: Quota,
    /// The most steps between two events.
    steps: u64,
    compared: usize,
}

impl Search {
    /// Holds the law for each charge not yet given back, then goes on with every event that may follow.
    fn go_on(&mut self, key: &Key, events: &mut Vec<(u64, Event)>, at: u64, left: usize) {
        for at in at..=at + self.steps {
            let open: Vec<usize> =
                (0..key.receipts.len()).filter(|charge| key.receipts[*charge].is_some()).collect();
            for charge in &open {
                self.hold(key, events, *charge, at);
            }
            if left == 0 {
                continue;
            }
            let refunds = open.into_iter().map(Event::Refund);
            for event in std::iter::once(Event::Charge).chain(refunds) {
                let mut next = key.clone();
                match event {
                    Event::Charge if !next.charge(&self.quota, at) => continue,
                    Event::Charge => {}
                    Event::Refund(charge) => next.refund(&self.quota, charge, at),
                }
                events.push((at, event));
                self.go_on(&next, events, at, left - 1);
                events.pop();
            }
        }
    }

    fn hold(&mut self, key: &Key, events: &[(u64, Event)], charge: usize, at: u64) {
        let Some(not_made) = without(&self.quota, events, charge) else { return };
        let mut given = key.clone();
        given.refund(&self.quota, charge, at);
        if given.state == key.state {
            return;
        }
        for later in at..=at + 3 * self.steps {
            let most = not_made.remaining(&self.quota, later);
            let left = given.remaining(&self.quota, later);
            assert!(
                left <= most,
                "{left} of {most} at {later}: {:?}, {events:?}, then {charge} given back at {at}",
                self.quota
            );
            self.compared += 1;
        }
    }
}

fn search(quota: Quota, steps: u64, events: usize) -> usize {
    let mut search = Search { quota, steps, compared: 0 };
    search.go_on(&Key::default(), &mut Vec::new(), 0, events);
    search.compared
}

#[test]
fn no_refund_in_a_first_hit_window_leaves_more_than_if_the_charge_had_not_been_made() {
    let window = |micros| {
        Quota::FixedWindow(FixedWindow {
            limit: 4,
            window: Span::from_micros(micros),
            anchor: Anchor::FirstHit,
        })
    };
    let compared = search(window(2), 2, 5) + search(window(3), 2, 5);
    assert!(compared > 50_000, "only {compared} comparisons");
}

#[test]
fn no_refund_in_a_lockout_leaves_more_than_if_the_charge_had_not_been_made() {
    let mut compared = 0;
    for (attempts, within, lock) in [(3, 3, 2), (2, 3, 2), (2, 2, 3), (3, 2, 3), (3, 3, 3)] {
        let (within, lock) = (Span::from_micros(within), Span::from_micros(lock));
        compared += search(Quota::Lockout(Lockout { attempts, within, lock }), 3, 4);
    }
    assert!(compared > 50_000, "only {compared} comparisons");
}
