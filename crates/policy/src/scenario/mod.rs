//! Scenario files: who does what at a rule of a policy, among whom and over what, for the attack bench to play.
//!
//! One adversary alone against fresh counts says what a limit can admit. What happens on a day when somebody holds an
//! account's key full while two hundred people share an office's address and the store goes down is a scenario: it mixes
//! adversaries, people, a code, a topology and outages. It is read as policy files are: every slip at once, each with its
//! place and remedy. Nothing here plays one, nor knows which adversaries there are.

mod around;
mod attacker;
mod names;
mod read;

use tidegate_algorithms::{Span, Timestamp};

pub use crate::suite::Named;

use crate::examined::Code;
use crate::file::{self, Report};
use crate::policy::Policy;
use crate::problem::{At, Place, Problems};

/// The member by which a scenario file says the version of its language.
pub(crate) const VERSION: &str = "tidegate-scenario";

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The file's own name, as it was given.
    pub file: String,
    /// The rule of the policy whose requests are made.
    pub rule: Named,
    /// The instant at which it begins, which is its phase to windows of the clock; `None` leaves it to who plays it.
    pub start: Option<Timestamp>,
    /// How long it goes on.
    pub length: Span,
    /// Where chance begins, unless whoever plays it says otherwise.
    pub seed: Option<u64>,
    /// The adversaries, in the order of the file; none where only people are of interest.
    pub adversaries: Vec<Attacker>,
    /// The people beside them.
    pub people: Option<Crowd>,
    /// The code that is guessed at, in place of the policy's.
    pub code: Option<Code>,
    /// How many processes decide, as far as it is otherwise than the policy says.
    pub topology: Around,
    /// What keeps the counts, if not what Tidegate has.
    pub store: Option<Kept>,
    /// When the store is lost, one after the other.
    pub outages: Vec<Outage>,
    /// When every process starts anew, from the beginning of the scenario, in order.
    pub restarts: Vec<Span>,
}

/// An adversary of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attacker {
    /// His name.
    pub name: Named,
    /// When he begins, from the beginning of the scenario.
    pub at: Span,
    /// How long he goes on; to the end of the scenario unless said.
    pub length: Option<Span>,
    /// The limit that his schedule is made for, `rule/limit`.
    pub limit: Option<Named>,
    /// What he has.
    pub has: Has,
}

/// What an adversary has, as far as the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Has {
    /// How many addresses send for him.
    pub addresses: Option<u32>,
    /// The length of the prefix of the IPv6 network that he holds.
    pub ipv6_prefix: Option<u8>,
    /// The most requests a second that he makes.
    pub rate: Option<u32>,
    /// How many accounts or numbers he tries.
    pub subjects: Option<u32>,
    /// How many requests he can have under way at once.
    pub concurrency: Option<u32>,
    /// How many guesses he puts into one request.
    pub batch: Option<u32>,
    /// The standard deviation of how far from the instants he aims at his requests arrive.
    pub jitter: Option<Span>,
}

/// People who want nothing but their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    /// How many there are.
    pub count: u32,
    /// The mean time between two wants of one of them.
    pub every: Span,
    /// The chance that a try is mistyped, from 0 to 1.
    pub typo: Option<f64>,
    /// How often somebody tries before giving up.
    pub tries: Option<u32>,
    /// How long somebody takes from one try to the next.
    pub think: Option<Span>,
    /// How many of them share an address.
    pub behind_one_address: Option<u32>,
}

/// What stands around a process, where it is otherwise than the policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Around {
    /// How many processes share the requests of a region.
    pub instances: Option<u32>,
    /// Whether the processes of a region share one store.
    pub shared: Option<bool>,
    /// How many regions there are, each with its own store.
    pub regions: Option<u32>,
    /// How long a region takes to learn what another has counted; never, unless said. It is only said of two regions or
    /// more whose processes share stores of Tidegate's own.
    pub lag: Option<Span>,
    /// How far clocks are off: every other process is so much ahead, the others as much behind.
    pub skew: Option<Span>,
}

/// What keeps the counts in place of Tidegate's own stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A memory store with room for so many keys.
    Keys(u32),
    /// A bad example: a table of so many keys that forgets the one not used for longest to take in another.
    Evicting(u32),
    /// A bad example: it decides by what it read so long ago, and then adds.
    StaleCheck(Span),
    /// A bad example: it decides by what it read so long ago, and then writes what it reckoned from that.
    ReadModifyWrite(Span),
    /// A bad example: windows of the clock by the clock of whichever process asks.
    OwnClocks,
}

/// A time without the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When it begins, from the beginning of the scenario.
    pub at: Span,
    /// How long it goes on.
    pub length: Span,
    /// Where it stands.
    pub written: At,
}

impl Outage {
    /// Returns when it ends, from the beginning of the scenario.
    pub fn end(&self) -> Span {
        Span::from_micros(self.at.as_micros().saturating_add(self.length.as_micros()))
    }
}

impl Scenario {
    /// Reads a scenario file; `file_name` only stands in its problems.
    ///
    /// # Errors
    /// With everything that is wrong, each with its place.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        let mut report = Report::default();
        let number = report.open_file(file_name);
        let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if empty {
            report.add(Place::START, "the file is empty", "begin it with `tidegate-scenario: 1`");
            return Err(report.into_problems());
        }
        let root = file::load(text, number, &mut report);
        match root.and_then(|root| read::scenario(&root, file_name, &mut report)) {
            Some(scenario) if report.is_empty() => Ok(scenario),
            _ => Err(report.into_problems()),
        }
    }

    /// Checks every name of the scenario: of rules and limits against the policy, of adversaries against those that
    /// whoever plays it has.
    ///
    /// # Errors
    /// With every name that is not there.
    pub fn check_names(&self, policy: &Policy, adversaries: &[&str]) -> Result<(), Problems> {
        let mut report = Report::default();
        report.open_file(&self.file);
        names::check(self, policy, adversaries, &mut report);
        if report.is_empty() { Ok(()) } else { Err(report.into_problems()) }
    }

    /// Returns something that turned out to be wrong with the scenario when it was to be played.
    pub fn problem(&self, place: Place, message: impl Into<String>, remedy: impl Into<String>) -> Problems {
        let mut report = Report::default();
        report.open_file(&self.file);
        report.add(place, message, remedy);
        report.into_problems()
    }
}

#[cfg(test)]
mod tests;
