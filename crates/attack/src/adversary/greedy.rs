//! Greedy retry: asks again and again and heeds nothing.

use tidegate_algorithms::{Span, Timestamp};

use super::{Adversary, Aim, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Asks every so often, whatever he is told.
#[derive(Debug)]
pub(super) struct Greedy;

impl Adversary for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn what(&self) -> &'static str {
        "One client asks again and again and heeds no answer."
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn fits(&self, _aim: &Aim) -> bool {
        true
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let every = pace(aim, play);
        vec![Seat::adversary(Every { at: play.start, every, end: play.end() }).with_jitter(play.jitter)]
    }
}

/// Returns the time between two requests: a fiftieth of the time that a unit takes in the long run, so that little is
/// missed, but no faster than his means are.
fn pace(aim: &Aim, play: &Play) -> Span {
    let fastest = 1_000_000_u64.checked_div(play.means.rate.into()).unwrap_or(1_000_000).max(1);
    let unit = aim.guards.iter().map(|guard| {
        let rate = guard.quota.long_run();
        rate.micros.checked_div(rate.units.into()).unwrap_or(rate.micros)
    });
    Span::from_micros((unit.max().unwrap_or(0) / 50).max(fastest))
}

struct Every {
    at: Timestamp,
    every: Span,
    end: Timestamp,
}

impl Actor for Every {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let at = self.at;
        self.at = at.saturating_add(self.every);
        (at < self.end).then(|| Act::one(at, at_victim()))
    }
}
