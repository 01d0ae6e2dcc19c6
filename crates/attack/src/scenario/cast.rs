//! Who plays in a scenario: a seat for each person, then those of each adversary; and what happens meanwhile.
//!
//! People sit first, so that their chance is the same with the adversaries as without.

use tidegate_algorithms::Span;
use tidegate_policy::Problems;
use tidegate_policy::scenario::{Attacker, Has};

use super::Script;
use super::apart::Apart;
use crate::act::{Role, Seat};
use crate::adversary::{Adversary, Aim, Means, Play, VICTIM, named};
use crate::people::People;
use crate::world::{Incident, What};

/// How people are where the scenario does not say: one try in ten is mistyped, and after the fourth they give up.
const TYPO: f64 = 0.1;
const TRIES: u32 = 4;
const THINK: Span = Span::from_secs(5);

/// Everybody who plays.
pub(super) struct Cast {
    /// The people's, then each adversary's.
    pub(super) seats: Vec<Seat>,
    /// How many seats are the scenario's people's.
    pub(super) people: usize,
    /// The adversaries.
    pub(super) parts: Vec<Part>,
    /// Whose each seat is that is no person's of the scenario, as an index of `parts`.
    pub(super) part_of: Vec<usize>,
    /// What happens to stores and processes.
    pub(super) incidents: Vec<Incident>,
}

/// One adversary's part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The index of the adversary in the scenario.
    pub(super) index: usize,
    /// The limit that his schedule is made for, if it is made for one.
    pub(super) limit: Option<String>,
    /// When and with what he plays.
    pub(super) play: Play,
}

impl Part {
    /// Returns who plays it.
    pub(super) fn adversary(&self, script: &Script<'_>) -> Option<&'static dyn Adversary> {
        named(&script.scenario.adversaries.get(self.index)?.name.name)
    }
}

impl Cast {
    /// Returns the people alone, and what happens by itself.
    pub(super) fn people_of(script: &Script<'_>) -> Self {
        let seats = people(script).map_or_else(Vec::new, |people| people.seats());
        Self {
            people: seats.len(),
            seats,
            parts: Vec::new(),
            part_of: Vec::new(),
            incidents: incidents(script),
        }
    }

    /// Returns everybody.
    ///
    /// # Errors
    /// When an adversary's limit is none that the rule's requests ask, or he has nothing to do there.
    pub(super) fn of(script: &Script<'_>) -> Result<Self, Problems> {
        let mut cast = Self::people_of(script);
        for (index, attacker) in script.scenario.adversaries.iter().enumerate() {
            // Names have been checked before.
            let Some(adversary) = named(&attacker.name.name) else { continue };
            cast.join(script, index, attacker, adversary)?;
        }
        Ok(cast)
    }

    /// Returns whether anybody attacks.
    pub(super) fn has_adversaries(&self) -> bool {
        !self.parts.is_empty()
    }

    fn join(
        &mut self,
        script: &Script<'_>,
        index: usize,
        attacker: &Attacker,
        adversary: &'static dyn Adversary,
    ) -> Result<(), Problems> {
        let aim = Aim { focus: focus(script, attacker, adversary)?, ..script.aim.clone() };
        let play = play(script, attacker);
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let mut seats = adversary.seats(&aim, &play);
        if self.people > 0 {
            // The scenario says who else is there; those whom an adversary brings along would be counted among them.
            seats.retain(|seat| seat.role == Role::Adversary);
        }
        if seats.is_empty() || !adversary.fits(&aim) {
            let message = format!(
                "{} has nothing to gain at the rule {} as it is run here",
                adversary.name(),
                aim.rule
            );
            let remedy = "leave it out, or name another rule, another limit, or another topology";
            return Err(script.scenario.problem(attacker.name.place, message, remedy));
        }
        self.incidents.extend(adversary.incidents(&aim, &play));
        self.part_of.extend(std::iter::repeat_n(self.parts.len(), seats.len()));
        let party = self.parts.len();
        let apart = |seat: Seat| Seat { actor: Apart::number(number, seat.actor), party, ..seat };
        self.seats.extend(seats.into_iter().map(apart));
        let limit = adversary.is_for_one_limit().then(|| aim.guard().map(|guard| guard.name.clone()));
        self.parts.push(Part { index, limit: limit.flatten(), play });
        Ok(())
    }
}

/// Returns which limit a schedule is made for: the one that is said, else the rule's own that the policy names first, or the
/// first that the adversary fits.
fn focus(script: &Script<'_>, attacker: &Attacker, adversary: &dyn Adversary) -> Result<usize, Problems> {
    let guards = &script.aim.guards;
    let Some(limit) = &attacker.limit else {
        let usual = script.aim.focus;
        let fits = |focus: &usize| adversary.fits(&Aim { focus: *focus, ..script.aim.clone() });
        return Ok([usual].into_iter().chain(0..guards.len()).find(fits).unwrap_or(usual));
    };
    let found = guards.iter().position(|guard| guard.name == limit.name);
    found.ok_or_else(|| {
        let names: Vec<&str> = guards.iter().map(|guard| guard.name.as_str()).collect();
        let message = format!("no request at the rule {} asks the limit {}", script.aim.rule, limit.name);
        script.scenario.problem(limit.place, message, format!("they ask {}", names.join(", ")))
    })
}

/// Returns when and with what an adversary plays.
fn play(script: &Script<'_>, attacker: &Attacker) -> Play {
    let start = script.start.saturating_add(attacker.at);
    let left = script.whole().end().saturating_since(start);
    Play {
        start,
        length: attacker.length.map_or(left, |length| length.min(left)),
        jitter: attacker.has.jitter.unwrap_or(Span::ZERO),
        means: means(&attacker.has),
    }
}

/// Returns what an adversary has: what any has, where the scenario says nothing else.
fn means(has: &Has) -> Means {
    let usual = Means::default();
    Means {
        addresses: has.addresses.unwrap_or(usual.addresses),
        ipv6_prefix: has.ipv6_prefix.unwrap_or(usual.ipv6_prefix),
        rate: has.rate.unwrap_or(usual.rate),
        subjects: has.subjects.unwrap_or(usual.subjects),
        concurrency: has.concurrency.unwrap_or(usual.concurrency),
        batch: has.batch.unwrap_or(usual.batch),
    }
}

/// Returns the people; the first of them is the one whose account is attacked.
fn people(script: &Script<'_>) -> Option<People> {
    let crowd = script.scenario.people?;
    Some(People {
        count: crowd.count,
        first: VICTIM,
        every: crowd.every,
        typo: crowd.typo.unwrap_or(TYPO),
        tries: crowd.tries.unwrap_or(TRIES),
        think: crowd.think.unwrap_or(THINK),
        share: crowd.behind_one_address.unwrap_or(1),
        start: script.start,
        end: script.whole().end(),
    })
}

/// Returns what the scenario says that happens.
fn incidents(script: &Script<'_>) -> Vec<Incident> {
    let at = |after: Span, what| Incident { at: script.start.saturating_add(after), what };
    let outages = &script.scenario.outages;
    let lost =
        outages.iter().flat_map(|outage| [at(outage.at, What::StoreLost), at(outage.end(), What::StoreBack)]);
    let restarts = script.scenario.restarts.iter().map(|after| at(*after, What::Restart));
    lost.chain(restarts).collect()
}
