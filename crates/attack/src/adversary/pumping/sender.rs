//! Whoever has messages sent: evenly, to numbers in turn and from addresses in turn, as many as every limit lets pass.

use std::collections::HashSet;
use std::net::IpAddr;

use tidegate_algorithms::{Span, Timestamp};

use super::super::schedule::rotation::common_divisor;
use super::super::{Aim, Guard, Keyed, Means, Play, VICTIM, address};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat, Who};

/// The first of the numbers that are pumped, at the beginning of a block that nobody else has a number of.
const FIRST: u32 = 1_000_000;
/// How many numbers a block has.
pub(super) const BLOCK: u32 = 10_000;
/// How many messages a number gets in an hour; more would show in any list.
const EACH: u64 = 2;
const HOUR: Span = Span::from_secs(3_600);

/// Returns how many numbers of each block there are, and how many blocks, when at most so many are pumped.
pub(super) fn numbers(blocks: u32, means: &Means) -> (u32, u32) {
    let subjects = means.subjects.max(1);
    let blocks = blocks.min(subjects);
    (subjects.checked_div(blocks).unwrap_or(0).clamp(1, BLOCK), blocks)
}

/// Sends evenly as much as the limits let pass.
pub(super) struct Sender {
    at: Timestamp,
    every: Span,
    end: Timestamp,
    /// The first number, how many there are of a block, and how many blocks.
    first: u32,
    each: u32,
    blocks: u32,
    addresses: u32,
    /// Whether limits see of them the one that all clients have.
    sees_one_address: bool,
    /// Whether each message is asked for in a session of its own.
    renews: bool,
    turn: u32,
}

impl Sender {
    /// Sends to numbers of so many blocks.
    pub(super) fn pumping(blocks: u32, aim: &Aim, play: &Play) -> Seat {
        let (each, blocks) = numbers(blocks, &play.means);
        let numbers = u64::from(each).saturating_mul(blocks.into());
        let hours = play.length.as_micros().div_ceil(HOUR.as_micros());
        let most = numbers.saturating_mul(EACH).saturating_mul(hours);
        Self { first: FIRST, each, blocks, ..Self::of(aim, play) }.sends(most, aim, play)
    }

    /// Sends to one number.
    pub(super) fn flooding(aim: &Aim, play: &Play) -> Seat {
        Self::of(aim, play).sends(u64::MAX, aim, play)
    }

    fn of(aim: &Aim, play: &Play) -> Self {
        Self {
            at: play.start,
            every: Span::ZERO,
            end: play.end(),
            first: VICTIM,
            each: 1,
            blocks: 1,
            addresses: play.means.addresses.max(1),
            sees_one_address: aim.sees_one_address(),
            renews: aim.tells_sessions_apart(),
            turn: 0,
        }
    }

    /// Sends at most so many over the whole play, and no more than limits and means let him.
    fn sends(mut self, most: u64, aim: &Aim, play: &Play) -> Seat {
        let length = play.length.as_micros();
        let rate = u128::from(play.means.rate).saturating_mul(length.into()) / 1_000_000;
        let limited = aim.guards.iter().map(|guard| self.allowed(guard, play.length)).min();
        let all = limited.unwrap_or(u128::MAX).min(rate).min(most.into()).max(1);
        let every = u128::from(length).div_ceil(all);
        self.every = Span::from_micros(u64::try_from(every).unwrap_or(u64::MAX).max(1));
        Seat::adversary(self).with_jitter(play.jitter)
    }

    /// Returns how many messages a limit lets pass on all keys that they are counted on.
    fn allowed(&self, guard: &Guard, length: Span) -> u128 {
        let half_open = Span::from_micros(length.as_micros().saturating_sub(1));
        let each = guard.requests(guard.quota.most_from_idle(half_open));
        each.map_or(u128::MAX, |each| each.saturating_mul(self.keys(guard.keyed)))
    }

    /// Returns how many keys a limit counts the messages on.
    fn keys(&self, keyed: Keyed) -> u128 {
        if keyed.session {
            return u128::MAX;
        }
        let numbers = u128::from(self.each).saturating_mul(self.blocks.into());
        let seen = |bits| if self.sees_one_address { 1 } else { networks(self.addresses, bits) };
        let networks = keyed.address.map(|(ipv4, _)| seen(ipv4));
        let whom = match keyed {
            Keyed { subject: true, .. } => numbers,
            Keyed { range: true, .. } => self.blocks.into(),
            _ => 1,
        };
        // Two turns that go on side by side make as many pairs as it takes until both begin together again.
        let pairs = |networks: u128| {
            networks.checked_div(common_divisor(networks, whom)).map(|steps| steps.saturating_mul(whom))
        };
        networks.and_then(pairs).unwrap_or(whom)
    }

    fn who(&self) -> Who {
        let block = self.turn.checked_rem(self.blocks).unwrap_or(0);
        let inside = self.turn.checked_div(self.blocks).unwrap_or(0).checked_rem(self.each).unwrap_or(0);
        let subject = self.first.saturating_add(block.saturating_mul(BLOCK)).saturating_add(inside);
        let from = address(self.turn.checked_rem(self.addresses).unwrap_or(0));
        let session = if self.renews { self.turn } else { 0 };
        Who { session, ..Who::new(subject, from) }
    }
}

/// Returns how many networks of so many bits the first addresses of his lie in.
fn networks(addresses: u32, bits: u8) -> u128 {
    let network = |index: u32| match address(index) {
        IpAddr::V4(address) => address.to_bits().checked_shr(32_u32.saturating_sub(bits.into())).unwrap_or(0),
        IpAddr::V6(_) => index,
    };
    let networks: HashSet<u32> = (0..addresses).map(network).collect();
    u128::try_from(networks.len()).unwrap_or(u128::MAX)
}

impl Actor for Sender {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let (at, who) = (self.at, self.who());
        self.turn = self.turn.wrapping_add(1);
        self.at = at.saturating_add(self.every);
        // A request for a message guesses at nothing, and is no failure of anybody's.
        (at < self.end).then(|| Act { guesses: 0, outcome: Outcome::Failure, ..Act::one(at, who) })
    }
}
