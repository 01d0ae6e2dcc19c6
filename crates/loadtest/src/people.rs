//! Who asks: users of whom some come far more often than others, one key that floods, and keys that nobody has seen.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng};
use rand_distr::{Distribution as _, Zipf};
use rand_pcg::Pcg64Mcg;

/// Somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// One of the users.
    User(u32),
    /// The one key of a flood.
    Flood,
    /// A key that is used once.
    New(u64),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(number) => write!(f, "user-{number}"),
            Self::Flood => f.write_str("flood"),
            Self::New(number) => write!(f, "new-{number:x}"),
        }
    }
}

impl Who {
    /// Returns an address that is his, to be written into what is sent.
    pub(crate) fn address(self) -> Ipv4Addr {
        match self {
            Self::User(number) => Ipv4Addr::from_bits(0x0a00_0000 | number.wrapping_add(1) & 0xff_ffff),
            Self::Flood => Ipv4Addr::new(198, 51, 100, 66),
            // From 16.0.0.0 to 111.255.255.255: 1.6 billion before one comes again.
            Self::New(number) => {
                let low = u32::try_from(number % (96 << 24)).unwrap_or(0);
                Ipv4Addr::from_bits(0x1000_0000 + low)
            }
        }
    }

    /// Returns an address of this machine that is his, to send from.
    pub(crate) fn source(self) -> IpAddr {
        let low = match self {
            Self::User(number) => 0x01_0000 | number.wrapping_add(1) & 0xffff,
            Self::Flood => 0x42_0042,
            Self::New(number) => 0x80_0001 + u32::try_from(number % 0x7f_fffd).unwrap_or(0),
        };
        Ipv4Addr::from_bits(0x7f00_0000 | low).into()
    }
}

/// How many draws are made beforehand, lest drawing be measured: for each user so many that hardly one is left out by chance, and
/// in all so many that they take no more than 16 MiB. Read one after the other they are in the cache before they are needed.
const DRAWS_A_USER: u32 = 4;
const FEWEST_DRAWS: u32 = 1 << 14;
const MOST_DRAWS: u32 = 1 << 22;

/// Users, drawn so that the `n`-th of them comes as often as 1/n^skew (Zipf). After the last draw the first comes again.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    draws: Arc<[u32]>,
    at: usize,
    /// The number of the first of them.
    first: u32,
}

impl Crowd {
    pub(crate) fn new(users: u32, skew: f64, seed: u64, first: u32) -> Self {
        let mut chance = Pcg64Mcg::seed_from_u64(seed);
        let users = users.max(1);
        let zipf = Zipf::new(f64::from(users), skew).ok();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "ranks are from 1 to users"
        )]
        let mut draw = || match &zipf {
            Some(zipf) => (zipf.sample(&mut chance) as u32).clamp(1, users) - 1,
            None => chance.random_range(0..users),
        };
        let draws = users.saturating_mul(DRAWS_A_USER).clamp(FEWEST_DRAWS, MOST_DRAWS);
        Self { draws: (0..draws).map(|_| draw()).collect(), at: 0, first }
    }

    fn next(&mut self) -> u32 {
        self.at = if self.at + 1 < self.draws.len() { self.at + 1 } else { 0 };
        self.draws.get(self.at).copied().unwrap_or(0).wrapping_add(self.first)
    }
}

/// Where a stream's keys come from.
#[derive(Debug, Clone)]
pub(crate) enum Keys {
    /// Users by their weight.
    Crowd(Crowd),
    /// Always the same.
    One(Who),
    /// Ever new ones.
    New {
        /// The number of the next.
        next: u64,
        /// How far the one after is from it: as many threads as there are draw from one row of numbers.
        step: u64,
    },
}

impl Keys {
    /// Says who asks next.
    #[inline]
    pub(crate) fn next(&mut self) -> Who {
        match self {
            Self::Crowd(crowd) => Who::User(crowd.next()),
            Self::One(who) => *who,
            Self::New { next, step } => {
                let number = *next;
                *next = next.wrapping_add(*step);
                Who::New(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    /// Guards against a crowd that is one person, or where everybody comes as often: limits meet neither.
    #[test]
    fn some_users_come_far_more_often_than_others_and_all_are_different() {
        let mut keys = Keys::Crowd(Crowd::new(1_000, 1.0, 1, 0));
        let mut seen: HashMap<Who, usize> = HashMap::new();
        let draws = 1 << 14;
        for _ in 0..draws {
            *seen.entry(keys.next()).or_default() += 1;
        }
        // By the law the first of a thousand has 13 %, and the hundredth a hundredth of that.
        let share = seen[&Who::User(0)] * 100 / draws;
        assert!((11..=16).contains(&share), "{share} %");
        assert!(seen.len() > 700, "{}", seen.len());
    }

    /// Guards against a store that is shown fewer keys than the report tells, which then lie in a cache that they would not lie in.
    #[test]
    fn of_a_hundred_thousand_users_hardly_one_never_comes() {
        let users = 100_000;
        let mut crowd = Crowd::new(users, 0.0, 1, 0);
        let seen: HashSet<u32> = (0..users * DRAWS_A_USER).map(|_| crowd.next()).collect();
        // By chance e^-4 of them, 1.8 %, are left out.
        assert!(seen.len() > 97_000, "{}", seen.len());
        assert!(seen.iter().all(|user| *user < users));
    }

    /// Guards against two people who are one to the limiter.
    #[test]
    fn nobody_shares_a_name_or_an_address_with_another() {
        let all = (0..2_000).map(Who::User).chain([Who::Flood]).chain((5..2_000).map(Who::New));
        let (mut names, mut addresses, mut sources) = (HashSet::new(), HashSet::new(), HashSet::new());
        for who in all {
            assert!(names.insert(who.to_string()), "{who}");
            assert!(addresses.insert(who.address()), "{who}");
            assert!(who.source().is_loopback() && sources.insert(who.source()), "{who}");
        }
    }
}
