//! Adversaries who know nothing of each other: each has addresses, accounts and sessions of his own.
//!
//! Every adversary is written as if he were alone, and begins to count at zero. Two of them in one scenario would send from the
//! same machines; so all that is somebody's own is moved by his number. Whom they attack is the same, and so is an address
//! that is a person's: that of a victim, say, which a request only claims to come from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::act::{Act, Actor, Answer, Chance, Who};
use crate::adversary::{OWN, address};

/// So many IPv4 addresses are one adversary's; a scenario lets nobody have more than half as many.
const ADDRESSES: u32 = 1 << 21;
/// So many accounts of his own are one adversary's.
const ACCOUNTS: u32 = 1 << 20;
/// So many sessions are one adversary's: below half of all, which are people's, there is room for a hundred.
const SESSIONS: u32 = 1 << 24;

/// An actor whose own things are moved.
pub(super) struct Apart {
    actor: Box<dyn Actor>,
    number: u32,
}

impl Apart {
    /// Moves an actor's own things to where those of the adversary of that number are; the first one's stay.
    pub(super) fn number(number: u32, actor: Box<dyn Actor>) -> Box<dyn Actor> {
        if number == 0 { actor } else { Box::new(Self { actor, number }) }
    }

    fn moved(&self, who: Who) -> Who {
        let by = |each: u32| self.number.wrapping_mul(each);
        let is_own = who.subject >= OWN;
        Who {
            subject: if is_own { who.subject.wrapping_add(by(ACCOUNTS)) } else { who.subject },
            session: who.session.wrapping_add(by(SESSIONS)),
            address: self.elsewhere(who.address),
            forwarded: who.forwarded.map(|claimed| self.elsewhere(claimed)),
            ..who
        }
    }

    fn elsewhere(&self, at: IpAddr) -> IpAddr {
        match at {
            IpAddr::V4(four) => own_index(four)
                .map_or(at, |index| address(index.wrapping_add(self.number.wrapping_mul(ADDRESSES)) & MOST)),
            IpAddr::V6(six) if six.to_bits() >> 96 == 0x2001_0db8 => {
                let bits = six.to_bits().wrapping_add(u128::from(self.number) << 96);
                IpAddr::V6(Ipv6Addr::from_bits(bits))
            }
            IpAddr::V6(_) => at,
        }
    }
}

/// The last of the addresses that adversaries have together: those of 240.0.0.0/4.
const MOST: u32 = (1 << 28) - 1;

/// Returns which of an adversary's addresses this is, if it is one.
fn own_index(four: Ipv4Addr) -> Option<u32> {
    let bits = four.to_bits();
    match bits >> 28 {
        0xf => Some(bits & MOST),
        _ if bits >> 17 == 0xc612_0000 >> 17 => Some(bits & 0x1_ffff),
        _ => None,
    }
}

impl Actor for Apart {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        let act = self.actor.next(last, chance)?;
        Some(Act { who: self.moved(act.who), ..act })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::adversary::{VICTIM, home, ipv6_address};

    struct Nobody;

    impl Actor for Nobody {
        fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
            None
        }
    }

    /// Guards adversaries against sharing machines, sessions and accounts with each other, or losing their victim.
    #[test]
    fn what_is_somebody_s_own_is_nobody_else_s() {
        let (mut addresses, mut sessions, mut accounts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for number in 0..100 {
            let apart = Apart { actor: Box::new(Nobody), number };
            let own = [0, 1, (1 << 17) - 1, 1 << 17, 999_999].map(address);
            for (index, own) in
                (0..).zip(own.into_iter().chain([ipv6_address(0, 1), ipv6_address(u32::MAX, 1)]))
            {
                let who = Who { session: index, ..Who::new(OWN + index, own) };
                let moved = apart.moved(who);
                assert!(addresses.insert(moved.address), "{number}: {own}");
                assert!(sessions.insert(moved.session) && moved.session < 1 << 31);
                assert!(accounts.insert(moved.subject) && moved.subject >= OWN);
            }
            let claimed = Who { forwarded: Some(home(3)), ..Who::new(VICTIM, home(5)) };
            let moved = apart.moved(claimed);
            assert_eq!((moved.subject, moved.address, moved.forwarded), (VICTIM, home(5), Some(home(3))));
        }
    }
}
