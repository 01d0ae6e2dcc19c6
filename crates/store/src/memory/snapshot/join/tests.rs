use super::*;
use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Ask, Rate, Span, decide, peek};

fn quotas(units: u64) -> [Quota; 8] {
    let span = Span::from_secs(5);
    let (rate, odd) =
        (Rate::new(units, span).unwrap(), Rate::new(units, Span::from_micros(5_000_011)).unwrap());
    [
        Quota::fixed_window(units, span, Anchor::Clock).unwrap(),
        Quota::fixed_window(units, span, Anchor::FirstHit).unwrap(),
        Quota::sliding_log(units, span).unwrap(),
        Quota::sliding_counter(units, span).unwrap(),
        Quota::token_bucket(units, rate).unwrap(),
        Quota::token_bucket(units, odd).unwrap(),
        Quota::leaky_bucket(odd, units).unwrap(),
        Quota::lockout(units, span, span).unwrap(),
    ]
}

/// Asks, each after some microseconds and of some units, beginning at the day after the epoch.
fn history() -> impl Strategy<Value = Vec<(u64, u32)>> {
    proptest::collection::vec((0..3_000_000_u64, 1..3_u32), 0..9)
}

fn state(quota: &Quota, history: &[(u64, u32)], until: Timestamp) -> Option<State> {
    let (mut state, mut now) = (None, 86_400_000_000);
    for (after, units) in history {
        now += after;
        let at = Timestamp::from_micros(now).unwrap().min(until);
        decide(quota, state.as_ref(), Ask::units(*units), at).change.apply(&mut state);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A key that lost its place to a smaller room must not find more than its own state would leave, now or later.
    #[test]
    fn what_either_refuses_the_joined_state_refuses(
        (one, other) in (history(), history()),
        (which, units) in (0..8_usize, 2..6_u64),
        now in 0..9_000_000_u64,
        later in proptest::collection::vec(0..2_500_000_u64, 1..8),
    ) {
        let quota = quotas(units)[which];
        let now = Timestamp::from_micros(86_400_000_000 + now).unwrap();
        let (one, other) = (state(&quota, &one, now), state(&quota, &other, now));
        if let (Some(one), Some(other)) = (one, other) {
            let joined = join(&quota, &one, &other, now);
            let mut at = now;
            for after in later {
                let remaining = |state| peek(&quota, Some(state), Ask::units(0), at).remaining;
                prop_assert!(remaining(&joined) <= remaining(&one).min(remaining(&other)), "{joined:?} at {at:?}");
                at = at.saturating_add(Span::from_micros(after));
            }
            // Strict, but not stricter than it must be: two of a kind are one.
            let twice = join(&quota, &one, &one, now);
            let [left, right] = [&twice, &one].map(|state| peek(&quota, Some(state), Ask::units(0), at));
            prop_assert_eq!(left, right);
        }
    }
}
