//! Low and slow: one try at an account as soon as the one before is out of every limit's sight.
//!
//! Each window and each bucket has forgotten the last try when the next one comes, so that none is ever refused and nothing
//! that watches refusals sees anything. It makes H/T tries in a time H, T being a little over the longest window: twelve
//! minutes against a counter of ten. Only a limit over a day or a year, or a budget, sees the sum.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::{DAY, Guess, spoken_chance, spoken_count, spoken_time};

use super::{Adversary, Aim, Beside, Exposed, Guard, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// One client tries one account once for each of its longest windows.
#[derive(Debug)]
pub(super) struct LowAndSlow;

impl Adversary for LowAndSlow {
    fn name(&self) -> &'static str {
        "low-and-slow"
    }

    fn what(&self) -> &'static str {
        "One client tries once whenever every limit has forgotten the last try, and is never refused."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.is_sign_in() && !aim.guards.is_empty()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let slow = Slow { at: play.start, every: unseen(aim), end: play.end(), copies: aim.setting.stores() };
        vec![Seat::adversary(slow).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        // Where tries end with a code they do so here as well.
        let guess = Guess::of(aim.code.as_ref().filter(|code| code.attempts.is_none())?).ok()?;
        let is_long = |guard: &Guard| guard.keyed.holds_account() && guard.quota.window() >= DAY;
        let is_held = aim.guards.iter().any(|guard| guard.keyed.holds_account());
        if !aim.is_sign_in() || !is_held || aim.guards.iter().any(is_long) || beside.attack.refused() > 0 {
            return None;
        }
        let a_year = beside.guesses_in_a_year();
        let chance = guess.chance_of(a_year);
        let tries = match aim.setting.stores() {
            1 => "one try".to_owned(),
            stores => format!("one try for each of {stores} counts"),
        };
        (chance > aim.borne).then(|| Exposed {
            finding: Some("no-long-horizon-cap"),
            says: format!(
                "{tries} every {} was never refused: {} in a year, which succeed with {}",
                spoken_time(unseen(aim).as_duration().as_secs_f64()),
                spoken_count(a_year),
                spoken_chance(chance),
            ),
        })
    }
}

/// Returns the time after which every limit has forgotten a try.
fn unseen(aim: &Aim) -> Span {
    let times = aim.guards.iter().map(|guard| {
        // Of a lock the window is that in which tries count; where the first try locks, it is the lock.
        guard.quota.window().max(guard.request_time())
    });
    Span::from_micros(times.max().unwrap_or(Span::ZERO).as_micros().saturating_add(1))
}

struct Slow {
    at: Timestamp,
    every: Span,
    end: Timestamp,
    copies: u32,
}

impl Actor for Slow {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        // Whoever arrived late begins from then, not to come too early the next time.
        let at = last.map_or(self.at, |answer| answer.at.saturating_add(self.every));
        self.at = at;
        (at < self.end).then(|| Act::one(at, at_victim()).times(self.copies))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::testbed::{ACCOUNT, DAY as A_DAY, Testbed, bucket, digits, log};
    use super::*;
    use tidegate_algorithms::Quota;

    const QUARTER: Span = Span::from_secs(900);

    fn met(quota: Quota) -> (u64, u64) {
        let measured = Testbed::of([(quota, ACCOUNT)]).met(&LowAndSlow);
        (measured.admitted, measured.refused())
    }

    /// Guards against tries that a limit still sees: H/T of them, and none is refused, also not by a lock.
    #[test]
    fn one_try_for_each_longest_window_is_never_refused() {
        assert_eq!(met(log(1, QUARTER)), (96, 0));
        assert_eq!(met(log(3, QUARTER)), (96, 0));
        // A counter still weighs a try at a boundary in full when its window is over.
        assert_eq!(met(Quota::sliding_counter(1, QUARTER).unwrap()), (96, 0));
        assert_eq!(met(Quota::lockout(3, QUARTER, Span::from_secs(3_600)).unwrap()), (96, 0));
        assert_eq!(met(Quota::lockout(1, QUARTER, Span::from_secs(3_600)).unwrap()), (24, 0));
        assert_eq!(met(bucket(1, 1, QUARTER)), (96, 0));
    }

    /// Guards against a finding where a limit over a day sees the sum.
    #[test]
    fn what_it_comes_to_in_a_year_is_exposed_unless_a_limit_looks_back_a_day() {
        let quick = Testbed::of([(log(3, QUARTER), ACCOUNT)]).guessing(digits(3));
        let exposed = quick.exposed(&LowAndSlow).unwrap();
        assert_eq!(exposed.finding, Some("no-long-horizon-cap"));
        assert_eq!(
            exposed.says,
            "one try every 15.00 minutes was never refused: 35,040 in a year, which succeed with 10 %"
        );
        let mut borne = Testbed::of([(log(3, QUARTER), ACCOUNT)]).guessing(digits(3));
        borne.aim.borne = 0.2;
        assert_eq!(borne.exposed(&LowAndSlow), None, "10 % a year where 20 % are borne");
        let long = Testbed::of([(log(3, QUARTER), ACCOUNT), (log(9, A_DAY), ACCOUNT)]).guessing(digits(3));
        assert_eq!(long.exposed(&LowAndSlow), None);
    }
}
