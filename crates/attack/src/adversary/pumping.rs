//! SMS pumping: messages to numbers whose owner is paid a share of what they cost, and a flood of one number.
//!
//! The numbers are many and each is sent one or two an hour, from many addresses, so that neither the limit per number nor
//! the one per address sees anything. Nobody ever enters the code. What is sent in an hour is the least of the rate he can
//! afford, what his addresses may, what his numbers may, what their blocks and countries may, and what everyone together
//! may: whatever is missing of these is what he multiplies. So he sends evenly just what the limits let pass, and no limit
//! refuses him.
//!
//! A block of numbers shows whether blocks and countries are limited, numbers all over the world whether everything is, and
//! a flood of one number whether the one who gets the messages is.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_policy::Class;
use tidegate_review::{spoken_count, whole};

use super::figures::{each_hour, often};
use super::{Adversary, Aim, Beside, Exposed, Guard, Keyed, Need, Play, VICTIM, address};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat, Who};

/// Pumps the numbers of one block.
pub(super) struct Block;

/// Pumps numbers of a thousand blocks.
pub(super) struct World;

/// Floods one number.
pub(super) struct Flood;

/// The first of the numbers that are pumped, at the beginning of a block that nobody else has a number of.
const FIRST: u32 = 1_000_000;
/// How many numbers a block has.
const BLOCK: u32 = 10_000;
/// Of how many blocks numbers are that are all over the world.
const BLOCKS: u32 = 1_000;
/// How many messages a number gets in an hour; more would show in any list.
const EACH: u64 = 2;
/// So many messages an hour are worth a pumper's while.
const WORTHWHILE: f64 = 10.0;
const HOUR: Span = Span::from_secs(3_600);

impl Adversary for Block {
    fn name(&self) -> &'static str {
        "sms-pumping"
    }

    fn what(&self) -> &'static str {
        "Numbers of one block get one or two messages an hour each, from many addresses, and nobody enters a code."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses, Need::Subjects]
    }

    fn with(&self, means: &super::Means) -> Option<String> {
        Some(means_in_words(means.addresses, means.subjects.min(BLOCK)))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.class == Class::Send
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Sender::pumping(1, aim, play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let is_limited = aim.guards.iter().any(|guard| guard.keyed.range || guard.keyed.country);
        // Without a price there may be no phones at all, and blocks are something that only phone numbers have.
        if is_limited || aim.price.is_none() || !is_worthwhile(beside) {
            return None;
        }
        Some(Exposed {
            finding: Some("send-without-country-cap"),
            says: format!(
                "one block of numbers was sent {}: nothing limits what a block or a country gets",
                sent(aim, beside)
            ),
        })
    }
}

impl Adversary for World {
    fn name(&self) -> &'static str {
        "sms-pumping-spread"
    }

    fn what(&self) -> &'static str {
        "Numbers of a thousand blocks get one or two messages an hour each, from many addresses, and nobody enters a code."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses, Need::Subjects]
    }

    fn with(&self, means: &super::Means) -> Option<String> {
        Some(means_in_words(means.addresses, means.subjects))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.class == Class::Send
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Sender::pumping(BLOCKS, aim, play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let is_limited = aim.guards.iter().any(|guard| guard.keyed == Keyed::default());
        if is_limited || !is_worthwhile(beside) {
            return None;
        }
        let means = beside.play.means;
        Some(Exposed {
            finding: Some("send-without-global-cap"),
            says: format!(
                "{} were sent {}: nothing limits what everyone together is sent, and more of them are sent more",
                means_in_words(means.addresses, means.subjects),
                sent(aim, beside)
            ),
        })
    }
}

