//! Claims on numbers, held against those of each algorithm.

use tidegate_algorithms::{
    Anchor, Calendar, FixedWindow, LeakyBucket, Lockout, Quota, Rate, Span, TokenBucket,
};

use super::align::Align;
use super::canonical::{grouped, spoken};
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

fn rates<'c>(claims: &'c [Claim], bounds: bool) -> impl Iterator<Item = (&'c Claim, Claimed)> {
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
    let states = |claimed: Claimed| window.is_count(claimed) && window.is_time(claimed.time);
    let stating = rates(claims, false).find(|(_, claimed)| states(*claimed));
    let stated = stating.is_some() || is_log && rates(claims, true).any(|(_, claimed)| states(claimed));
    for (claim, claimed) in rates(claims, false).filter(|(_, claimed)| !states(*claimed)) {
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
        let length = spoken(window.length);
        let fact = format!("up to {most} are admitted in some {length}, around the boundary of two windows");
        let remedy =
            format!("add \"at most {most} in any {length}\", or take a `sliding_log` or a `token_bucket`");
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
        let fact = format!("up to {most} are admitted in some {}", spoken(length));
        judge.contradict(
            claim,
            fact,
            format!("`sliding_log: {{ limit: {}, window: {length} }}`", whole(claimed.count)),
        );
    }
}

fn no_queue(judge: &mut Judge<'_>, claim: &Claim, count: Fraction) {
    if count != Fraction::ZERO {
        judge.contradict(claim, "nothing waits", format!("a `leaky_bucket` with `queue: {}`", whole(count)));
    }
}

