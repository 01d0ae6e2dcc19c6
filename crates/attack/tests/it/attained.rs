//! For each algorithm some adversary attains its bound exactly: what the bench shows is the worst there is.

use tidegate::Quota;
use tidegate_algorithms::{Anchor, Calendar, Rate, Span};
use tidegate_attack::adversary::{Play, VICTIM, adversaries};

use crate::played::{Chosen, Limits, MONDAY, Passed, events, first, peak, play};

fn rate(units: u64, span: Span) -> Rate {
    Rate::new(units, span).unwrap()
}

/// Quotas of every algorithm, with numbers that divide each other and numbers that do not.
fn quotas() -> Vec<(&'static str, Quota)> {
    let (secs, millis) = (Span::from_secs, Span::from_millis);
    let all = [
        ("clock", Quota::fixed_window(5, secs(30), Anchor::Clock)),
        ("clock", Quota::fixed_window(3, Span::from_micros(1_001), Anchor::Clock)),
        ("calendar", Quota::calendar_window(3, Calendar::Day)),
        ("first hit", Quota::fixed_window(5, secs(30), Anchor::FirstHit)),
        ("first hit", Quota::fixed_window(1, millis(7), Anchor::FirstHit)),
        ("sliding log", Quota::sliding_log(5, secs(30))),
        ("sliding log", Quota::sliding_log(1, millis(7))),
        ("sliding counter", Quota::sliding_counter(5, secs(30))),
        ("sliding counter", Quota::sliding_counter(7, Span::from_micros(12_345))),
        ("sliding counter", Quota::sliding_counter(1, millis(7))),
        ("token bucket", Quota::token_bucket(4, rate(1, secs(10)))),
        ("token bucket", Quota::token_bucket(2, rate(7, secs(3)))),
        ("leaky bucket", Quota::leaky_bucket(rate(1, secs(10)), 3)),
        ("leaky bucket", Quota::leaky_bucket(rate(3, millis(7)), 0)),
        ("lockout", Quota::lockout(5, secs(30), secs(600))),
        ("lockout", Quota::lockout(3, secs(10), secs(14))),
        ("lockout", Quota::lockout(1, secs(10), secs(7))),
    ];
    all.into_iter().map(|(algorithm, quota)| (algorithm, quota.unwrap())).collect()
}

/// Returns the most that any adversary whose schedule is made for a limit gets by `count`, and who that is.
fn best(quota: Quota, plays: &[Play], count: impl Fn(&[u64]) -> u128) -> (u128, &'static str) {
    let limits = Limits(vec![(quota, 1)]);
    let fitting = adversaries()
        .iter()
        .filter(|adversary| adversary.is_for_one_limit() && adversary.fits(&limits.aim(0)));
    let all = fitting.flat_map(|adversary| plays.iter().map(move |play| (*adversary, play)));
    let seen = all.map(|(adversary, play)| {
        let mut passed = Passed::default();
        let chosen = Chosen { seed: 1, most_requests: 600 };
        events((adversary, &limits, 0), play, &chosen, &mut |event| passed.event(event));
        (passed.0.get(&VICTIM).map_or(0, |instants| count(instants)), adversary.name())
    });
    seen.max_by_key(|(seen, _)| *seen).unwrap()
}

/// Spans that a bound is held against, in microseconds, closed.
fn closed(window: u64) -> [u64; 8] {
    [0, 1, window / 2, window - 1, window, window + 1, window * 2, window * 3 + 17]
}

/// Plays that are long enough for a span after an adversary's opening, which takes a window at most, and that end with it:
/// what comes last may take less care. They begin shortly before a boundary of the clock.
fn plays(quota: &Quota, closed: u64) -> Vec<Play> {
    let window = quota.window().as_micros();
    let boundary = MONDAY.next_multiple_of(window);
    let ends = [closed + 1, closed + window, closed + window + 10];
    ends.into_iter().map(|length| play(boundary - 3, length)).collect()
}

/// Returns whether a span is one that holds most when a lockout locks at its end only: who straddles a window of it locks at
/// once, for the most in a window.
fn is_told_by_its_last_lock(quota: &Quota, closed: u64) -> bool {
    matches!(quota, Quota::Lockout(lockout) if lockout.lock() > lockout.within()
        && closed > lockout.within().as_micros())
}

/// Guards against adversaries that find less than there is, so that a report shows a limit as better than it is.
#[test]
fn some_adversary_attains_every_bound_of_every_algorithm() {
    for (algorithm, quota) in quotas() {
        let window = quota.window().as_micros();
        let bound = quota.most_in_half_open(quota.window());
        let seen = best(quota, &plays(&quota, window - 1), |instants| peak(instants, window));
        assert_eq!(seen.0, bound, "{algorithm}: {quota:?} in its window, by {}", seen.1);
        for closed in closed(window) {
            let (span, plays) = (Span::from_micros(closed), plays(&quota, closed));
            let seen = best(quota, &plays, |instants| peak(instants, closed + 1));
            if !is_told_by_its_last_lock(&quota, closed) {
                assert_eq!(
                    seen.0,
                    quota.most_in_closed(span),
                    "{algorithm}: {quota:?} in {span}, by {}",
                    seen.1
                );
            }
            let seen =
                best(quota, &plays, |instants| if instants.is_empty() { 0 } else { first(instants, closed) });
            assert_eq!(
                seen.0,
                quota.most_from_idle(span),
                "{algorithm}: {quota:?} from idle in {span}, by {}",
                seen.1
            );
        }
    }
}
