//! Restart timing: a burst just before processes start anew, and one just after.
//!
//! What is counted in a process's memory ends with it, so each restart hands out the limit once more, in every process: I · L
//! a restart. For a limit of half a minute that is little; for one of a day it is another day.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::instants::{at_once, before, boundary_after};
use super::schedule::volleys::{Volley, counted_once, seat};
use super::{Adversary, Aim, Beside, Exposed, Need, Play};
use crate::act::Seat;
use crate::world::{Incident, What};

/// How often processes start anew while it is played.
const RESTARTS: u64 = 3;
/// The shortest window of which a restart is told: what is forgotten of a shorter one comes back soon.
const HOUR: Span = Span::from_secs(3600);

/// Bursts around restarts.
#[derive(Debug)]
pub(super) struct Restart;

impl Adversary for Restart {
    fn name(&self) -> &'static str {
        "restart"
    }

    fn what(&self) -> &'static str {
        "A burst just before processes start anew, and another just after."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::Restarts]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        !aim.setting.shared && !aim.setting.snapshot && aim.burst() > 0
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        vec![seat(volleys(aim, play, aim.setting.stores()), play)]
    }

    fn incidents(&self, aim: &Aim, play: &Play) -> Vec<Incident> {
        restarts(aim, play).into_iter().map(|at| Incident { at, what: What::Restart }).collect()
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let guard = aim.guard().filter(|guard| guard.quota.window() >= HOUR)?;
        let stores = aim.setting.stores();
        // What each process lets through that forgets nothing.
        let of_each = counted_once(aim, &volleys(aim, beside.play, 1), u64::MAX);
        let kept = of_each.saturating_mul(stores.into());
        let passed = beside.attack.admitted;
        let restarts = u64::try_from(restarts(aim, beside.play).len()).unwrap_or(u64::MAX);
        (passed >= kept.saturating_add(u64::from(aim.burst().max(1)))).then(|| Exposed {
            finding: aim.class.is_guarded().then_some("restart-forgets"),
            says: format!(
                "{} in {} let {} through {}, where {} pass in that time if nothing is forgotten: {} counts over {} in \
                 memory",
                counted(restarts, "restart"),
                beside.went_on(),
                spoken_count(passed.into()),
                aim.at_one(),
                spoken_count(kept.into()),
                guard.name,
                guard.quota.window(),
            ),
        })
    }
}

/// Returns when processes start anew: spread over the play, and within a window rather than at its end.
fn restarts(aim: &Aim, play: &Play) -> Vec<Timestamp> {
    let Some(guard) = aim.guard() else { return Vec::new() };
    let into = |parts: u64| {
        let micros = play.length.as_micros() / RESTARTS.saturating_add(1);
        play.start.saturating_add(Span::from_micros(micros.saturating_mul(parts)))
    };
    let half = Span::from_micros(guard.quota.window().as_micros() / 2);
    let within = |at: Timestamp| {
        boundary_after(&guard.quota, at).map(|end| end.saturating_add(half)).filter(|at| *at < play.end())
    };
    let mut all: Vec<_> = (1..=RESTARTS).map(|parts| within(into(parts)).unwrap_or(into(parts))).collect();
    all.dedup();
    all
}

/// Returns bursts of so many times what is admitted at once, before and after each restart.
fn volleys(aim: &Aim, play: &Play, copies: u32) -> Vec<Volley> {
    let requests = at_once(aim.burst().saturating_mul(copies));
    let window = aim.guard().map_or(Span::ZERO, |guard| guard.quota.window());
    let aside = Span::from_micros((window.as_micros() / 8).clamp(1, 1_000_000));
    let around = |at: Timestamp| [before(at, aside), at.saturating_add(aside)];
    restarts(aim, play).into_iter().flat_map(around).map(|at| Volley { at, requests }).collect()
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Quota};
    use tidegate_policy::Class;

    use super::super::testing::staged::{admitted, exposed};
    use super::super::testing::trial::{bucket, counter, fixed, log, play};
    use super::*;
    use crate::world::Setting;

    fn aim(quota: Quota, setting: Setting) -> Aim {
        Aim { setting, ..Aim::at(quota) }
    }

    /// The value known of it: L more a restart and process.
    #[test]
    fn each_restart_hands_out_the_limit_again_in_every_process() {
        let minutes = play(Span::from_secs(9), Span::from_secs(400));
        for quota in [fixed(Anchor::Clock), fixed(Anchor::FirstHit), log(), counter(), bucket()] {
            let limit = quota.nominal() as usize;
            for instances in [1, 2] {
                let memory = Setting { instances, shared: false, ..Setting::default() };
                let of = |setting| admitted(&Restart, &aim(quota, setting), &minutes);
                let forgetful = 2 * 3 * limit * instances as usize;
                assert_eq!(of(memory), forgetful, "{quota:?}");
                let kept = of(Setting { snapshot: true, ..memory });
                assert_eq!(kept, forgetful / 2, "{quota:?}");
                assert_eq!(
                    of(Setting { shared: true, ..memory }),
                    forgetful / 2 / instances as usize,
                    "{quota:?}"
                );
            }
        }
    }

    #[test]
    fn what_a_day_that_begins_anew_lets_through_is_told_with_its_figures() {
        let day = Quota::sliding_log(9, Span::from_secs(86_400)).unwrap();
        let days = play(Span::from_secs(9), Span::from_secs(86_400));
        let memory = Setting { instances: 2, shared: false, ..Setting::default() };
        let login = Aim { class: Class::Login, ..aim(day, memory) };
        let told = exposed(&Restart, &login, &days).unwrap();
        assert_eq!(told.finding, Some("restart-forgets"));
        let known = "3 restarts in 1d let 72 through at one account, where 18 pass in that time if nothing is forgotten: limit \
                     counts over 1d in memory";
        assert_eq!(told.says, known);
        let longer =
            exposed(&Restart, &login, &play(Span::from_secs(9), Span::from_secs(4 * 86_400))).unwrap();
        assert!(longer.says.starts_with("3 restarts in 4d let "), "{}", longer.says);
        let send = exposed(&Restart, &Aim { class: Class::Send, ..aim(day, memory) }, &days).unwrap();
        assert!(send.says.starts_with("3 restarts in 1d let 72 through to one recipient, "), "{}", send.says);
        for setting in [Setting { snapshot: true, ..memory }, Setting { shared: true, ..memory }] {
            assert!(!Restart.fits(&aim(day, setting)));
            assert_eq!(exposed(&Restart, &aim(day, setting), &days), None);
        }
        let short = play(Span::from_secs(9), Span::from_secs(400));
        assert_eq!(exposed(&Restart, &aim(log(), memory), &short), None, "half a minute is no day");
    }
}
