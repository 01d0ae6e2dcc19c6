//! What holds of every limit.

use proptest::prelude::*;

use super::*;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![1..5_000_u64, 1_000..400_000_u64, Just(86_400_000)].prop_map(Span::from_millis)
}

fn rate() -> impl Strategy<Value = Rate> {
    (1..1_000_u64, span()).prop_map(|(units, period)| Rate::new(units, period).unwrap())
}

/// Quotas of every algorithm, from one unit a day to thousands a millisecond.
fn quota() -> impl Strategy<Value = Quota> {
    let anchors = prop_oneof![Just(Anchor::Clock), Just(Anchor::FirstHit)];
    let calendars = prop_oneof![Just(Calendar::Day), Just(Calendar::Week), Just(Calendar::Month)];
    prop_oneof![
        (0..5_000_u64, span(), anchors)
            .prop_map(|(limit, window, anchor)| Quota::fixed_window(limit, window, anchor)),
        (0..5_000_u64, calendars).prop_map(|(limit, calendar)| Quota::calendar_window(limit, calendar)),
        (0..5_000_u64, span()).prop_map(|(limit, window)| Quota::sliding_log(limit, window)),
        (0..5_000_u64, span()).prop_map(|(limit, window)| Quota::sliding_counter(limit, window)),
        (1..5_000_u64, rate()).prop_map(|(capacity, refill)| Quota::token_bucket(capacity, refill)),
        (0..5_000_u64, rate()).prop_map(|(queue, rate)| Quota::leaky_bucket(rate, queue)),
        (1..50_u64, span(), span())
            .prop_map(|(attempts, within, lock)| Quota::lockout(attempts, within, lock)),
    ]
    .prop_map(Result::unwrap)
}

/// Sums over every try the chance that it is the one that hits, times its time, until what is left no longer matters.
fn sum_over_tries(guess: Guess, allowance: Allowance<'_>) -> f64 {
    let (p, rate) = (guess.chance_of_one(), allowance.long_run().unwrap());
    let slowest = float(rate.micros) / f64::from(rate.units) / 1e6 / p;
    let at_once = allowance.from_idle(Span::ZERO);
    let (mut sum, mut missed) = (0.0, 1.0 - guess.chance_of(at_once));
    let (mut time, mut by_then) = (0.0, at_once);
    for tries in at_once + 1.. {
        if tries > by_then {
            let span = allowance.earliest(tries).unwrap();
            (time, by_then) = (float(span.as_micros()) / 1e6, allowance.from_idle(span));
        }
        sum += time * p * missed;
        missed *= 1.0 - p;
        if missed * (time + slowest) <= 1e-9 * sum {
            break;
        }
    }
    sum
}

proptest! {
    /// Guards against a search that ends beside the step: the time found lets the tries be made, and a microsecond earlier
    /// does not.
    #[test]
    fn the_earliest_time_of_some_tries_is_the_first_at_which_they_can_have_been_made(
        quotas in prop::collection::vec(quota(), 1..4),
        tries in prop_oneof![0..20_000_u128, 1..1_000_000_000_000_u128],
    ) {
        let allowance = Allowance::of(&quotas);
        match allowance.earliest(tries) {
            Some(time) => {
                prop_assert!(allowance.from_idle(time) >= tries);
                if let Some(before) = time.as_micros().checked_sub(1) {
                    prop_assert!(allowance.from_idle(Span::from_micros(before)) < tries);
                }
                let latest = quotas.iter().map(|quota| Allowance::of(std::slice::from_ref(quota)).earliest(tries));
                prop_assert_eq!(latest.max().unwrap(), Some(time), "the tightest limit says when");
            }
            None => prop_assert!(allowance.from_idle(Span::MAX) < tries),
        }
    }

    #[test]
    fn more_tries_are_never_less_likely_to_hit_and_half_is_reached_where_it_is_said(
        length in 1..20_u32, valid in 1..10_u32, tries in 0..u128::from(u64::MAX),
    ) {
        let guess = digits(length, valid.min(9));
        let chance = guess.chance_of(tries);
        prop_assert!((0.0..=1.0).contains(&chance));
        prop_assert!(chance <= guess.chance_of(tries + 1));
        let even = guess.tries_for(0.5);
        prop_assert!(guess.chance_of(even) >= 0.5 - 1e-12);
        prop_assert!(guess.chance_of(even - 1) < 0.5 + 1e-12);
    }

    /// Guards against remedies that do not do what they are for, or go further than they have to.
    #[test]
    fn a_remedy_is_the_same_algorithm_and_keeps_what_it_is_for(quota in quota(), most in 1..200_000_u128) {
        let others = [stretched(&quota, YEAR, most), lowered(&quota, YEAR, most)];
        for other in others.into_iter().flatten() {
            prop_assert_eq!(other.algorithm(), quota.algorithm());
            prop_assert!(other.most_from_idle(YEAR) <= most);
            prop_assert!(other.nominal() <= quota.nominal());
        }
    }
}

