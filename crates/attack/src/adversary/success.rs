//! Success reset: his own login clears the count of his failures at others.
//!
//! A limit by address that a success resets lets whoever has an account of his own there begin anew when he likes: L − 1 wrong
//! guesses at others, one right login of his own, and again. What it lets through has no end.

use tidegate::OnSuccess;
use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::rotation::{Rotation, around_accounts, most_beside, until_accounts_run_out};
use super::{Adversary, Aim, Beside, Exposed, Guard, Need, OWN, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat, Who};

/// So many accounts of his own take turns, where limits hold them too.
const OWN_ACCOUNTS: u32 = 100;

/// One client signs in to his own account before the failures at others hold him.
#[derive(Debug)]
pub(super) struct SuccessReset;

impl Adversary for SuccessReset {
    fn name(&self) -> &'static str {
        "success-reset"
    }

    fn what(&self) -> &'static str {
        "One client signs in to an account of his own whenever one more failure at others would hold him."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::OwnAccount]
    }

    fn most_requests(&self, aim: &Aim, play: &Play) -> u64 {
        until_accounts_run_out(aim, play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.guards.iter().any(is_shared)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let shared = aim.guards.iter().filter(|guard| is_shared(guard));
        let tries = shared.map(Guard::burst).min();
        let rotation = Rotation::new(aim, play, at_victim());
        let resetter = Resetter {
            rotation: around_accounts(rotation, aim, play),
            tries: tries.unwrap_or(0).saturating_sub(1),
            wrong: 0,
            own: None,
            account: 0,
        };
        vec![Seat::adversary(resetter).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let one = most_beside(aim, beside, is_shared)?;
        let guesses = beside.attack.guesses;
        (u128::from(guesses) >= one.saturating_mul(2)).then(|| Exposed {
            finding: Some("success-resets-anothers-counter"),
            says: format!(
                "one client with an account of his own there made {} at others in {}, where {} pass without a login: each login \
                 forgets them",
                counted(guesses, "guess"),
                beside.went_on(),
                spoken_count(one),
            ),
        })
    }
}

/// Returns whether a success on one account clears what was counted at another.
fn is_shared(guard: &Guard) -> bool {
    guard.failures == Some(OnSuccess::Reset) && !guard.keyed.subject && guard.cost > 0
}

/// Somebody who resets.
struct Resetter {
    rotation: Rotation,
    /// How many wrong ones he makes before each login of his own.
    tries: u32,
    wrong: u32,
    /// The login that was tried last, if it was one.
    own: Option<Who>,
    account: u32,
}

impl Resetter {
    fn saw(&mut self, answer: &Answer) {
        match self.own.take() {
            Some(who) if answer.admitted > 0 => {
                self.rotation.books.charge(&who, answer.at, Outcome::Success);
                self.rotation.free = self.rotation.free.max(answer.at);
                self.wrong = 0;
            }
            Some(_) => self.account = self.account.wrapping_add(1),
            None => {
                self.wrong = self.wrong.saturating_add(answer.admitted.min(1));
                self.rotation.saw(answer);
            }
        }
    }

    /// Signs in to an account of his own, that which limits let through first.
    fn sign_in(&mut self) -> Option<Act> {
        let own = |account: u32| Who {
            subject: OWN.saturating_add(account % OWN_ACCOUNTS),
            spelling: 0,
            ..self.rotation.base
        };
        let free = self.rotation.free;
        let ready = |account: u32| Some((self.rotation.books.ready(&own(account), free)?, account));
        let (at, account) = (0..OWN_ACCOUNTS)
            .filter_map(|offset| ready(self.account.wrapping_add(offset)))
            .min_by_key(|(at, _)| *at)?;
        let who = own(account);
        self.account = account;
        self.own = Some(who);
        self.rotation.free = at.saturating_add(self.rotation.gap);
        let act = Act::one(at, who).times(self.rotation.copies);
        (at < self.rotation.end).then_some(Act { guesses: 0, outcome: Outcome::Success, ..act })
    }
}

impl Actor for Resetter {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            self.saw(answer);
        }
        if self.tries > 0 && self.wrong >= self.tries {
            return self.sign_in();
        }
        self.rotation.next(None, chance)
    }
}

#[cfg(test)]
mod tests {
    use tidegate::Limit;

    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, HOUR, Testbed, failures, log};
    use super::*;
    use crate::target::KeyedLimits;

    fn testbed(on_success: OnSuccess, on_account: bool) -> Testbed {
        let per_client = (failures(log(30, HOUR), on_success), ADDRESS);
        let per_day = (Limit::new("per-day", log(9, DAY)), ACCOUNT);
        let limits = std::iter::once(per_client).chain(on_account.then_some(per_day));
        let mut testbed = Testbed::limits(KeyedLimits::new(limits)).lasting(HOUR);
        (testbed.play.means.rate, testbed.play.means.subjects) = (100, 400);
        testbed
    }

    /// Guards against logins that come too late, when he is held already: 29 guesses, one login, and again without end.
    #[test]
    fn a_login_after_each_twenty_nine_failures_keeps_him_going() {
        let measured = testbed(OnSuccess::Reset, false).met(&SuccessReset);
        assert_eq!((measured.requests, measured.refused()), (6_000, 0));
        assert_eq!(measured.guesses, 6_000 / 30 * 29);
    }

    /// Guards against limits on accounts that end it: he goes from account to account, with several of his own.
    #[test]
    fn limits_on_accounts_are_gone_around_with_many_of_them() {
        let testbed = testbed(OnSuccess::Reset, true);
        let measured = testbed.met(&SuccessReset);
        assert_eq!((measured.guesses, measured.refused()), (400 * 9, 0));
        let exposed = testbed.exposed(&SuccessReset).unwrap();
        assert_eq!(exposed.finding, Some("success-resets-anothers-counter"));
        assert!(
            exposed.says.contains("made 3,600 guesses at others in 1h, where 60 pass without"),
            "{}",
            exposed.says
        );
    }

    /// Guards against a success that is taken to clear what it does not.
    #[test]
    fn where_a_success_gives_back_its_own_charge_only_it_is_not_played() {
        assert!(!SuccessReset.fits(&testbed(OnSuccess::Refund, true).aim));
        assert!(SuccessReset.fits(&testbed(OnSuccess::Reset, true).aim));
    }
}
