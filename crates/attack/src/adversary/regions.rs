//! Split brain: the same key in every region, faster than they learn of each other's charges.
//!
//! N regions that count apart let N times the limit through for as long as somebody likes. If they tell each other, a
//! burst in all of them that is over before the word arrives finds each as it was: of a window N · L, and as much again of
//! the next, as if nobody had told anybody; of a bucket N · B once, for which all owe, and R after that.

use super::schedule::volleys::{as_often_as_it_fills, counted_apart, enough, seat};
use super::{Adversary, Aim, Beside, Exposed, Need, Play};
use crate::act::Seat;

/// A burst in every region.
#[derive(Debug)]
pub(super) struct Regions;

impl Adversary for Regions {
    fn name(&self) -> &'static str {
        "regions"
    }

    fn what(&self) -> &'static str {
        "A burst at one account in every region at once, again whenever the limit is full."
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

    fn most_requests(&self, aim: &Aim, play: &Play) -> u64 {
        enough(aim, play, aim.setting.stores())
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.setting.regions > 1 && aim.burst() > 0
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![seat(as_often_as_it_fills(aim, play, aim.setting.stores()), play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let how = match aim.setting.lag {
            Some(lag) if aim.setting.shared => format!("know each other's charges only {lag} later"),
            _ if !aim.setting.shared && aim.setting.instances > 1 => {
                format!("of {} processes each count process by process", aim.setting.instances)
            }
            _ => "count for themselves".to_owned(),
        };
        let figures = counted_apart(aim, beside)?;
        let says = format!("{} regions {how}: {figures}", aim.setting.regions);
        Some(Exposed { finding: Some("regions-count-apart"), says })
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Quota, Span};

    use super::super::testing::staged::{admitted, exposed};
    use super::super::testing::trial::{bucket, fixed, log, play};
    use super::*;
    use crate::world::Setting;

    fn aim(quota: Quota, lag: Option<Span>) -> Aim {
        Aim { setting: Setting { regions: 3, lag, ..Setting::default() }, ..Aim::at(quota) }
    }

    /// The values known of it. Twenty windows of five in each of three regions, whether or not they tell each other; a
    /// bucket of four that is replicated once in each of three and then what it refills, one that is not three times as much.
    #[test]
    fn bursts_shorter_than_the_lag_come_to_what_is_known() {
        let ten = play(Span::ZERO, Span::from_secs(600));
        let lag = Some(Span::from_millis(100));
        for quota in [fixed(Anchor::Clock), fixed(Anchor::FirstHit), log()] {
            for lag in [None, lag] {
                let seen = admitted(&Regions, &aim(quota, lag), &ten);
                assert_eq!(seen, 3 * 5 * 20, "{quota:?} {lag:?}");
            }
        }
        // Volleys come every forty seconds, fifteen of them.
        assert_eq!(admitted(&Regions, &aim(bucket(), None), &ten), 3 * 4 * 15);
        let replicated = admitted(&Regions, &aim(bucket(), lag), &ten);
        assert!((3 * 4 + 56 - 8..=3 * 4 + 60).contains(&replicated), "{replicated}");
        let hour = play(Span::ZERO, Span::from_secs(3600));
        let replicated = admitted(&Regions, &aim(bucket(), lag), &hour);
        assert!((3 * 4 + 340..=3 * 4 + 360).contains(&replicated), "{replicated}");
    }

    #[test]
    fn what_regions_that_count_apart_let_through_is_told_with_its_figures() {
        let ten = play(Span::ZERO, Span::from_secs(600));
        let told = exposed(&Regions, &aim(log(), None), &ten).unwrap();
        assert_eq!(told.finding, Some("regions-count-apart"));
        let known = "3 regions count for themselves: of the same requests at one account 300 passed in 10m where one count \
                     lets 100 through";
        assert_eq!(told.says, known);
        let told = exposed(&Regions, &aim(log(), Some(Span::from_millis(100))), &ten).unwrap().says;
        assert!(told.starts_with("3 regions know each other's charges only 100ms later: "), "{told}");
        let one = Aim { setting: Setting::default(), ..Aim::at(log()) };
        assert!(!Regions.fits(&one));
        assert_eq!(exposed(&Regions, &one, &ten), None);
    }
}
