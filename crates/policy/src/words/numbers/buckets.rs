//! Claims on what has a burst, a queue or a lock.

use tidegate_algorithms::{LeakyBucket, Lockout, Rate, Span, TokenBucket};

use super::alignment::no_windows;
use super::repair::{bucket, whole};
use super::{Window, hold_bound, no_queue, rates, wrong_rate};
use crate::words::align::Align;
use crate::words::canonical::{grouped, spoken};
use crate::words::claim::{Claimed, Says};
use crate::words::fraction::Fraction;
use crate::words::judge::Judge;

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

pub(super) fn hold_bucket(judge: &mut Judge<'_>, quota: &TokenBucket) {
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

pub(super) fn hold_queue(judge: &mut Judge<'_>, quota: &LeakyBucket) {
    let queue = Fraction::whole(quota.queue().into());
    let claims = judge.claims;
    let may_wait = format!("{} may wait", grouped(quota.queue().into()));
    for claim in claims {
        match claim.says {
            Says::Queue(count) if count != queue => {
                judge.contradict(claim, may_wait.clone(), format!("`queue: {}`", whole(count)));
            }
            Says::Burst(count) => {
                judge.contradict(claim, "requests are started evenly, none at once", bucket(count));
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

pub(super) fn hold_lockout(judge: &mut Judge<'_>, quota: &Lockout) {
    let claims = judge.claims;
    let window = Window { limit: quota.attempts(), length: quota.within(), calendar: None };
    let is_it = |claimed: Claimed| window.is_count(claimed) && window.is_time(claimed.time);
    let stated = rates(claims, false).any(|(_, claimed)| is_it(claimed));
    let fact = format!("{} within {}", grouped(quota.attempts().into()), spoken(quota.within()));
    for (claim, claimed) in rates(claims, false).filter(|(_, claimed)| !is_it(*claimed)) {
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