proptest! {
    // Some thousand tries are looked at in each.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Guards the sum by pieces against the sum over tries: of few codes every try can be looked at.
    #[test]
    fn the_mean_is_the_sum_over_tries_of_their_times(
        quotas in prop::collection::vec(quota(), 1..4),
        (guess, within) in prop_oneof![
            // A piece takes no more than one instant's tries, and the sum is exact.
            (5..40_u32).prop_map(|valid| (digits(2, valid), 1e-6)),
            (2..10_u32).prop_map(|valid| (digits(3, valid), 1.0 / 512.0)),
        ],
    ) {
        match times(guess, &quotas).mean {
            Some(mean) => {
                let sum = sum_over_tries(guess, Allowance::of(&quotas));
                prop_assert!((mean - sum).abs() <= within * sum + 1e-9, "{} is not {}", mean, sum);
            }
            None => prop_assert!(quotas.iter().any(|quota| quota.nominal() == 0)),
        }
    }
}

#[test]
fn the_mean_follows_the_closed_forms_of_a_bucket_and_of_windows() {
    let guess = digits(6, 3);
    let (p, q) = (3e-6, 1.0 - 3e-6_f64);
    for (quota, expected) in [
        (bucket(1, 1, 10), q.powi(1) / p * 10.0),
        (bucket(500_000, 1, 10), q.powi(500_000) / p * 10.0),
        (bucket(4, 1_000, 1), q.powi(4) / p / 1_000.0),
        (log(5, 30), 30.0 * q.powi(5) / (1.0 - q.powi(5))),
        (log(100_000, 3_600), 3_600.0 * q.powi(100_000) / (1.0 - q.powi(100_000))),
    ] {
        let mean = times(guess, &[quota]).mean.unwrap();
        near(mean / expected, 1.0, 2e-5);
    }
}

/// Guards against a division by a rate of nothing.
#[test]
fn a_limit_of_zero_is_never_guessed_through() {
    let nothing = GuessTimes { mean: None, p50: None, p95: None, chance_day: 0.0, chance_year: 0.0 };
    assert_eq!(times(digits(6, 3), &[log(0, 30)]), nothing);
    assert_eq!(times(digits(6, 3), &[bucket(4, 1, 10), log(0, 30)]), nothing);
    assert_eq!(Allowance::of(&[log(0, 30)]).requests_to_deny(DAY), Some(0));
}

#[test]
fn without_limits_everything_is_tried_at_once() {
    let at_once =
        GuessTimes { mean: Some(0.0), p50: Some(0.0), p95: Some(0.0), chance_day: 1.0, chance_year: 1.0 };
    assert_eq!(times(digits(6, 3), &[]), at_once);
}

#[test]
fn where_every_code_is_right_the_first_try_hits() {
    let all = Guess::new(10, 1, 10).unwrap();
    assert_eq!(times(all, &[log(5, 30)]).mean, Some(0.0));
    near(all.chance_of(1), 1.0, 0.0);
    near(all.chance_of(0), 0.0, 0.0);
    assert_eq!(all.tries_for(0.95), 1);
}

/// Guards the years beyond the longest span, where nothing is counted any more.
#[test]
fn what_takes_longer_than_any_span_goes_on_at_the_long_run_rate() {
    let (guess, slow) = (digits(18, 1), [log(1, 400 * 86_400)]);
    let expected = 1e18 * 400.0 * 86_400.0;
    let GuessTimes { mean, p50, .. } = times(guess, &slow);
    near(mean.unwrap() / expected, 1.0, 1e-4);
    near(p50.unwrap() / expected, std::f64::consts::LN_2, 1e-9);
    assert_eq!(Allowance::of(&slow).earliest(1 << 60), None);
}

#[test]
fn numbers_that_are_no_code_are_refused() {
    assert_eq!(Guess::new(1, 6, 1), Err(GuessError::NoCode));
    assert_eq!(Guess::new(10, 0, 1), Err(GuessError::NoCode));
    assert_eq!(Guess::new(10, 39, 1), Err(GuessError::TooLong));
    assert_eq!(Guess::new(10, 1, 11), Err(GuessError::Valid { most: 10 }));
    assert_eq!(Guess::new(10, 6, 0), Err(GuessError::Valid { most: 10_000 }));
    assert_eq!(Guess::new(36, 8, 1).unwrap().to_string(), "8 characters of 36, 1 valid at once");
}
