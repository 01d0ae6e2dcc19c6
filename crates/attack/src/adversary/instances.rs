//! Processes that each count for themselves, behind something that sends them requests in turn.
//!
//! I processes whose counts are in their own memory admit I · L, whatever the algorithm.

use super::schedule::volleys::{as_often_as_it_fills, counted_apart, enough, seat};
use super::{Adversary, Aim, Beside, Exposed, Need, Play};
use crate::act::Seat;

/// A burst at every process.
#[derive(Debug)]
pub(super) struct Instances;

impl Adversary for Instances {
    fn name(&self) -> &'static str {
        "instances"
    }

    fn what(&self) -> &'static str {
        "A burst at one account that meets every process in turn, again whenever the limit is full."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
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
        !aim.setting.shared && aim.setting.instances > 1 && aim.burst() > 0
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![seat(as_often_as_it_fills(aim, play, aim.setting.stores()), play)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let figures = counted_apart(aim, beside)?;
        let says = format!("{} processes count for themselves: {figures}", aim.setting.stores());
        Some(Exposed { finding: Some("memory-not-shared"), says })
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Quota, Span};

    use super::super::testing::staged::{admitted, exposed};
    use super::super::testing::trial::{bucket, counter, fixed, log, play};
    use super::*;
    use crate::world::Setting;

    fn aim(quota: Quota, instances: u32, shared: bool) -> Aim {
        Aim { setting: Setting { instances, shared, ..Setting::default() }, ..Aim::at(quota) }
    }

    /// The value known of it: I · L; over one store L.
    #[test]
    fn four_processes_admit_four_times_the_limit_unless_they_share_their_counts() {
        let short = play(Span::from_secs(9), Span::from_secs(1));
        for quota in [fixed(Anchor::Clock), fixed(Anchor::FirstHit), log(), counter(), bucket()] {
            let limit = quota.nominal() as usize;
            assert_eq!(admitted(&Instances, &aim(quota, 4, false), &short), 4 * limit, "{quota:?}");
            assert_eq!(admitted(&Instances, &aim(quota, 4, true), &short), limit, "{quota:?}");
        }
    }

    #[test]
    fn what_processes_that_count_apart_let_through_is_told_with_its_figures() {
        let ten = play(Span::ZERO, Span::from_secs(600));
        let told = exposed(&Instances, &aim(log(), 4, false), &ten).unwrap();
        assert_eq!(told.finding, Some("memory-not-shared"));
        let known = "4 processes count for themselves: of the same requests at one account 400 passed in 10m where one count \
                     lets 100 through";
        assert_eq!(told.says, known);
        assert_eq!(exposed(&Instances, &aim(log(), 4, true), &ten), None);
        assert!(!Instances.fits(&aim(log(), 4, true)) && !Instances.fits(&aim(log(), 1, false)));
    }
}
