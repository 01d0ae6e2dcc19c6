//! Session cycling: a new session as soon as the tries of one are spent.
//!
//! A counter that lives in a session, a cookie or a challenge ends with it. Whoever begins anew has all tries again: as many
//! as a session has, times the sessions.

use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::rotation::{Order, Rotation, Vary, at_full_rate, most_beside};
use super::{Adversary, Aim, Beside, Exposed, Guard, Need, Play, at_victim};
use crate::act::Seat;

/// One client begins a new session whenever one is spent.
#[derive(Debug)]
pub(super) struct Sessions;

impl Adversary for Sessions {
    fn name(&self) -> &'static str {
        "session-cycling"
    }

    fn what(&self) -> &'static str {
        "One client begins a new session whenever the tries of one are spent."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Sessions]
    }

    fn most_requests(&self, _aim: &Aim, play: &Play) -> u64 {
        at_full_rate(play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.tells_sessions_apart()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim());
        let rotation = rotation.over(Vary::Session, u32::MAX, Order::UntilSpent);
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let one = most_beside(aim, beside, Guard::is_by_session)?;
        let guesses = beside.attack.guesses;
        let is_held = aim.guards.iter().any(|guard| guard.keyed.holds_account());
        if !aim.is_sign_in() || is_held || u128::from(guesses) < one.saturating_mul(2) {
            return None;
        }
        Some(Exposed {
            finding: Some("counter-in-a-session"),
            says: format!(
                "one client made {} at one account in {}, where one session may make {}: each new session begins at nothing",
                counted(guesses, "guess"),
                beside.went_on(),
                spoken_count(one),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, HOUR, SESSION, Testbed, log};
    use super::*;

    /// Guards against sessions that are left before they are spent: each carries its five.
    #[test]
    fn a_session_gives_its_tries_and_the_next_one_gives_them_again() {
        let mut testbed = Testbed::of([(log(5, HOUR), SESSION)]);
        testbed.play.means.rate = 100;
        let measured = testbed.met(&Sessions);
        assert_eq!((measured.admitted, measured.refused()), (6_000, 0), "a minute at full rate");
        assert_eq!(measured.state.0, 1_200);
        let exposed = testbed.exposed(&Sessions).unwrap();
        assert_eq!(exposed.finding, Some("counter-in-a-session"));
        assert!(
            exposed.says.starts_with(
                "one client made 6,000 guesses at one account in 1m, where one session may make 5"
            )
        );
    }

    /// Guards against a session's end that is taken for the end of every limit.
    #[test]
    fn limits_on_the_account_or_the_address_hold_whatever_the_session() {
        let by_address = Testbed::of([(log(5, HOUR), SESSION), (log(30, HOUR), ADDRESS)]).lasting(HOUR);
        assert_eq!(by_address.met(&Sessions).admitted, 30);
        assert!(by_address.exposed(&Sessions).is_some(), "30 where a session has 5, or 10 in a closed hour");
        let on_account = Testbed::of([(log(5, HOUR), SESSION), (log(9, DAY), ACCOUNT)]).lasting(HOUR);
        assert_eq!(on_account.met(&Sessions).admitted, 9);
        assert_eq!(on_account.exposed(&Sessions), None);
    }
}
