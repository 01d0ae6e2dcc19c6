//! One coordinate that is changed, and its values by when they are let through again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};

use tidegate_algorithms::Timestamp;

use super::super::super::{OWN, address, ipv6_address};
use super::super::books::Books;
use crate::act::Who;

/// What is changed from request to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vary {
    /// The address that sends.
    Address,
    /// The IPv6 network of so many bits, within the one that is held.
    Network(u8),
    /// The address that the request claims.
    Claimed,
    /// The session, challenge or cookie.
    Session,
    /// The spelling of the account's name.
    Spelling,
    /// The account, each with a session of its own, in an order that looks random: the `index`-th is `index · step + first` of `count`.
    Subject {
        /// How many there are.
        count: u32,
        /// The first one.
        first: u32,
        /// The step, which has no divisor in common with their number.
        step: u32,
    },
    /// The account, among his own.
    Own,
}

impl Vary {
    /// Gives a request the value of an index.
    pub(crate) fn put(self, index: u32, who: &mut Who) {
        match self {
            Self::Address => who.address = address(index),
            Self::Network(prefix) => {
                let bits = u128::from(index).checked_shl(128_u32.saturating_sub(prefix.into())).unwrap_or(0);
                // Both are cut to what lies in them.
                let (network, host) = ((bits >> 64) & u128::from(u32::MAX), bits & u128::from(u64::MAX));
                who.address = ipv6_address(
                    u32::try_from(network).unwrap_or_default(),
                    u64::try_from(host).unwrap_or_default(),
                );
            }
            Self::Claimed => who.forwarded = Some(claimed(index)),
            Self::Session => who.session = index,
            Self::Spelling => who.spelling = u8::try_from(index).unwrap_or(u8::MAX),
            Self::Subject { count, first, step } => {
                let at = u64::from(index).wrapping_mul(step.into()).wrapping_add(first.into());
                who.subject = at.checked_rem(count.into()).and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
                // Whoever signs in to another account has another session and another code.
                who.session = who.subject;
            }
            Self::Own => who.subject = OWN.saturating_add(index),
        }
    }
}

/// Returns an address to claim, of 240.0.0.0/4, with neighbours far apart.
fn claimed(index: u32) -> IpAddr {
    // An odd factor goes through all 2^28 of them.
    let spread = index.wrapping_mul(0x09e3_779b) & 0x0fff_ffff;
    Ipv4Addr::from_bits(0xf000_0000 | spread).into()
}

/// In which order values are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each in turn, the one that was used longest ago first.
    InTurn,
    /// One until limits hold it, then the next.
    UntilSpent,
}

/// So many values that were never used are tried for one that limits let through; of a network that is counted as one there
/// are very many that they do not.
const MOST_FRESH: u32 = 1024;

/// A coordinate that is changed.
pub(crate) struct Axis {
    pub(super) vary: Vary,
    /// How many values it has; [`u32::MAX`] when they never end.
    pub(crate) count: u32,
    order: Order,
    /// The limits that it leads around.
    pub(crate) limits: Vec<usize>,
    fresh: u32,
    current: Option<u32>,
    /// Values that were used, each with the earliest instant at which it may be let through, and when it was put there.
    waiting: BinaryHeap<Reverse<(Timestamp, u64, u32)>>,
    turn: u64,
}

impl Axis {
    pub(crate) fn new(vary: Vary, count: u32, order: Order) -> Self {
        Self {
            vary,
            count,
            order,
            limits: Vec::new(),
            fresh: 0,
            current: None,
            waiting: BinaryHeap::new(),
            turn: 0,
        }
    }

    /// Returns a value that is let through at an instant, or the one that is first after it, and when; `None` when none ever
    /// is.
    pub(crate) fn pick(&mut self, base: Who, books: &Books, at: Timestamp) -> Option<(Timestamp, u32)> {
        if let Some(current) = self.current.take() {
            match self.ready(current, base, books, at) {
                Some(ready) if ready == at => return Some((at, current)),
                Some(ready) => self.put_off(current, ready),
                None => {}
            }
        }
        let mut looks = 0;
        loop {
            let waits = self.waiting.peek().is_none_or(|Reverse((ready, ..))| *ready > at);
            let is_turn = self.order == Order::InTurn || waits;
            let is_fresh = self.fresh < self.count && looks < MOST_FRESH && is_turn;
            let (from, value) = if is_fresh {
                looks = looks.saturating_add(1);
                let fresh = self.fresh;
                self.fresh = fresh.saturating_add(1);
                (at, fresh)
            } else {
                let Reverse((ready, _, value)) = self.waiting.pop()?;
                (ready.max(at), value)
            };
            match self.ready(value, base, books, from) {
                Some(ready) if ready == from => return Some((ready, value)),
                Some(ready) => self.put_off(value, ready),
                None => {}
            }
        }
    }

    /// Notes that a value was used.
    pub(crate) fn used(&mut self, value: u32, base: Who, books: &Books, at: Timestamp) {
        match self.order {
            Order::UntilSpent => self.current = Some(value),
            // Of values that never end there is always a fresh one.
            Order::InTurn if self.count == u32::MAX => {}
            Order::InTurn => {
                if let Some(ready) = self.ready(value, base, books, at) {
                    self.put_off(value, ready);
                }
            }
        }
    }

    /// Puts a value aside until an instant.
    pub(crate) fn put_off(&mut self, value: u32, until: Timestamp) {
        self.turn = self.turn.wrapping_add(1);
        self.waiting.push(Reverse((until, self.turn, value)));
    }

    /// Returns when the limits that this coordinate leads around let a value through.
    fn ready(&self, value: u32, base: Who, books: &Books, at: Timestamp) -> Option<Timestamp> {
        let mut who = base;
        self.vary.put(value, &mut who);
        self.limits
            .iter()
            .try_fold(at, |latest, limit| books.ready_at(*limit, &who, at).map(|ready| ready.max(latest)))
    }
}
