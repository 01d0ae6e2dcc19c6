//! Race: many requests at once, inside the moment between a check and what follows from it.
//!
//! All but one of what a limit admits at once are taken first; then C requests arrive together. A store that decides and
//! charges in one step lets the one through. One that checks what was there a moment ago and adds afterwards lets all C
//! through, L − 1 + C in all. One that writes back what it read and one more counts all C as one, so that L such rounds pass:
//! C · L. Ours decides in one step, and comes to L.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::instants::{at_once, boundary_after};
use super::schedule::volleys::{Volley, seat};
use super::{Adversary, Aim, Beside, Exposed, Means, Need, Play};
use crate::act::Seat;
use crate::world::StoreKind;

/// The moment, where a store has none.
const GAP: Span = Span::from_millis(1);
/// The most rounds; more would show nothing else.
const MOST_ROUNDS: u32 = 2_000;

/// Requests at once.
#[derive(Debug)]
pub(super) struct Race;

impl Adversary for Race {
    fn name(&self) -> &'static str {
        "race"
    }

    fn what(&self) -> &'static str {
        "Many requests arrive at once, while the last one that is allowed is being decided."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Concurrency, Need::Policy]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} at once", counted(means.concurrency, "request")))
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn is_over_early(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 0 && aim.setting.stores() == 1
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        // The instants are a matter of one machine's clock.
        vec![seat(volleys(aim, play), &Play { jitter: Span::ZERO, ..*play })]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (passed, meant) = (beside.attack.admitted, aim.burst());
        let why = match aim.setting.store {
            StoreKind::StaleCheck { .. } => "each was decided by what was there before any of them",
            StoreKind::ReadModifyWrite { .. } => "each wrote what it had read and one more",
            _ => return None,
        };
        let at_once = beside.play.means.concurrency;
        (passed > u64::from(meant)).then(|| Exposed {
            finding: None,
            says: format!(
                "of {}, up to {} of them at once, {} passed where the limit is {}: {why}",
                counted(beside.attack.requests, "request"),
                spoken_count(at_once.into()),
                spoken_count(passed.into()),
                spoken_count(meant.into()),
            ),
        })
    }
}

fn volleys(aim: &Aim, play: &Play) -> Vec<Volley> {
    let (limit, together) = (at_once(aim.burst()), at_once(play.means.concurrency.max(1)));
    let gap = match aim.setting.store {
        StoreKind::StaleCheck { gap } | StoreKind::ReadModifyWrite { gap } => gap,
        _ => GAP,
    };
    let round = gap.as_micros().saturating_add(1);
    let within = aim.guard().and_then(|guard| boundary_after(&guard.quota, play.start));
    let start = within.unwrap_or(play.start);
    let at = |number: u32| -> Timestamp {
        start.saturating_add(Span::from_micros(round.saturating_mul(number.into())))
    };
    if let StoreKind::ReadModifyWrite { .. } = aim.setting.store {
        return (0..limit.min(MOST_ROUNDS))
            .map(|number| Volley { at: at(number), requests: together })
            .collect();
    }
    let first = Volley { at: at(0), requests: limit.saturating_sub(1) };
    let last = Volley { at: at(1), requests: together };
    [first, last].into_iter().filter(|volley| volley.requests > 0).collect()
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Quota};

    use super::super::testing::staged::{admitted, exposed};
    use super::super::testing::trial::{bucket, counter, fixed, log, play};
    use super::*;
    use crate::world::Setting;

    fn aim(quota: Quota, store: StoreKind) -> Aim {
        Aim { setting: Setting { store, ..Setting::default() }, ..Aim::at(quota) }
    }

    /// The values known of it: L on a store that decides in one step, L − 1 + C on one that checks and adds, C · L on one that
    /// writes back what it read.
    #[test]
    fn a_check_that_is_no_charge_lets_through_what_is_known() {
        let play = play(Span::from_secs(9), Span::from_secs(60));
        let gap = Span::from_millis(1);
        let slow = Quota::lockout(5, Span::from_secs(30), Span::from_secs(30)).unwrap();
        for quota in [fixed(Anchor::Clock), fixed(Anchor::FirstHit), log(), counter(), bucket(), slow] {
            let (limit, together) = (quota.nominal() as usize, 20);
            for (store, known) in [
                (StoreKind::Right, limit),
                (StoreKind::StaleCheck { gap }, limit - 1 + together),
                (StoreKind::ReadModifyWrite { gap }, limit * together),
            ] {
                assert_eq!(admitted(&Race, &aim(quota, store), &play), known, "{quota:?} {store:?}");
            }
        }
    }

    #[test]
    fn it_tells_what_was_seen_and_nothing_of_a_store_that_is_right() {
        let play = play(Span::from_secs(9), Span::from_secs(60));
        let gap = Span::from_millis(1);
        assert_eq!(exposed(&Race, &aim(log(), StoreKind::Right), &play), None);
        let told = exposed(&Race, &aim(log(), StoreKind::ReadModifyWrite { gap }), &play).unwrap().says;
        assert_eq!(
            told,
            "of 100 requests, up to 20 of them at once, 100 passed where the limit is 5: each wrote what it had read and one \
             more"
        );
    }
}
