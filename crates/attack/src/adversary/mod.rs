//! Adversaries: whom limits are there for, one a file.
//!
//! Each says what it needs to know and to have, which limits it fits, and makes the seats that play it. What it is known to
//! reach stands in its tests. When to ask, and as whom, several have in common: that is `schedule`. What an attack has shown
//! of a policy is `exposed`.

mod addresses;
mod aim;
mod aliases;
mod anchored;
mod batch;
mod boundary;
mod burst;
mod challenges;
mod exposed;
mod flood;
mod forwarded;
mod greedy;
mod informed;
mod instances;
mod ipv6;
mod lockout;
mod low_and_slow;
mod outage;
mod paced;
mod places;
mod play;
mod pumping;
mod race;
mod refill;
mod regions;
mod restart;
mod schedule;
mod sessions;
mod shared_key;
mod skew;
mod spray;
mod success;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod weighted;

use crate::act::Seat;
use crate::world::Incident;

pub use aim::{Aim, Guard, Keyed, OneAddress};
pub use exposed::{Beside, Exposed};
pub use places::{OWN, VICTIM, address, at_victim, home, ipv6_address};
pub use play::{Means, Need, Play};

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

    /// Returns whether it is over before its play is: it shows something once, and has no rate at which it would go on.
    fn is_over_early(&self) -> bool {
        false
    }

    /// Returns whether it is worth playing.
    fn fits(&self, aim: &Aim) -> bool;

    /// Returns those who play it, people among them where what it does to them is what counts.
    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat>;

    /// Returns what happens to stores and processes while it is played.
    fn incidents(&self, _aim: &Aim, _play: &Play) -> Vec<Incident> {
        Vec::new()
    }

    /// Returns whether what it reached shows a mistake beside what one client reaches in the same time, so that he is played.
    fn is_held_against_one(&self) -> bool {
        false
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
        &shared_key::SharedKey,
        &pumping::Block,
        &pumping::Spread,
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
