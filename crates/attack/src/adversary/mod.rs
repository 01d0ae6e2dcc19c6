//! Adversaries: whom limits are there for, one a file.
//!
//! Each says what it needs to know and to have, which limits it fits, and makes the seats that play it. What it is known to
//! reach stands in its tests.

mod addresses;
#[cfg(test)]
mod agreement;
mod aim;
mod aliases;
mod anchored;
mod apart;
mod batch;
mod books;
mod boundary;
mod burst;
mod challenges;
#[cfg(test)]
mod denials;
mod doubled;
mod figures;
mod flood;
mod forwarded;
mod greedy;
mod holding;
mod informed;
mod instances;
mod ipv6;
mod lockout;
mod low_and_slow;
mod mirror;
#[cfg(test)]
mod mistaken;
mod outage;
mod paced;
mod poison;
mod pumping;
mod race;
mod refill;
mod regions;
mod restart;
mod rotation;
mod sessions;
#[cfg(test)]
mod siege;
mod skew;
mod spray;
#[cfg(test)]
mod staged;
mod success;
#[cfg(test)]
mod trial;
mod volleys;
mod weighted;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_algorithms::{Span, Timestamp};

use crate::act::{Seat, Who};
use crate::measure::Measured;
use crate::world::Incident;

pub use aim::{Aim, Guard, Keyed, OneAddress};

/// Something an adversary has to know or to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// The limit's numbers.
    Policy,
    /// When windows begin by the server's clock.
    Phase,
    /// What refusals say of when to come back.
    RetryAfter,
    /// Many addresses.
    Addresses,
    /// An IPv6 network shorter than the key's prefix.
    Ipv6Network,
    /// Many accounts or phone numbers to try.
    Subjects,
    /// New sessions or challenges at will.
    Sessions,
    /// An account of his own.
    OwnAccount,
    /// Requests under way at once.
    Concurrency,
    /// That the store goes down, by chance or by his doing.
    Outage,
    /// That processes start anew.
    Restarts,
}

impl Need {
    /// Returns it in words, as the end of a sentence that begins with "needs".
    pub fn words(self) -> &'static str {
        match self {
            Self::Policy => "the limit's numbers",
            Self::Phase => "when windows begin",
            Self::RetryAfter => "what refusals say of when to come back",
            Self::Addresses => "many addresses",
            Self::Ipv6Network => "an IPv6 network",
            Self::Subjects => "many accounts or numbers to try",
            Self::Sessions => "new sessions or codes at will",
            Self::OwnAccount => "an account of his own",
            Self::Concurrency => "requests under way at once",
            Self::Outage => "an outage of the store",
            Self::Restarts => "a restart",
        }
    }
}

/// What an adversary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// How many addresses send for him.
    pub addresses: u32,
    /// The length of the prefix of the IPv6 network that he holds.
    pub ipv6_prefix: u8,
    /// The most requests a second that he makes.
    pub rate: u32,
    /// How many accounts or numbers he tries.
    pub subjects: u32,
    /// How many requests he can have under way at once.
    pub concurrency: u32,
    /// How many guesses he puts into one request, where the service takes several.
    pub batch: u32,
}

impl Default for Means {
    /// A hundred rented addresses, a /48, a thousand requests a second, ten thousand accounts.
    fn default() -> Self {
        Self { addresses: 100, ipv6_prefix: 48, rate: 1000, subjects: 10_000, concurrency: 20, batch: 10 }
    }
}

/// When and with what an attack is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Play {
    /// The instant at which it begins: what its phase to windows of the clock comes from.
    pub start: Timestamp,
    /// How long it goes on.
    pub length: Span,
    /// How far from the instants he aims at his requests arrive: a standard deviation.
    pub jitter: Span,
    /// What he has.
    pub means: Means,
}

impl Play {
    /// Returns the first instant after it.
    pub fn end(&self) -> Timestamp {
        self.start.saturating_add(self.length)
    }
}

/// A mistake of the policy that an attack has shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Exposed {
    /// The id of the review's finding that is of the same mistake, if there is one.
    pub finding: Option<&'static str>,
    /// What was seen, with its figures, as a sentence.
    pub says: String,
}

/// What adversaries measured against each other: the best that one address with one account did, and this attack.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// What one greedy client with one address reaches against one account in the same time.
    pub alone: &'a Measured,
    /// What this attack reached.
    pub attack: &'a Measured,
    /// How it was played.
    pub play: &'a Play,
}

