//! Store outage: all that he can send while the store that limits are kept in is gone.
//!
//! He waits for it, sees it by what answers look like, or brings it about. Where a rule then lets everything through, λ · T
//! pass: a minute at a thousand a second is 60,000 guesses. Where each process goes on with its share of the limits, it is
//! their shares; where the rule denies, it is nothing.

use tidegate::OnStoreFailure;
use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::{Guess, spoken_chance, spoken_count};

use super::exposed::{counted, lasting};
use super::{Adversary, Aim, Beside, Exposed, Guard, Means, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};
use crate::world::{Incident, What};

/// How long the store is gone, in a play that is long enough.
const GONE: Span = Span::from_secs(60);
/// A second has so many of the shortest times between two acts.
const MILLISECONDS: u32 = 1_000;

/// All that he can, while the store is gone.
#[derive(Debug)]
pub(super) struct Outage;

impl Adversary for Outage {
    fn name(&self) -> &'static str {
        "outage"
    }

    fn what(&self) -> &'static str {
        "One client asks as fast as it can while the store is gone."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Outage]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} a second", counted(means.rate, "request")))
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn is_over_early(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.setting.shared && !aim.guards.is_empty()
    }

    fn seats(&self, _aim: &Aim, play: &Play) -> Vec<Seat> {
        let (lost, back) = gone(play);
        vec![Seat::adversary(Flat { lost, back, means: play.means, sent: 0 }).with_jitter(play.jitter)]
    }

    fn incidents(&self, _aim: &Aim, play: &Play) -> Vec<Incident> {
        let (lost, back) = gone(play);
        vec![Incident { at: lost, what: What::StoreLost }, Incident { at: back, what: What::StoreBack }]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let passed = beside.attack.without_store;
        let (lost, back) = gone(beside.play);
        let time = back.saturating_since(lost);
        if passed == 0 {
            return None;
        }
        let passed_in =
            format!("the store was gone for {}, and {} passed", lasting(time), counted(passed, "request"));
        if aim.guards.iter().any(|guard| guard.on_store_failure == OnStoreFailure::Local) {
            let (most, finding) = shares(aim, time)?;
            return (u128::from(passed) > most).then(|| Exposed {
                finding: Some(finding),
                says: format!(
                    "{passed_in} {}, where all processes together should let {} through",
                    aim.at_one(),
                    spoken_count(most)
                ),
            });
        }
        if !aim.class.is_guarded() {
            // It is what is wanted there.
            return None;
        }
        let guess = aim.code.as_ref().and_then(|code| Guess::of(code).ok());
        let chance = guess.map(|guess| {
            let chance = spoken_chance(guess.chance_of(passed.into()));
            format!("; the chance that one of them guesses the code is {chance}")
        });
        let says = format!("{passed_in} uncounted{}", chance.unwrap_or_default());
        Some(Exposed { finding: Some("fails-open"), says })
    }
}

/// Returns the most that the limits which go on let through, and which lint finds it when there is more.
fn shares(aim: &Aim, time: Span) -> Option<(u128, &'static str)> {
    let local = aim.guards.iter().filter(|guard| guard.on_store_failure == OnStoreFailure::Local);
    let most = |guard: &Guard| guard.requests(guard.quota.most_in_half_open(time));
    let (most, strictest) =
        local.filter_map(|guard| Some((most(guard)?, guard))).min_by_key(|(most, _)| *most)?;
    let is_small = strictest.quota.nominal() < aim.setting.instances;
    let finding = if is_small { "local-shares-too-small" } else { "local-without-instances" };
    Some((most, finding))
}

/// Returns when the store is lost, in the middle of the play, and when it is back.
fn gone(play: &Play) -> (Timestamp, Timestamp) {
    let time = GONE.as_micros().min(play.length.as_micros() / 3);
    let before = play.length.as_micros().saturating_sub(time) / 2;
    let lost = play.start.saturating_add(Span::from_micros(before));
    (lost, lost.saturating_add(Span::from_micros(time)))
}

/// Sends at an even rate.
struct Flat {
    lost: Timestamp,
    back: Timestamp,
    means: Means,
    sent: u64,
}

impl Actor for Flat {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let at = self.lost.saturating_add(self.means.time_for(self.sent));
        // Of more than one a millisecond, so many arrive together.
        let requests = self.means.rate.div_ceil(MILLISECONDS).max(1);
        self.sent = self.sent.saturating_add(requests.into());
        (at < self.back).then(|| Act::one(at, at_victim()).times(requests))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_policy::Class;

    use super::super::testing::staged::{admitted, exposed};
    use super::super::testing::testbed::digits;
    use super::super::testing::trial::{log, play};
    use super::*;
    use crate::world::Setting;

    fn aim(choice: OnStoreFailure) -> Aim {
        let mut aim = Aim::at(log());
        for guard in &mut aim.guards {
            guard.on_store_failure = choice;
        }
        aim.setting.instances = 2;
        aim
    }

    /// The value known of it: λ · T, a minute at a thousand a second, where everything passes. In a process that goes on it
    /// is what its limit admits in a minute, and nothing where it denies.
    #[test]
    fn a_minute_without_a_store_comes_to_what_is_known() {
        let day = play(Span::from_secs(9), Span::from_secs(86_400));
        assert_eq!(admitted(&Outage, &aim(OnStoreFailure::Allow), &day), 60_000);
        // A third of a shorter play.
        let short = play(Span::from_secs(9), Span::from_secs(30));
        assert_eq!(admitted(&Outage, &aim(OnStoreFailure::Deny), &short), 0);
        // Neither process was told that there are two: each goes on with all of it.
        assert_eq!(admitted(&Outage, &aim(OnStoreFailure::Local), &short), 2 * 5);
        let faster = Play { means: Means { rate: 2_500, ..Means::default() }, ..short };
        // Three arrive together, four hundred times a second but for what is left of the last.
        assert_eq!(admitted(&Outage, &aim(OnStoreFailure::Allow), &faster), 25_002);
    }

    #[test]
    fn what_passes_uncounted_is_told_with_the_chance_of_a_guess() {
        let day = play(Span::from_secs(9), Span::from_secs(86_400));
        let short = play(Span::from_secs(9), Span::from_secs(30));
        let mut open = aim(OnStoreFailure::Allow);
        (open.class, open.code) = (Class::Verify, Some(digits(3)));
        let told = exposed(&Outage, &open, &day).unwrap();
        assert_eq!(told.finding, Some("fails-open"));
        let known = "the store was gone for 1m, and 60,000 requests passed uncounted; the chance that one of them \
                     guesses the code is 16 %";
        assert_eq!(told.says, known);
        for choice in [OnStoreFailure::Deny, OnStoreFailure::Allow] {
            assert_eq!(exposed(&Outage, &aim(choice), &short), None, "nothing passes, or nothing is guarded");
        }
    }

    #[test]
    fn shares_that_are_wholes_are_told() {
        let short = play(Span::from_secs(9), Span::from_secs(30));
        let told = exposed(&Outage, &aim(OnStoreFailure::Local), &short).unwrap();
        assert_eq!(told.finding, Some("local-without-instances"));
        let memory =
            Aim { setting: Setting { shared: false, ..Setting::default() }, ..aim(OnStoreFailure::Allow) };
        assert!(!Outage.fits(&memory), "what is in the process cannot be lost without it");
    }
}
