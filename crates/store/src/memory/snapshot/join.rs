//! The strictest reading of two states: what either refuses, it refuses.
//!
//! A key whose place is lost with the room is held against what newcomers share. That must then be no milder than its own
//! state was, at no later instant.

use tidegate_algorithms::{Counter, Level, Lock, Log, Quota, Stamp, State, Timestamp, Window, settle};

/// Returns a state of the quota that leaves at no later instant more than either of two does.
///
/// There is one exception: of a lock and of attempts whose window outlasts every lock that begins now, the attempts are
/// forgotten when the longest lock ends.
pub(in crate::memory) fn join(quota: &Quota, one: &State, other: &State, now: Timestamp) -> State {
    let [one, other] = [one, other].map(|state| {
        let mut settled = Some(state.clone());
        settle(quota, Some(state), now).apply(&mut settled);
        settled.unwrap_or_else(|| state.clone())
    });
    match (quota, one, other) {
        (_, State::ClockWindow(one), State::ClockWindow(other)) => State::ClockWindow(window(one, other)),
        (_, State::HitWindow(one), State::HitWindow(other)) => State::HitWindow(window(one, other)),
        (_, State::Log(one), State::Log(other)) => State::Log(log(&one, &other)),
        (Quota::SlidingCounter(quota), State::Counter(one), State::Counter(other)) => {
            State::Counter(counter(quota.window().as_micros(), one, other))
        }
        // Levels move side by side, so whichever is behind stays behind.
        (Quota::TokenBucket(quota), State::Credit(one), State::Credit(other)) => {
            let full_at = |level: Level| {
                let missing = quota.capacity().saturating_sub(level.whole());
                level.mark().plus_units(missing, quota.refill())
            };
            State::Credit(if full_at(one) >= full_at(other) { one } else { other })
        }
        (Quota::LeakyBucket(quota), State::Backlog(one), State::Backlog(other)) => {
            let empty_at = |level: Level| level.mark().plus_units(level.whole(), quota.rate());
            State::Backlog(if empty_at(one) >= empty_at(other) { one } else { other })
        }
        (_, State::Lock(one), State::Lock(other)) => State::Lock(lock(one, other)),
        (_, one, _) => one,
    }
}

fn window(one: Window, other: Window) -> Window {
    Window {
        ends_at: one.ends_at.max(other.ends_at),
        count: one.count.max(other.count),
        early: one.early.max(other.early),
    }
}

/// Returns the log that holds, at every instant, as many units as the fuller of two.
fn log(one: &Log, other: &Log) -> Log {
    let (mut one, mut other): (Vec<Stamp>, Vec<Stamp>) =
        (one.stamps().copied().collect(), other.stamps().copied().collect());
    let (mut sums, mut held) = ((0_u64, 0_u64), 0_u64);
    let mut joined = Vec::with_capacity(one.len().max(other.len()));
    // From the newest on: as many units are younger than an instant as the larger of both sums up to there.
    while let Some(at) = one.last().into_iter().chain(other.last()).map(|stamp| stamp.at).max() {
        for (stamps, sum) in [(&mut one, &mut sums.0), (&mut other, &mut sums.1)] {
            if let Some(stamp) = stamps.pop_if(|stamp| stamp.at == at) {
                *sum = sum.saturating_add(stamp.units.into());
            }
        }
        let more = sums.0.max(sums.1).saturating_sub(held);
        held = held.saturating_add(more);
        joined.push(Stamp { at, units: u32::try_from(more).unwrap_or(u32::MAX) });
    }
    joined.reverse();
    Log::from_stamps(joined)
}

/// Joins counts in the window of the later one.
fn counter(window: u64, one: Counter, other: Counter) -> Counter {
    let (late, early) = if one.charged_at >= other.charged_at { (one, other) } else { (other, one) };
    let index = |counter: Counter| counter.charged_at.checked_div(window).unwrap_or(0);
    let (current, previous) = match index(late).saturating_sub(index(early)) {
        0 => (early.current, early.previous),
        1 => (0, early.current),
        _ => (0, 0),
    };
    Counter {
        charged_at: late.charged_at,
        current: late.current.max(current),
        previous: late.previous.max(previous),
    }
}

fn lock(one: Lock, other: Lock) -> Lock {
    let ends_at = one.ends_at.max(other.ends_at);
    let locked_until = match one.locked_until.max(other.locked_until) {
        0 => 0,
        // All is forgotten with the end of a lock: it lasts for as long as either would have counted.
        locked_until => [one, other]
            .into_iter()
            .filter(|lock| lock.locked_until == 0)
            .fold(locked_until, |until, open| until.max(open.ends_at)),
    };
    let early = one.early.max(other.early);
    Lock { ends_at, count: one.count.max(other.count), early, locked_until }
}

#[cfg(test)]
mod tests;
