//! Spray: a try or a few at each of very many accounts, in random order.
//!
//! Limits on accounts let everybody's account be tried a few times; over M accounts with q tries a day each that hits
//! M · q · p of them a day, under any such limit. What holds it is a limit by address, and then it takes many addresses.
//! Passwords that leaked elsewhere make it worth while: what is sprayed at is the second factor.

use tidegate_review::{Guess, spoken_count, whole};

use super::exposed::{counted, each_hour};
use super::schedule::rotation::{Order, Rotation, Vary, common_divisor};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, VICTIM, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// So many accounts reached from one address are everybody, for all it could hold.
const EVERYBODY: u64 = 1_000;

/// Every account is tried a few times.
#[derive(Debug)]
pub(super) struct Spray;

impl Adversary for Spray {
    fn name(&self) -> &'static str {
        "spray"
    }

    fn what(&self) -> &'static str {
        "Very many accounts are tried in random order, each as often as its limits let it."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Subjects]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(counted(means.subjects, "account"))
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.is_sign_in() && aim.guards.iter().any(is_on_account)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = if is_free(aim) {
            // One address is enough.
            rotation
        } else {
            rotation.over(Vary::Address, play.means.addresses, Order::InTurn)
        };
        let sprayer = Sprayer { rotation: Some(rotation), subjects: play.means.subjects.max(1) };
        vec![Seat::adversary(sprayer).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (subjects, guesses) = (beside.attack.subjects, beside.attack.guesses);
        if !is_free(aim) || subjects < EVERYBODY.saturating_mul(aim.setting.stores().into()) {
            return None;
        }
        let guess = aim.code.as_ref().and_then(|code| Guess::of(code).ok());
        let taken = guess.map_or_else(String::new, |guess| {
            let a_day = beside
                .attack
                .guesses_per_day(beside.play.length)
                .min(each_hour(guesses, beside.time()) * 24.0);
            let taken = spoken_figure(a_day * guess.chance_of_one());
            format!("; at that rate {taken} of them are taken over a day")
        });
        let says = format!(
            "one address made {} at {} in {}: nothing counts by address{taken}",
            counted(guesses, "guess"),
            counted(subjects, "account"),
            beside.went_on(),
        );
        Some(Exposed { finding: Some("one-address-tries-everybody"), says })
    }
}

/// Returns a number in the digits that mean something.
fn spoken_figure(number: f64) -> String {
    if number < 10.0 { format!("{number:.2}") } else { spoken_count(whole(number)) }
}

/// Returns whether nothing holds one address that goes from account to account.
fn is_free(aim: &Aim) -> bool {
    !aim.guards.iter().any(|guard| guard.keyed.holds_address())
}

/// Returns whether a limit holds one account of many.
fn is_on_account(guard: &Guard) -> bool {
    guard.keyed.subject && (guard.keyed.holds_account() || guard.is_by_address())
}

/// Somebody who sprays, in an order that is drawn as he begins.
struct Sprayer {
    rotation: Option<Rotation>,
    subjects: u32,
}

impl Actor for Sprayer {
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act> {
        let mut rotation = self.rotation.take()?;
        if last.is_none() {
            rotation = rotation.over(shuffled(self.subjects, chance), self.subjects, Order::InTurn);
        }
        let act = rotation.next(last, chance);
        self.rotation = Some(rotation);
        act
    }
}

/// Returns an order of accounts drawn by chance.
pub(super) fn shuffled(count: u32, chance: &mut Chance) -> Vary {
    let mut draw = || u32::try_from(rand::Rng::next_u64(chance) % u64::from(count.max(1))).unwrap_or(0);
    let first = VICTIM.saturating_add(draw());
    let mut step = draw().max(1);
    while common_divisor(step.into(), count.into()) > 1 {
        step = step.saturating_add(1);
    }
    Vary::Subject { count, first, step }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;

    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, HOUR, Testbed, digits, log};
    use super::*;
    use crate::act::Who;

    /// Guards against accounts that are left out: every one is tried, each as often as its limit lets it. 10^5 accounts with
    /// five tries a day each at three right codes of 10^6 are 1.5 a day; here are a fiftieth of them.
    #[test]
    fn every_account_is_tried_as_often_as_its_limit_lets_it() {
        let mut testbed = Testbed::of([(log(5, DAY), ACCOUNT)]).guessing(digits(3));
        testbed.play.means.subjects = 2_000;
        let measured = testbed.met(&Spray);
        assert_eq!((measured.guesses, measured.subjects, measured.refused()), (10_000, 2_000, 0));
        let exposed = testbed.exposed(&Spray).unwrap();
        assert_eq!(exposed.finding, Some("one-address-tries-everybody"));
        assert_eq!(
            exposed.says,
            "one address made 10,000 guesses at 2,000 accounts in 1d: nothing counts by address; at that rate 0.03 of them are \
             taken over a day"
        );
        let takeovers = Guess::new(10, 6, 3).unwrap().chance_of_one() * 50.0 * 10_000.0;
        assert!((takeovers - 1.5).abs() < 1e-9);
    }

    /// Guards against a limit by address that nothing meets, or that a hundred addresses do not go around.
    #[test]
    fn a_limit_by_address_holds_each_address_and_is_no_mistake() {
        let mut testbed = Testbed::of([(log(5, DAY), ACCOUNT), (log(30, HOUR), ADDRESS)]).lasting(HOUR);
        testbed.play.means.subjects = 2_000;
        assert_eq!(testbed.met(&Spray).admitted, 100 * 30);
        assert_eq!(testbed.exposed(&Spray), None);
    }

    /// Guards against an order that misses accounts, or that anybody could foretell.
    #[test]
    fn an_order_goes_through_all_accounts_and_depends_on_chance() {
        let order = |seed| {
            let vary = shuffled(1_000, &mut Chance::seed_from_u64(seed));
            let at = |index| {
                let mut who: Who = at_victim();
                vary.put(index, &mut who);
                who.subject
            };
            (0..1_000).map(at).collect::<Vec<_>>()
        };
        assert_eq!(order(1).iter().collect::<BTreeSet<_>>().len(), 1_000);
        assert_ne!(order(1), order(2));
    }
}
