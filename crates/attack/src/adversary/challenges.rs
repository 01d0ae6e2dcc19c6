//! Challenge cycling: a new code as soon as the tries of one are spent.
//!
//! Where a code allows A tries and C codes can be had in a period, that is A · C guesses, each with the chance that one has
//! at a code of its own: no code is ever exhausted. A service that goes on counting when it sends a new code gives nothing
//! away.

use tidegate_algorithms::Timestamp;
use tidegate_review::{DAY, Guess, spoken_chance, spoken_count};

use super::exposed::counted;
use super::schedule::books::{Books, reading};
use super::schedule::rotation::{Rotation, at_full_rate};
use super::{Adversary, Aim, Beside, Exposed, Guard, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat};

/// One client asks for a new code whenever the tries of one are spent.
#[derive(Debug)]
pub(super) struct Challenges;

impl Adversary for Challenges {
    fn name(&self) -> &'static str {
        "challenge-cycling"
    }

    fn what(&self) -> &'static str {
        "One client asks for a new code whenever the tries of one are spent."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Sessions]
    }

    fn most_requests(&self, _aim: &Aim, play: &Play) -> u64 {
        at_full_rate(play)
    }

    fn fits(&self, aim: &Aim) -> bool {
        attempts(aim).is_some()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let attempts = attempts(aim).unwrap_or(1);
        let cycle = Cycle {
            rotation: Rotation::new(aim, play, at_victim()),
            codes: Books::of(&aim.senders, reading(aim)),
            attempts,
            left: attempts,
            carries_over: aim.code.as_ref().is_some_and(|code| code.carry_over),
            challenge: 0,
        };
        vec![Seat::adversary(cycle).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let code = aim.code.as_ref().filter(|code| !code.carry_over)?;
        let (attempts, guess) = (code.attempts?, Guess::of(code).ok()?);
        let guesses = beside.attack.guesses;
        // What a limit over a day lets through is a matter of the code's length.
        let is_long = |guard: &Guard| guard.keyed.holds_account() && guard.quota.window() >= DAY;
        if !aim.is_sign_in() || guesses <= attempts.into() || aim.guards.iter().any(is_long) {
            return None;
        }
        let a_year = beside.guesses_in_a_year();
        let chance = guess.chance_of(a_year);
        (chance > aim.borne).then(|| Exposed {
            finding: Some("attempts-die-with-the-code"),
            says: format!(
                "{} were made at one account in {}, {attempts} at each code: {} in a year, which succeed with {}",
                counted(guesses, "guess"),
                beside.went_on(),
                spoken_count(a_year),
                spoken_chance(chance),
            ),
        })
    }
}

fn attempts(aim: &Aim) -> Option<u32> {
    aim.code.as_ref()?.attempts.filter(|attempts| *attempts > 0)
}

/// Somebody who cycles through codes.
struct Cycle {
    rotation: Rotation,
    /// What was used of the limits on codes.
    codes: Books,
    attempts: u32,
    left: u32,
    carries_over: bool,
    challenge: u32,
}

impl Cycle {
    /// Waits for a new code, which is sent as soon as limits let it be; `None` when that would be of no use, or never is.
    fn begin_anew(&mut self, at: Timestamp) -> Option<()> {
        if self.carries_over {
            return None;
        }
        let sent = self.codes.ready(&at_victim(), at)?;
        self.codes.charge(&at_victim(), sent, Outcome::Failure);
        self.challenge = self.challenge.wrapping_add(1);
        self.left = self.attempts;
        self.rotation.base.session = self.challenge;
        self.rotation.free = self.rotation.free.max(sent);
        Some(())
    }
}

impl Actor for Cycle {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        match last {
            // The first code is sent as he begins.
            None => self.codes.charge(&at_victim(), self.rotation.free, Outcome::Failure),
            Some(answer) => {
                self.rotation.saw(answer);
                self.left = self.left.saturating_sub(answer.admitted);
                if self.left == 0 {
                    self.begin_anew(answer.at)?;
                }
            }
        }
        let (at, who) = self.rotation.choose()?;
        Some(Act::one(at, who).times(self.rotation.copies.min(self.left)))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_policy::Code;

    use super::super::testing::testbed::{ACCOUNT, DAY, HOUR, Testbed, digits, log};
    use tidegate::OnStoreFailure;

    use super::*;
    use tidegate_algorithms::{Quota, Span};

    fn code(attempts: u32, carry_over: bool) -> Code {
        Code { attempts: Some(attempts), carry_over, ..digits(1) }
    }

    fn sender(quota: Quota) -> Guard {
        Guard {
            name: "send/per-account".to_owned(),
            quota,
            cost: 1,
            keyed: ACCOUNT,
            failures: None,
            on_store_failure: OnStoreFailure::Deny,
        }
    }

    fn testbed(attempts: u32, codes: Quota) -> Testbed {
        let generous = log(1_000, Span::from_secs(60));
        let mut testbed = Testbed::of([(generous, ACCOUNT)]).guessing(code(attempts, false));
        testbed.aim.senders = vec![sender(codes)];
        testbed
    }

    /// Guards against tries that outlive their code, and against codes that are had faster than they are sent: A · C a
    /// period. Five checks a code of ten minutes, one at a time, are 720 a day; three tries of ten codes an hour are 33,333
    /// hours for as many tries as there are codes.
    #[test]
    fn guesses_are_the_tries_of_a_code_times_the_codes() {
        let one_at_a_time = testbed(5, log(1, Span::from_secs(600)));
        assert_eq!(one_at_a_time.met(&Challenges).admitted, 720);
        let measured = testbed(3, log(10, HOUR)).met(&Challenges);
        assert_eq!(measured.admitted, 3 * 10 * 24);
        assert_eq!(1_000_000 / (measured.admitted / 24), 33_333);
    }

    /// Guards against a gain where the service goes on counting.
    #[test]
    fn tries_that_are_carried_over_are_the_only_ones() {
        let carried = testbed(5, log(10, HOUR)).guessing(code(5, true));
        assert_eq!(carried.met(&Challenges).admitted, 5);
        assert_eq!(carried.exposed(&Challenges), None);
    }

    /// Guards against a finding where the account is counted over a day as well, or nothing in the figures is bad.
    #[test]
    fn tries_that_die_with_the_code_are_exposed_by_their_chance_in_a_year() {
        let exposed = testbed(3, log(10, HOUR)).exposed(&Challenges).unwrap();
        assert_eq!(exposed.finding, Some("attempts-die-with-the-code"));
        assert_eq!(
            exposed.says,
            "720 guesses were made at one account in 1d, 3 at each code: 262,800 in a year, which succeed with 23 %"
        );
        assert_eq!(testbed(3, log(1, DAY)).exposed(&Challenges), None, "1,095 a year are 0.11 %");
        let mut capped = testbed(3, log(10, HOUR));
        capped.aim.guards.push(sender(log(9, DAY)));
        let (alone, attack) = (crate::measure::Measured::default(), capped.met(&Challenges));
        assert_eq!(
            Challenges.exposes(&capped.aim, &Beside { alone: &alone, attack: &attack, play: &capped.play }),
            None
        );
    }
}