/// A strategy against limits.
pub trait Adversary: Sync {
    /// Returns its name, as commands and reports write it: `boundary-straddler`.
    fn name(&self) -> &'static str;

    /// Returns what it does, as a sentence.
    fn what(&self) -> &'static str;

    /// Returns what it has to know and to have.
    fn needs(&self) -> &'static [Need];

    /// Returns what it is played with, where that matters, in words: `100 addresses`.
    fn with(&self, _means: &Means) -> Option<String> {
        None
    }

    /// Returns how many requests of a play are enough to show what it comes to, of one that nothing may hold: it ends with
    /// them, as one does that makes too many.
    fn most_requests(&self, _aim: &Aim, _play: &Play) -> u64 {
        u64::MAX
    }

    /// Returns whether its schedule is made for one limit, so that it is played once for each.
    fn is_for_one_limit(&self) -> bool {
        false
    }

    /// Returns whether the instant at which it begins matters, so that it is played at several.
    fn depends_on_phase(&self) -> bool {
        true
    }

    /// Returns whether it is worth playing.
    fn fits(&self, aim: &Aim) -> bool;

    /// Returns those who play it, people among them where what it does to them is what counts.
    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat>;

    /// Returns what happens to stores and processes while it is played.
    fn incidents(&self, _aim: &Aim, _play: &Play) -> Vec<Incident> {
        Vec::new()
    }

    /// Returns the mistake that it shows, if what it reached shows one.
    fn exposes(&self, _aim: &Aim, _beside: &Beside<'_>) -> Option<Exposed> {
        None
    }
}

/// Returns every adversary, in the order of reports.
pub fn adversaries() -> &'static [&'static dyn Adversary] {
    &[
        &greedy::Greedy,
        &boundary::Boundary,
        &anchored::Anchored,
        &weighted::Weighted,
        &paced::Paced,
        &burst::Burst,
        &refill::Refill,
        &informed::Informed,
        &addresses::Addresses,
        &ipv6::Ipv6,
        &forwarded::Spoof,
        &forwarded::Poison,
        &aliases::Aliases,
        &sessions::Sessions,
        &challenges::Challenges,
        &batch::Batch,
        &spray::Spray,
        &low_and_slow::LowAndSlow,
        &success::SuccessReset,
        &race::Race,
        &instances::Instances,
        &regions::Regions,
        &restart::Restart,
        &skew::Skew,
        &outage::Outage,
        &flood::Flood,
        &lockout::Lockout,
        &lockout::Blind,
        &lockout::Paced,
        &lockout::Greedy,
        &poison::SharedKey,
        &pumping::Block,
        &pumping::World,
        &pumping::Flood,
    ]
}

/// Returns the one who knows nothing and has one address: whom others are held against.
pub fn simplest() -> &'static dyn Adversary {
    &greedy::Greedy
}

/// Returns the adversary of that name.
pub fn named(name: &str) -> Option<&'static dyn Adversary> {
    adversaries().iter().copied().find(|adversary| adversary.name() == name)
}

/// The subject that attacks on one account are about.
pub const VICTIM: u32 = 0;

/// The first subject of the adversary's own accounts; nobody else has one from there on.
pub const OWN: u32 = 1 << 30;

/// Returns an address of the adversary's, of networks that are nobody's: 198.18.0.0/15, then 240.0.0.0/4. Of the former
/// neighbours are of different /24s, as rented machines are.
pub fn address(index: u32) -> IpAddr {
    if index >= 1 << 17 {
        return Ipv4Addr::from_bits(0xf000_0000_u32.wrapping_add(index)).into();
    }
    let (network, host) = (index & 0x1ff, index >> 9);
    Ipv4Addr::from_bits(0xc612_0000 | (network << 8) | host).into()
}

/// Returns an address in the IPv6 network that the adversary holds: the `host`-th of its `network`-th /64.
pub fn ipv6_address(network: u32, host: u64) -> IpAddr {
    let bits = (0x2001_0db8_u128 << 96) | (u128::from(network) << 64) | u128::from(host);
    Ipv6Addr::from_bits(bits).into()
}

/// Returns an address of a person's own, outside the adversary's networks.
pub fn home(person: u32) -> IpAddr {
    Ipv4Addr::from_bits(0xcb00_0000_u32.wrapping_add(person % (1 << 24))).into()
}

/// Returns the coordinates of the adversary who asks about the victim from his first address.
pub fn at_victim() -> Who {
    Who::new(VICTIM, address(0))
}
