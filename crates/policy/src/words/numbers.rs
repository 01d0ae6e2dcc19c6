//! Claims on numbers, held against those of each algorithm.

mod alignment;
mod buckets;
mod repair;

use tidegate_algorithms::{Anchor, Calendar, Quota, Span};

use alignment::{hold_alignment, no_windows};
use buckets::{hold_bucket, hold_lockout, hold_queue};
use repair::{bucket, numbers, whole};

use super::canonical::{bare, grouped, spoken};
use super::claim::{Claim, Claimed, Says};
use super::fraction::Fraction;
use super::judge::Judge;
use super::span::Time;

/// Holds the claims on numbers.
pub(super) fn hold(judge: &mut Judge<'_>) {
    match judge.meaning.quota {
        Quota::FixedWindow(quota) => {
            let calendar =
                if let Anchor::Calendar(calendar) = quota.anchor() { Some(calendar) } else { None };
            let window = Window { limit: quota.limit(), length: quota.window(), calendar };
            hold_window(judge, window);
            hold_alignment(judge, quota);
        }
        Quota::SlidingLog(quota) => {
            hold_window(judge, Window { limit: quota.limit(), length: quota.window(), calendar: None });
            no_windows(judge);
        }
        Quota::SlidingCounter(quota) => {
            hold_window(judge, Window { limit: quota.limit(), length: quota.window(), calendar: None });
            no_windows(judge);
        }
        Quota::TokenBucket(quota) => hold_bucket(judge, quota),
        Quota::LeakyBucket(quota) => hold_queue(judge, quota),
        Quota::Lockout(quota) => hold_lockout(judge, quota),
    }
}

/// So many units a window.
#[derive(Clone, Copy)]
struct Window {
    limit: u32,
    length: Span,
    calendar: Option<Calendar>,
}

impl Window {
    fn is_count(self, claimed: Claimed) -> bool {
        claimed.count == Fraction::whole(self.limit.into())
    }

    fn is_time(self, time: Time) -> bool {
        match (self.calendar, time.length) {
            (Some(Calendar::Month), length) => length.is_none(),
            (_, length) => length == Some(self.length),
        }
    }

    fn spoken(self) -> String {
        let length = match self.calendar {
            Some(Calendar::Day) => "calendar day".to_owned(),
            Some(Calendar::Week) => "calendar week".to_owned(),
            Some(Calendar::Month) => "calendar month".to_owned(),
            None => spoken(self.length),
        };
        format!("{} per {length}", grouped(self.limit.into()))
    }
}

fn rates(claims: &[Claim], bounds: bool) -> impl Iterator<Item = (&Claim, Claimed)> {
    claims.iter().filter_map(move |claim| match claim.says {
        // What holds in a window of the clock or the calendar is nominal, however firmly it is said.
        Says::Rate(claimed) => {
            let bound = claimed.bound && !claimed.time.clock && claimed.time.calendar.is_none();
            (bound == bounds).then_some((claim, claimed))
        }
        _ => None,
    })
}

fn hold_window(judge: &mut Judge<'_>, window: Window) {
    let claims = judge.claims;
    let is_log = matches!(judge.meaning.quota, Quota::SlidingLog(_));
    let is_it = |claimed: Claimed| window.is_count(claimed) && window.is_time(claimed.time);
    let stating = rates(claims, false).find(|(_, claimed)| is_it(*claimed));
    let stated = stating.is_some() || is_log && rates(claims, true).any(|(_, claimed)| is_it(claimed));
    for (claim, claimed) in rates(claims, false).filter(|(_, claimed)| !is_it(*claimed)) {
        wrong_rate(judge, (claim, claimed), stated, &window.spoken());
    }
    for (claim, claimed) in rates(claims, true) {
        let same_time = is_log && window.is_time(claimed.time);
        if same_time && !window.is_count(claimed) {
            wrong_rate(judge, (claim, claimed), false, &window.spoken());
        } else {
            hold_bound(judge, claim, claimed);
        }
    }
    for claim in claims {
        match claim.says {
            Says::Burst(count) if count != Fraction::whole(window.limit.into()) => {
                judge.contradict(
                    claim,
                    format!("it has no burst beside its {}", window.spoken()),
                    bucket(count),
                );
            }
            Says::Queue(count) => no_queue(judge, claim, count),
            Says::Lock(_) => judge.contradict(claim, "nothing locks", "a `lockout`"),
            Says::Paced => judge.contradict(claim, "requests are not spaced", "a `leaky_bucket`"),
            _ => {}
        }
    }
    if !stated {
        judge.miss(format!("it does not say its numbers, {}", window.spoken()));
    }
    if let Some((claim, _)) = stating.filter(|_| rates(claims, true).next().is_none()) {
        mislead(judge, claim, window);
    }
}

/// Warns of a nominal claim of which nobody sees that it is more around the boundary of two windows.
fn mislead(judge: &mut Judge<'_>, claim: &Claim, window: Window) {
    let quota = judge.meaning.quota;
    let says_where = judge.claims.iter().any(|claim| match claim.says {
        Says::Align(_) => true,
        Says::Rate(Claimed { time, .. }) => time.clock || time.calendar.is_some(),
        _ => false,
    });
    if says_where && matches!(quota, Quota::FixedWindow(_)) {
        return;
    }
    let most = quota.most_in_half_open(window.length);
    if most > u128::from(window.limit) {
        let (most, length) = (grouped_wide(most), spoken(window.length));
        let fact = format!("up to {most} are admitted within {length}, around the boundary of two windows");
        let any = bare(window.length);
        let remedy =
            format!("add \"at most {most} in any {any}\", or take a `sliding_log` or a `token_bucket`");
        judge.mislead(claim, fact, remedy);
    }
}

/// Notes a nominal claim that is not the limit's; a second one beside the right one is another limit.
fn wrong_rate(judge: &mut Judge<'_>, (claim, claimed): (&Claim, Claimed), stated: bool, fact: &str) {
    if stated {
        judge.unsure(claim, format!("it is another limit than {fact}; each limit has a sentence of its own"));
    } else if claimed.time.length.is_none() {
        judge.unsure(claim, "a month is 28 to 31 days: say how many, or take a window of the calendar");
    } else {
        judge.contradict(claim, format!("it is {fact}"), numbers(judge.meaning.quota, claimed));
    }
}

/// A bound has to hold wherever its time begins.
fn hold_bound(judge: &mut Judge<'_>, claim: &Claim, claimed: Claimed) {
    let length = claimed.time.length.unwrap_or(Calendar::Month.longest());
    let most = judge.meaning.quota.most_in_half_open(length);
    let (top, bottom) = claimed.count.parts();
    if u128::from(top) < most.saturating_mul(bottom.into()) {
        let fact = format!("up to {} are admitted within {}", grouped_wide(most), spoken(length));
        judge.contradict(
            claim,
            fact,
            format!("`sliding_log: {{ limit: {}, window: {length} }}`", whole(claimed.count)),
        );
    }
}

fn grouped_wide(most: u128) -> String {
    u64::try_from(most).map_or_else(|_| most.to_string(), grouped)
}

fn no_queue(judge: &mut Judge<'_>, claim: &Claim, count: Fraction) {
    if count != Fraction::ZERO {
        judge.contradict(claim, "nothing waits", format!("a `leaky_bucket` with `queue: {}`", whole(count)));
    }
}
