//! Claims on where windows begin.

use tidegate_algorithms::{Anchor, Calendar, FixedWindow};

use crate::words::align::Align;
use crate::words::canonical::spoken;
use crate::words::claim::{Claimed, Says};
use crate::words::judge::Judge;

/// Where the windows of a fixed window begin.
pub(super) fn hold_alignment(judge: &mut Judge<'_>, quota: &FixedWindow) {
    let day = Calendar::Day.longest();
    let window = quota.window();
    let begins = match quota.anchor() {
        Anchor::Clock => format!("windows begin by the clock, at multiples of {} since 1970", spoken(window)),
        Anchor::FirstHit => "a window begins with the first request after the last one ended".to_owned(),
        Anchor::Calendar(Calendar::Day) => "windows begin at midnight UTC".to_owned(),
        Anchor::Calendar(Calendar::Week) => "windows begin on Mondays, UTC".to_owned(),
        Anchor::Calendar(Calendar::Month) => "windows begin on the first of a month, UTC".to_owned(),
    };
    let is_calendar = |calendar: Calendar| match quota.anchor() {
        Anchor::Calendar(own) => own == calendar,
        Anchor::Clock => calendar == Calendar::Day && window == day,
        Anchor::FirstHit => false,
    };
    for claim in judge.claims {
        let (so, anchor) = match claim.says {
            Says::Align(Align::FirstHit) => (quota.anchor() == Anchor::FirstHit, "`anchor: first_hit`"),
            Says::Align(Align::Clock(length)) => {
                let so = quota.anchor() != Anchor::FirstHit && length.is_none_or(|length| length == window);
                (so, "`anchor: clock` and a window of that length")
            }
            Says::Align(Align::Calendar(calendar)) => (is_calendar(calendar), "`anchor: calendar`"),
            Says::Align(Align::Utc) => {
                (quota.anchor() != Anchor::FirstHit, "`anchor: clock`, or `anchor: calendar`")
            }
            Says::Rate(Claimed { time, .. }) if time.clock => {
                (quota.anchor() == Anchor::Clock, "`anchor: clock`")
            }
            Says::Rate(Claimed { time, .. }) => {
                (time.calendar.is_none_or(is_calendar), "`anchor: calendar` with that window")
            }
            _ => continue,
        };
        if !so {
            judge.contradict(claim, begins.clone(), anchor);
        }
    }
}

/// What has no windows has none that begin somewhere.
pub(super) fn no_windows(judge: &mut Judge<'_>) {
    for claim in judge.claims {
        let anchor = match claim.says {
            Says::Align(Align::FirstHit) => "a `fixed_window` with `anchor: first_hit`",
            Says::Align(Align::Clock(_)) => "a `fixed_window` with `anchor: clock`",
            Says::Align(Align::Calendar(_) | Align::Utc) => "a `fixed_window` with `anchor: calendar`",
            Says::Rate(Claimed { time, .. }) if time.calendar.is_some() => {
                "a `fixed_window` with `anchor: calendar`"
            }
            Says::Rate(Claimed { time, .. }) if time.clock => "a `fixed_window` with `anchor: clock`",
            _ => continue,
        };
        judge.contradict(
            claim,
            format!("a {} has no window that begins anywhere", judge.meaning.quota.algorithm()),
            anchor,
        );
    }
}
