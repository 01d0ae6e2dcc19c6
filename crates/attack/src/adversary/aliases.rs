//! Key aliasing: one account under many spellings of its name.
//!
//! Where a service takes `Ada`, `ADA` and `ada` for one account and its limits count what was written, each spelling has a
//! limit of its own: a name of eight letters has 256. So many times as much is let through.

use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::rotation::{Order, Rotation, Vary, most_beside};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, at_victim};
use crate::act::Seat;

/// How many spellings a name of eight letters has, in large and small ones.
const SPELLINGS: u32 = 256;

/// One account is tried under all its spellings.
#[derive(Debug)]
pub(super) struct Aliases;

impl Adversary for Aliases {
    fn name(&self) -> &'static str {
        "key-aliases"
    }

    fn what(&self) -> &'static str {
        "One account is tried under every spelling of its name that the service takes for it."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Addresses]
    }

    fn with(&self, _means: &Means) -> Option<String> {
        Some(format!("{SPELLINGS} spellings"))
    }

    fn fits(&self, aim: &Aim) -> bool {
        !aim.one_spelling && aim.guards.iter().any(|guard| guard.keyed.subject)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Spelling, SPELLINGS, Order::UntilSpent);
        let rotation = if aim.tells_addresses_apart() {
            rotation.over(Vary::Address, play.means.addresses, Order::InTurn)
        } else {
            rotation
        };
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        // Beside an address in one key it is the addresses that lead around it.
        let is_held = |guard: &Guard| guard.keyed.subject && !guard.is_by_address();
        let one = most_beside(aim, beside, is_held)?;
        let guesses = beside.attack.guesses;
        (u128::from(guesses) > one).then(|| Exposed {
            finding: Some("key-not-normalized"),
            says: format!(
                "{} {} passed in {} under other and other spellings of its name, where the limits let {} through for one: each \
                 is a key of its own",
                counted(guesses, aim.request()),
                aim.at_one(),
                beside.went_on(),
                spoken_count(one),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use tidegate::Limit;
    use tidegate_policy::{Class, Price};

    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, Testbed, log};
    use super::*;
    use crate::target::KeyedLimits;

    fn limits() -> KeyedLimits {
        KeyedLimits::new([(Limit::new("per-day", log(9, DAY)), ACCOUNT)])
    }

    /// Guards against spellings that are left out or counted twice, and against some where the service has one.
    #[test]
    fn each_spelling_has_the_whole_limit_unless_they_are_one_key() {
        let apart = Testbed::limits(limits().telling_spellings_apart());
        let measured = apart.met(&Aliases);
        assert_eq!((measured.admitted, measured.refused()), (256 * 9, 0));
        assert!(Aliases.fits(&apart.aim));
        assert!(!Aliases.fits(&Testbed::limits(limits()).aim));
    }

    /// Guards against an address that hides the hole, when addresses are cheap.
    #[test]
    fn a_limit_by_address_beside_it_is_gone_around_with_addresses() {
        let both = KeyedLimits::new([
            (Limit::new("per-day", log(9, DAY)), ACCOUNT),
            (Limit::new("per-client", log(5, DAY)), ADDRESS),
        ]);
        let testbed = Testbed::limits(both.telling_spellings_apart());
        assert_eq!(testbed.met(&Aliases).admitted, 100 * 5);
        let exposed = testbed.exposed(&Aliases).unwrap();
        assert_eq!(exposed.finding, Some("key-not-normalized"));
        assert_eq!(
            exposed.says,
            "500 guesses at one account passed in 1d under other and other spellings of its name, where the limits let 18 \
             through for one: each is a key of its own"
        );
    }

    /// Guards against guesses at accounts that are told of where messages are sent to numbers.
    #[test]
    fn where_messages_are_sent_those_are_told_of() {
        let mut testbed = Testbed::limits(limits().telling_spellings_apart());
        testbed.aim.class = Class::Send;
        let says = testbed.exposed(&Aliases).unwrap().says;
        assert!(says.starts_with("2,304 messages to one recipient passed in 1d under other"), "{says}");
        testbed.aim.price = Some(Price { each: 5, unit: "cents".to_owned() });
        let says = testbed.exposed(&Aliases).unwrap().says;
        assert!(says.starts_with("2,304 messages to one number passed in 1d under other"), "{says}");
        testbed.aim.class = Class::Api;
        let says = testbed.exposed(&Aliases).unwrap().says;
        assert!(says.starts_with("2,304 requests at one account passed in 1d under other"), "{says}");
    }
}
