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

mod sender;

use tidegate_algorithms::Span;
use tidegate_policy::Class;
use tidegate_review::{DAY, float, spoken_count, whole};

use self::sender::{BLOCK, Sender, numbers};
use super::exposed::{counted, each_hour};
use super::{Adversary, Aim, Beside, Exposed, Guard, Keyed, Means, Need, Play};
use crate::act::Seat;

/// Pumps the numbers of one block.
pub(super) struct Block;

/// Pumps numbers of a thousand blocks.
pub(super) struct Spread;

/// Floods one number.
pub(super) struct Flood;

/// Of how many blocks numbers are that are all over the world.
const BLOCKS: u32 = 1_000;
/// So many messages an hour are worth a pumper's while.
const WORTHWHILE: f64 = 10.0;
/// What takes so long is not reckoned up to a day.
const NEARLY_A_DAY: Span = Span::from_secs(86_399);

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

    fn with(&self, means: &Means) -> Option<String> {
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

impl Adversary for Spread {
    fn name(&self) -> &'static str {
        "sms-pumping-spread"
    }

    fn what(&self) -> &'static str {
        "Numbers of a thousand blocks get one or two messages an hour each, from many addresses, and nobody enters a code."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses, Need::Subjects]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(means_in_words(means.addresses, means.subjects))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.class == Class::Send
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Sender::pumping(BLOCKS, aim, play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        if aim.guards.iter().any(|guard| is_for_everyone(aim, guard)) || !is_worthwhile(beside) {
            return None;
        }
        let (each, blocks) = numbers(BLOCKS, &beside.play.means);
        Some(Exposed {
            finding: Some("send-without-global-cap"),
            says: format!(
                "{} got {} from {}: nothing limits what everyone together is sent",
                counted(reached(each.saturating_mul(blocks), beside), "number"),
                sent(aim, beside),
                addresses(beside),
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

    fn with(&self, means: &Means) -> Option<String> {
        Some(counted(means.addresses, "address"))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.class == Class::Send
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![Sender::flooding(aim, play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        if aim.guards.iter().any(|guard| guard.keyed.is_of_account()) || !is_worthwhile(beside) {
            return None;
        }
        Some(Exposed {
            finding: Some("send-without-destination-cap"),
            says: format!(
                "one person was sent {} from {}: nothing limits what one is sent",
                sent(aim, beside),
                addresses(beside),
            ),
        })
    }
}

fn means_in_words(addresses: u32, numbers: u32) -> String {
    format!("{} from {}", counted(numbers, "number"), counted(addresses, "address"))
}

/// Returns how many of those that take turns an attack has come round to.
fn reached(all: u32, beside: &Beside<'_>) -> u64 {
    u64::from(all.max(1)).min(beside.attack.requests)
}

/// Returns in words how many addresses messages were asked for from.
fn addresses(beside: &Beside<'_>) -> String {
    counted(reached(beside.play.means.addresses, beside), "address")
}

/// Returns whether a limit counts all that is sent on one key: of everyone, or of the one address that all come from.
fn is_for_everyone(aim: &Aim, guard: &Guard) -> bool {
    let by_address = Keyed { address: None, ..guard.keyed };
    guard.keyed == Keyed::EVERYONE || (aim.sees_one_address() && by_address == Keyed::EVERYONE)
}

fn is_worthwhile(beside: &Beside<'_>) -> bool {
    each_hour(beside.attack.admitted, beside.attack.went_on(beside.play.length)) >= WORTHWHILE
}

/// Returns how many messages were sent in all and for how much, and how much that would be a day, if it took less.
fn sent(aim: &Aim, beside: &Beside<'_>) -> String {
    let (admitted, time) = (beside.attack.admitted, beside.attack.went_on(beside.play.length));
    let messages = format!("{} in {}", counted(admitted, "message"), beside.went_on());
    let Some((cost, unit)) = aim.price_of(admitted) else { return messages };
    let daily = float(cost) * float(DAY.as_micros()) / float(time.as_micros().max(1));
    let at_that_rate = if time < NEARLY_A_DAY {
        format!(", {} a day at that rate", spoken_count(whole(daily)))
    } else {
        String::new()
    };
    format!("{messages} for {} {unit}{at_that_rate}", spoken_count(cost.into()))
}

#[cfg(test)]
mod tests;
