//! Key aliasing: one account under many spellings of its name.
//!
//! Where a service takes `Ada`, `ADA` and `ada` for one account and its limits count what was written, each spelling has a
//! limit of its own: a name of eight letters has 256. So many times as much is let through.

use tidegate_review::spoken_count;

use super::addresses::is_by_address;
use super::rotation::{Order, Rotation, Vary, most_beside, went_on};
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
        !aim.one_spelling && aim.guards.iter().any(is_by_name)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Spelling, SPELLINGS, Order::UntilSpent);
        let rotation = if aim.guards.iter().any(is_by_address) {
            rotation.over(Vary::Address, play.means.addresses, Order::InTurn)
        } else {
            rotation
        };
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        // Beside an address in one key it is the addresses that lead around it.
        let is_held = |guard: &Guard| is_by_name(guard) && !is_by_address(guard);
        let one = most_beside(aim, beside, is_held)?;
        let guesses = beside.attack.guesses;
        (u128::from(guesses) > one).then(|| Exposed {
            finding: Some("key-not-normalized"),
            says: format!(
                "{SPELLINGS} spellings of one account's name made {} guesses at it in {}, where the limits let {} through for \
                 one: each is a key of its own",
                spoken_count(guesses.into()),
                went_on(beside),
                spoken_count(one),
            ),
        })
    }
}

/// Returns whether a limit counts on whom requests are about.
fn is_by_name(guard: &Guard) -> bool {
    guard.keyed.subject
}

#[cfg(test)]
mod tests {
    use tidegate::Limit;

    use super::super::siege::{ACCOUNT, ADDRESS, DAY, Siege, log};
    use super::*;
    use crate::target::KeyedLimits;

    fn limits() -> KeyedLimits {
        KeyedLimits::new([(Limit::new("per-day", log(9, DAY)), ACCOUNT)])
    }

    /// Guards against spellings that are left out or counted twice, and against some where the service has one.
    #[test]
    fn each_spelling_has_the_whole_limit_unless_they_are_one_key() {
        let apart = Siege::limits(limits().telling_spellings_apart());
        let measured = apart.met(&Aliases);
        assert_eq!((measured.admitted, measured.refused()), (256 * 9, 0));
        assert!(Aliases.fits(&apart.aim));
        assert!(!Aliases.fits(&Siege::limits(limits()).aim));
    }

    /// Guards against an address that hides the hole, when addresses are cheap.
    #[test]
    fn a_limit_by_address_beside_it_is_gone_around_with_addresses() {
        let both = KeyedLimits::new([
            (Limit::new("per-day", log(9, DAY)), ACCOUNT),
            (Limit::new("per-client", log(5, DAY)), ADDRESS),
        ]);
        let siege = Siege::limits(both.telling_spellings_apart());
        assert_eq!(siege.met(&Aliases).admitted, 100 * 5);
        let exposed = siege.exposed(&Aliases).unwrap();
        assert_eq!(exposed.finding, Some("key-not-normalized"));
        assert_eq!(
            exposed.says,
            "256 spellings of one account's name made 500 guesses at it in 1d, where the limits let 18 through for one: each is a \
             key of its own"
        );
    }
}