/// Where the windows of a fixed window begin.
fn hold_alignment(judge: &mut Judge<'_>, quota: &FixedWindow) {
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
fn no_windows(judge: &mut Judge<'_>) {
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

fn is_rate(claimed: Claimed, rate: Rate) -> bool {
    let Some(length) = claimed.time.length else { return false };
    let (top, bottom) = claimed.count.parts();
    let said = Fraction::new(top.into(), u128::from(bottom).saturating_mul(length.as_micros().into()));
    said.is_some() && said == Fraction::new(rate.units().into(), rate.micros().into())
}

fn spoken_rate(rate: Rate) -> String {
    match rate.units() {
        1 => format!("one every {}", spoken(Span::from_micros(rate.micros()))),
        units => format!("{units} per {}", spoken(Span::from_micros(rate.micros()))),
    }
}

fn hold_rate(judge: &mut Judge<'_>, rate: Rate, what: &str) {
    let claims = judge.claims;
    let fact = format!("{}{what}", spoken_rate(rate));
    let stated = rates(claims, false).any(|(_, claimed)| is_rate(claimed, rate));
    for (claim, claimed) in rates(claims, false).filter(|(_, claimed)| !is_rate(*claimed, rate)) {
        wrong_rate(judge, (claim, claimed), stated, &fact);
    }
    for (claim, claimed) in rates(claims, true) {
        hold_bound(judge, claim, claimed);
    }
    if !stated {
        judge.miss(format!("it does not say that it is {fact}"));
    }
}

fn hold_bucket(judge: &mut Judge<'_>, quota: &TokenBucket) {
    let capacity = Fraction::whole(quota.capacity().into());
    let claims = judge.claims;
    let at_once = format!("{} at once", grouped(quota.capacity().into()));
    for claim in claims {
        match claim.says {
            Says::Burst(count) if count != capacity => {
                judge.contradict(claim, format!("it is {at_once}"), format!("`capacity: {}`", whole(count)));
            }
            Says::Queue(count) => no_queue(judge, claim, count),
            Says::Lock(_) => judge.contradict(claim, "nothing locks", "a `lockout`"),
            Says::Paced => judge.contradict(claim, "requests are not spaced", "a `leaky_bucket`"),
            Says::NoCarry => judge.contradict(
                claim,
                format!("what is not used is kept, up to {}", whole(capacity)),
                "a `fixed_window`",
            ),
            _ => {}
        }
    }
    hold_rate(judge, quota.refill(), " after the burst");
    if !claims.iter().any(|claim| matches!(claim.says, Says::Burst(_))) {
        judge.miss(format!("it does not say that it is {at_once}"));
    }
    no_windows(judge);
}

fn hold_queue(judge: &mut Judge<'_>, quota: &LeakyBucket) {
    let queue = Fraction::whole(quota.queue().into());
    let claims = judge.claims;
    let may_wait = format!("{} may wait", grouped(quota.queue().into()));
    for claim in claims {
        match claim.says {
            Says::Queue(count) if count != queue => {
                judge.contradict(claim, may_wait.clone(), format!("`queue: {}`", whole(count)));
            }
            Says::Burst(count) => {
                judge.contradict(claim, "requests are started evenly, none at once", bucket(count))
            }
            Says::Lock(_) => judge.contradict(claim, "nothing locks", "a `lockout`"),
            _ => {}
        }
    }
    hold_rate(judge, quota.rate(), "");
    if !claims.iter().any(|claim| matches!(claim.says, Says::Queue(_))) {
        judge.miss(format!("it does not say that {may_wait}"));
    }
    no_windows(judge);
}

fn hold_lockout(judge: &mut Judge<'_>, quota: &Lockout) {
    let claims = judge.claims;
    let window = Window { limit: quota.attempts(), length: quota.within(), calendar: None };
    let states = |claimed: Claimed| window.is_count(claimed) && window.is_time(claimed.time);
    let stated = rates(claims, false).any(|(_, claimed)| states(claimed));
    let fact = format!("{} within {}", grouped(quota.attempts().into()), spoken(quota.within()));
    for (claim, claimed) in rates(claims, false).filter(|(_, claimed)| !states(*claimed)) {
        wrong_rate(judge, (claim, claimed), stated, &fact);
    }
    for (claim, claimed) in rates(claims, true) {
        hold_bound(judge, claim, claimed);
    }
    let locked = format!("locked for {}", spoken(quota.lock()));
    for claim in claims {
        match claim.says {
            Says::Lock(length) if length != quota.lock() => {
                judge.contradict(claim, format!("it is {locked}"), format!("`lock: {length}`"));
            }
            Says::Queue(count) => no_queue(judge, claim, count),
            Says::Burst(count) if count != Fraction::whole(quota.attempts().into()) => {
                judge.contradict(claim, format!("it is {fact}"), format!("`attempts: {}`", whole(count)));
            }
            Says::Paced => judge.contradict(claim, "requests are not spaced", "a `leaky_bucket`"),
            Says::Align(Align::Clock(_) | Align::Calendar(_) | Align::Utc) => {
                judge.contradict(claim, "the time begins with the first attempt", "a `fixed_window`");
            }
            _ => {}
        }
    }
    if !stated {
        judge.miss(format!("it does not say that it is {fact}"));
    }
    if !claims.iter().any(|claim| matches!(claim.says, Says::Lock(_))) {
        judge.miss(format!("it does not say that it is {locked}"));
    }
}

fn bucket(count: Fraction) -> String {
    format!("a `token_bucket` with `capacity: {}`", whole(count))
}

/// Returns the numbers that a nominal claim stands for, as a policy file writes them.
fn numbers(quota: &Quota, claimed: Claimed) -> String {
    let (count, length) = (whole(claimed.count), claimed.time.length.unwrap_or(Span::ZERO));
    match quota {
        Quota::TokenBucket(_) => format!("`refill: {}`", rate_of(claimed)),
        Quota::LeakyBucket(_) => format!("`rate: {}`", rate_of(claimed)),
        Quota::Lockout(_) => format!("`attempts: {count}, within: {length}`"),
        _ => format!("`limit: {count}, window: {length}`"),
    }
}

/// Writes a rate of whole units.
fn rate_of(claimed: Claimed) -> String {
    let (top, bottom) = claimed.count.parts();
    let length = claimed.time.length.unwrap_or(Span::ZERO);
    format!("{top} per {}", Span::from_micros(length.as_micros().saturating_mul(bottom)))
}

fn whole(count: Fraction) -> String {
    match count.parts() {
        (top, 1) => top.to_string(),
        (top, bottom) => format!("{top}/{bottom}"),
    }
}
