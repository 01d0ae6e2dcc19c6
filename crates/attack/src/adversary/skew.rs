//! Clock skew: a shared count whose window is named by each process's own clock.
//!
//! A window is open from when the clock that is furthest ahead reaches it until the one that is furthest behind leaves it. So
//! with clocks that are δ off either way a closed span s meets ⌈(s + 2δ) / W⌉ + 1 windows: three in one that is shorter than
//! W by 2δ less a microsecond. A store that tells the time itself has no such thing.

use tidegate_algorithms::{Anchor, Quota, Span};
use tidegate_review::spoken_count;

use super::schedule::instants::{at_once, before, boundary_after};
use super::schedule::volleys::{Volley, seat};
use super::{Adversary, Aim, Beside, Exposed, Need, Play};
use crate::act::Seat;
use crate::world::StoreKind;

/// The most volleys; more would show nothing else.
const MOST_VOLLEYS: usize = 200;

/// Three windows in the time of one.
#[derive(Debug)]
pub(super) struct Skew;

impl Adversary for Skew {
    fn name(&self) -> &'static str {
        "skew"
    }

    fn what(&self) -> &'static str {
        "Bursts just before the last process leaves a window, and just after the first one enters the next but one."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Phase]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        let setting = aim.setting;
        let is_off = setting.skew > Span::ZERO && setting.instances.saturating_mul(setting.regions) > 1;
        is_off && setting.store == StoreKind::OwnClocks && window(aim).is_some() && aim.burst() > 0
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![seat(volleys(aim, play), play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (guard, window) = (aim.guard()?, window(aim)?);
        let peak = beside.attack.peak(window)?;
        let one_clock = guard.requests(guard.quota.most_in_half_open(window))?;
        (u128::from(peak.seen) > one_clock).then(|| Exposed {
            finding: None,
            says: format!(
                "clocks that are {} off let {} through in {window} where one clock lets {} through",
                aim.setting.skew,
                spoken_count(peak.seen.into()),
                spoken_count(one_clock)
            ),
        })
    }
}

/// Returns the window of the limit in focus, if it begins by the clock.
fn window(aim: &Aim) -> Option<Span> {
    match aim.guard()?.quota {
        Quota::FixedWindow(window) if window.anchor() == Anchor::Clock => Some(window.window()),
        _ => None,
    }
}

fn volleys(aim: &Aim, play: &Play) -> Vec<Volley> {
    let (Some(window), Some(guard)) = (window(aim), aim.guard()) else { return Vec::new() };
    let all = aim.setting.instances.saturating_mul(aim.setting.regions);
    let requests = at_once(aim.burst().saturating_mul(all));
    let skew = aim.setting.skew;
    let mut next = boundary_after(&guard.quota, play.start.saturating_add(skew));
    let mut volleys = Vec::new();
    while let Some(boundary) = next.filter(|at| *at < play.end() && volleys.len() < MOST_VOLLEYS) {
        let last = before(boundary.saturating_add(skew), Span::from_micros(1));
        let first = before(boundary.saturating_add(window), skew);
        volleys.extend([last, first].map(|at| Volley { at, requests }));
        // The windows that were emptied are over by then.
        next = boundary.checked_add(Span::from_micros(window.as_micros().saturating_mul(3)));
    }
    volleys
}

#[cfg(test)]
mod tests {
    use super::super::testing::staged::{exposed, measured};
    use super::super::testing::trial::{fixed, play};
    use super::*;
    use crate::world::Setting;

    fn aim(store: StoreKind, skew: Span) -> Aim {
        let setting = Setting { instances: 2, skew, store, ..Setting::default() };
        Aim { setting, ..Aim::at(fixed(Anchor::Clock)) }
    }

    /// The value known of it: L · (⌈(s + 2δ) / W⌉ + 1) in a closed span s; fifteen in thirty seconds where one clock gives ten.
    #[test]
    fn three_windows_fit_into_the_time_of_one() {
        let minutes = play(Span::from_secs(9), Span::from_secs(300));
        let peak = |store, skew| {
            let measured = measured(&Skew, &aim(store, skew), &minutes);
            measured.peaks.iter().find(|peak| peak.micros == 30_000_000).unwrap().seen
        };
        assert_eq!(peak(StoreKind::OwnClocks, Span::from_secs(1)), 15);
        // By one clock, the store's or one that all agree on, both bursts are in one window.
        assert_eq!(peak(StoreKind::Right, Span::from_secs(1)), 5);
        assert_eq!(peak(StoreKind::OwnClocks, Span::ZERO), 5);
    }

    /// Guards against bursts at windows that an earlier one has emptied: of two volleys of ten, five meet one that is spent.
    #[test]
    fn each_pair_of_volleys_meets_three_windows_that_nobody_has_spent() {
        let (aim, minutes) =
            (aim(StoreKind::OwnClocks, Span::from_secs(1)), play(Span::from_secs(9), Span::from_secs(290)));
        let pairs = u64::try_from(volleys(&aim, &minutes).len()).unwrap() / 2;
        let measured = measured(&Skew, &aim, &minutes);
        assert_eq!((pairs, measured.admitted, measured.refused()), (3, 3 * 15, 3 * 5));
    }

    #[test]
    fn all_three_lie_in_a_span_shorter_than_a_window_by_twice_the_difference() {
        let skew = Span::from_secs(1);
        let volleys =
            volleys(&aim(StoreKind::OwnClocks, skew), &play(Span::from_secs(9), Span::from_secs(60)));
        assert_eq!(volleys[1].at.saturating_since(volleys[0].at), Span::from_micros(28_000_001));
    }

    #[test]
    fn what_clocks_that_disagree_let_through_is_told_with_its_figures() {
        let minutes = play(Span::from_secs(9), Span::from_secs(300));
        let wrong = aim(StoreKind::OwnClocks, Span::from_secs(1));
        assert!(Skew.fits(&wrong));
        let known = "clocks that are 1s off let 15 through in 30s where one clock lets 10 through";
        assert_eq!(exposed(&Skew, &wrong, &minutes).unwrap().says, known);
        let right = aim(StoreKind::Right, Span::from_secs(1));
        assert!(!Skew.fits(&right));
        assert_eq!(exposed(&Skew, &right, &minutes), None);
    }
}
