//! Distributed addresses: many machines guess at one account, each within its own limit.
//!
//! A limit by address lets each of them through as often as it lets one. Together they make the fewest of n times what one
//! address may, what the account may, and what everyone together may. Addresses are rented by the thousand; so many exhaust
//! a code as its space has codes for what one address may try while it lives.

use tidegate_policy::Class;
use tidegate_review::{DAY, Guess, spoken_count};

use super::rotation::{MOST_REQUESTS, Order, Rotation, Vary, holds_account, most_on_one_key};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, at_victim};
use crate::act::Seat;

/// Many addresses take turns at one account.
#[derive(Debug)]
pub(super) struct Addresses;

impl Adversary for Addresses {
    fn name(&self) -> &'static str {
        "many-addresses"
    }

    fn what(&self) -> &'static str {
        "Many addresses take turns at one account, each as often as its own limit lets it."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} addresses", spoken_count(means.addresses.into())))
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.one_address.is_none() && aim.guards.iter().any(is_by_address)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Address, used(aim, play), Order::InTurn);
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let is_held = aim.guards.iter().any(|guard| holds_account(guard) || guard.keyed.session);
        let (attack, alone) = (beside.attack.guesses, beside.alone.guesses);
        if !is_sign_in(aim.class) || is_held || attack < alone.saturating_mul(2) || attack == 0 {
            return None;
        }
        let mut says = format!(
            "{} addresses made {} guesses at one account in {}, where one made {}: nothing counts by account",
            spoken_count(used(aim, beside.play).into()),
            spoken_count(attack.into()),
            beside.play.length,
            spoken_count(alone.into()),
        );
        if let Some((sources, life)) = sources_to_exhaust(aim) {
            says += &format!("; {} addresses try every code {life}", spoken_count(sources));
        }
        Some(Exposed { finding: Some("verify-by-address-only"), says })
    }
}

/// Returns how many addresses are used: all there are, as long as together they make no more requests than a play has.
pub(super) fn used(aim: &Aim, play: &Play) -> u32 {
    let each = most_on_one_key(aim, play, is_by_address).unwrap_or(1).max(1);
    let affordable = u128::from(MOST_REQUESTS).checked_div(each).unwrap_or(1).max(2);
    play.means.addresses.min(u32::try_from(affordable).unwrap_or(u32::MAX)).max(1)
}

/// Returns how many addresses try every code while one lives, or in a day where codes do not end, and which of the two.
pub(super) fn sources_to_exhaust(aim: &Aim) -> Option<(u128, &'static str)> {
    let code = aim.code.as_ref()?;
    let life = code.life.unwrap_or(DAY);
    let by_address = aim.guards.iter().filter(|guard| is_by_address(guard) && guard.cost > 0);
    let tries = by_address
        .filter_map(|guard| guard.quota.most_from_idle(life).checked_div(guard.cost.into()))
        .min()?;
    let sources = Guess::of(code).ok()?.sources_to_exhaust(tries)?;
    Some((sources, if code.life.is_some() { "while it lives" } else { "in a day" }))
}

/// Returns whether a limit tells addresses apart.
pub(super) fn is_by_address(guard: &Guard) -> bool {
    guard.keyed.address.is_some()
}

/// Returns whether requests of a class guess at who somebody is.
pub(super) fn is_sign_in(class: Class) -> bool {
    matches!(class, Class::Verify | Class::Recovery | Class::Login)
}