impl Adversary for Flood {
    fn name(&self) -> &'static str {
        "sms-flood"
    }

    fn what(&self) -> &'static str {
        "One number is sent all that many addresses may send."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses]
    }

    fn with(&self, means: &super::Means) -> Option<String> {
        Some(format!("{} addresses", spoken_count(means.addresses.into())))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.class == Class::Send
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Sender::flooding(aim, play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let holds =
            |guard: &Guard| guard.keyed.subject && guard.keyed.address.is_none() && !guard.keyed.session;
        if aim.guards.iter().any(holds) || !is_worthwhile(beside) {
            return None;
        }
        Some(Exposed {
            finding: Some("send-without-destination-cap"),
            says: format!(
                "one person was sent {} from {} addresses: nothing limits what one is sent",
                sent(aim, beside),
                spoken_count(beside.play.means.addresses.into())
            ),
        })
    }
}

fn means_in_words(addresses: u32, numbers: u32) -> String {
    format!("{} numbers from {} addresses", spoken_count(numbers.into()), spoken_count(addresses.into()))
}

fn is_worthwhile(beside: &Beside<'_>) -> bool {
    each_hour(beside.attack.admitted, beside.attack.went_on(beside.play.length)) >= WORTHWHILE
}

/// Returns how many messages were sent, and for how much: by the hour, and by the day that it would go on for.
fn sent(aim: &Aim, beside: &Beside<'_>) -> String {
    let (admitted, time) = (beside.attack.admitted, beside.attack.went_on(beside.play.length));
    let messages = often(admitted, time, "message");
    let Some(price) = &aim.price else { return messages };
    let hourly = each_hour(admitted.saturating_mul(price.each.into()), time);
    let spoken = |amount: f64| spoken_count(whole(amount));
    format!("{messages} for {} {}, {} a day", spoken(hourly), price.unit, spoken(hourly * 24.0))
}

/// Sends evenly as much as the limits let pass.
struct Sender {
    at: Timestamp,
    every: Span,
    end: Timestamp,
    /// The first number, how many there are of a block, and how many blocks.
    first: u32,
    each: u32,
    blocks: u32,
    addresses: u32,
    /// Whether each message is asked for in a session of its own.
    renews: bool,
    turn: u32,
}

impl Sender {
    /// Sends to numbers of so many blocks.
    fn pumping(blocks: u32, aim: &Aim, play: &Play) -> Seat {
        let subjects = play.means.subjects.max(1);
        let blocks = blocks.min(subjects);
        let each = subjects.checked_div(blocks).unwrap_or(0).clamp(1, BLOCK);
        let numbers = u64::from(each).saturating_mul(blocks.into());
        let hours = play.length.as_micros().div_ceil(HOUR.as_micros());
        let most = numbers.saturating_mul(EACH).saturating_mul(hours);
        Self { first: FIRST, each, blocks, ..Self::of(aim, play) }.sends(most, aim, play)
    }

    /// Sends to one number.
    fn flooding(aim: &Aim, play: &Play) -> Seat {
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
            renews: aim.guards.iter().any(|guard| guard.keyed.session),
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
        let each = guard.quota.most_from_idle(half_open).checked_div(guard.cost.max(1).into()).unwrap_or(0);
        each.saturating_mul(self.keys(guard.keyed))
    }

    /// Returns how many keys a limit counts the messages on.
    fn keys(&self, keyed: Keyed) -> u128 {
        if keyed.session {
            return u128::MAX;
        }
        let numbers = u128::from(self.each).saturating_mul(self.blocks.into());
        let prefix = keyed.address.map(|(ipv4, _)| 32_u32.saturating_sub(ipv4.into()));
        // His addresses follow one another.
        let networks = prefix.map(|bits| u128::from(self.addresses).div_ceil(1_u128 << bits.min(32)));
        let whom = match keyed {
            Keyed { subject: true, .. } => numbers,
            Keyed { range: true, .. } => self.blocks.into(),
            _ => 1,
        };
        networks.map_or(whom, |networks| together(networks, whom))
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

/// Returns how many pairs two turns make that go on side by side, one of so many steps and one of so many.
fn together(one: u128, other: u128) -> u128 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one.checked_div(divisor).unwrap_or(0).saturating_mul(other)
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

#[cfg(test)]
mod tests;
