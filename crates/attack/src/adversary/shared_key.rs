//! Shared-key poisoning: fills a key that many people are counted on, so that all of them are refused.
//!
//! An address behind which a whole office or a carrier's customers sit, a limit for everyone together, a country, or the
//! one address that a proxy nobody trusts gives to all clients: as many requests as the limit lets one client make lock out
//! everyone on the key. The adversary is one of them. What is not to be filled he changes from request to request: he asks
//! about other accounts, in new sessions, and from many addresses where the key holds for all of them.

use std::net::{IpAddr, Ipv4Addr};

use tidegate_algorithms::Span;
use tidegate_review::spoken_count;

use super::exposed::{often, share};
use super::schedule::evenly::Callers;
use super::schedule::holding::{ENOUGH, InStep, lasts};
use super::{Adversary, Aim, Beside, Exposed, Guard, Keyed, Need, Play, home};
use crate::act::Seat;
use crate::people::People;

/// Fills a key that many share.
pub(super) struct SharedKey;

/// The accounts he asks about: neighbours of the people's, so that they are of one country and of one block of numbers with
/// them, and none of theirs.
const SUBJECTS: (u32, u32) = (5_000, 5_000);
/// The most people beside him.
const PEOPLE: u64 = 100;
/// From where all come whom nobody tells apart.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Adversary for SharedKey {
    fn name(&self) -> &'static str {
        "shared-key-poisoning"
    }

    fn what(&self) -> &'static str {
        "One of the many who share a key uses it up, and all others on it are refused."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::RetryAfter]
    }

    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        ENOUGH
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.guard().is_some_and(is_shared)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let callers = Callers::about((SUBJECTS.0, subjects(aim, play)), aim, play);
        let (people, renews) = (people(aim, play), aim.tells_sessions_apart());
        let (callers, seats) = match place(aim) {
            Some(address) => (callers.from(address), people.seats_at(|_| address, renews)),
            None => (callers, people.seats_at(home, renews)),
        };
        let adversary = Seat::adversary(InStep::heeding(callers, aim, play)).with_jitter(play.jitter);
        std::iter::once(adversary).chain(seats).collect()
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let guard = aim.guard()?;
        let (attack, people) = (beside.attack, beside.attack.people);
        people.share_denied().filter(|share| *share >= MOST_ARE_REFUSED)?;
        let went_on = attack.went_on(beside.play.length);
        let figures = format!(
            "{} of what {} tried was refused while one {} made {}",
            share(people.denied, people.tries),
            if people.people == 1 {
                "1 person".to_owned()
            } else {
                format!("{} people", spoken_count(people.people.into()))
            },
            // Where the key holds for all addresses he asks from many.
            if place(aim).is_some() { "client" } else { "attacker" },
            often(attack.requests, went_on, "request"),
        );
        let shut_out = match people.shut_out {
            0 => String::new(),
            all => format!("; {} of them never got through", spoken_count(all.into())),
        };
        match (aim.one_address, guard.keyed.address) {
            (Some(why), Some(_)) => Some(Exposed {
                finding: Some(why.finding()),
                says: format!("all clients are one to {}: {figures}{shut_out}", guard.name),
            }),
            // A limit on what is sent is there for its price, and stops everybody on purpose.
            (_, None) if aim.is_sign_in() && guard.keyed == Keyed::EVERYONE => Some(Exposed {
                finding: None,
                says: format!("{} is one key for everybody: {figures}{shut_out}", guard.name),
            }),
            _ => None,
        }
    }
}

/// So large a share of people's tries is to be refused before a key counts as filled.
const MOST_ARE_REFUSED: f64 = 0.5;

/// Returns whether more than one person is counted on a key.
fn is_shared(guard: &Guard) -> bool {
    guard.keyed.holds_address()
}

/// Returns where adversary and people come from, if from one place: one address is what they share, or all there is.
fn place(aim: &Aim) -> Option<IpAddr> {
    let shares_address = aim.guard().is_some_and(|guard| guard.keyed.address.is_some());
    if aim.one_address.is_some() { Some(HERE) } else { shares_address.then(|| home(0)) }
}

/// Returns about how many subjects he has to ask so that no limit on one of them keeps him from filling the key, twice as many
/// as that takes at the least and no more than he has: each is a request that has to be planned.
fn subjects(aim: &Aim, play: &Play) -> u32 {
    let allowed = |guard: &Guard| {
        let units = guard.quota.most_from_idle(play.length).saturating_sub(guard.quota.nominal().into());
        guard.requests(units).unwrap_or(u128::MAX)
    };
    let wanted = aim
        .guard()
        .map_or(1, |guard| allowed(guard).saturating_add(guard.quota.nominal().into()).min(ENOUGH.into()));
    let of_one = aim.guards.iter().filter(|guard| guard.keyed.subject).map(allowed).min();
    let needed = of_one.map_or(1, |each| wanted.div_ceil(each.max(1)).saturating_mul(2));
    let most = SUBJECTS.1.min(play.means.subjects).max(1);
    u32::try_from(needed).unwrap_or(u32::MAX).clamp(1, most)
}

/// Returns people who alone take about a tenth of what the limit lets pass, as far as that is a visit each.
fn people(aim: &Aim, play: &Play) -> People {
    let tenth = Guard::slowest(aim.guard()).as_micros().saturating_mul(10);
    let length = lasts(aim.guard(), 1, play).as_micros();
    let visits = length.checked_div(tenth).unwrap_or(u64::MAX).clamp(1, PEOPLE.saturating_mul(20));
    let count = visits.min(PEOPLE);
    let every = length.saturating_mul(count).checked_div(visits).unwrap_or(length);
    People {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        first: 0,
        every: Span::from_micros(every),
        typo: 0.05,
        tries: 3,
        think: Span::from_secs(5),
        share: 1,
        start: play.start,
        end: play.end(),
    }
}

#[cfg(test)]
mod tests;
