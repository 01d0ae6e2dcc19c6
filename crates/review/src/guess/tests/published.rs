//! Published figures that the arithmetic has to give.

use super::*;

fn clock(limit: u64, seconds: u64) -> Quota {
    Quota::fixed_window(limit, Span::from_secs(seconds), Anchor::Clock).unwrap()
}

fn counter(limit: u64, seconds: u64) -> Quota {
    Quota::sliding_counter(limit, Span::from_secs(seconds)).unwrap()
}

/// Guards the figures that the two first documents of this project got wrong by a factor of 333.
#[test]
fn five_per_thirty_seconds_keeps_a_blind_guesser_out_for_days_and_not_for_years() {
    for quota in [clock(5, 30), counter(5, 30), log(5, 30)] {
        let guess = times(digits(6, 3), &[quota]);
        near(days(guess.mean), 23.15, 0.005);
        // Up to a window earlier than the 16.0451 days that the rate alone gives.
        near(days(guess.p50), 16.0447, 0.000_4);
        near(days(guess.p95), 69.35, 0.005);
        near(guess.chance_day, 0.0423, 0.000_05);
        assert!(guess.chance_year > 0.9999 && guess.chance_year < 1.0);
    }
    let half_open = |quota: Quota| quota.most_in_half_open(Span::from_secs(30));
    let closed = |quota: Quota| quota.most_in_closed(Span::from_secs(30));
    assert_eq!([clock(5, 30), counter(5, 30), log(5, 30)].map(half_open), [10, 10, 5]);
    assert_eq!([clock(5, 30), counter(5, 30), log(5, 30)].map(closed), [10, 10, 10]);
}

#[test]
fn a_bucket_of_four_and_one_per_ten_seconds_holds_for_38_days() {
    let quota = bucket(4, 1, 10);
    let guess = times(digits(6, 3), &[quota]);
    near(days(guess.mean), 38.58, 0.005);
    near(days(guess.p50), 26.74, 0.005);
    near(days(guess.p95), 115.6, 0.05);
    near(guess.chance_day, 0.0256, 0.000_05);
    near(guess.chance_year, 0.9999, 0.000_05);
    let thirty = Span::from_secs(30);
    assert_eq!((quota.most_in_half_open(thirty), quota.most_in_closed(thirty)), (6, 7));
}

#[test]
fn a_hundred_tries_per_thirty_seconds_are_even_at_6932_windows() {
    let guess = digits(6, 1);
    near(guess.chance_of(100), 9.9995e-5, 1e-9);
    near(guess.tries_at(0.5) / 100.0, 6_931.5, 0.5);
    // With one in ten thousand a window, as it was published.
    near(digits(4, 1).chance_of(6_932), 0.50004, 0.000_005);
    // Four such windows a week.
    near(6_932.0 / 4.0 * 7.0 / 365.25, 33.2, 0.05);
    // The policy it was changed to: 600 in 25 hours.
    near(guess.chance_of(600 * 1_180), 0.50737, 0.000_005);
    near(digits(4, 6).chance_of(1_180), 0.50748, 0.000_005);
    let quota = log(600, 25 * 3_600);
    // Published as 3.37 years, which are all 1,180 windows; the last begins one before that.
    let last = Allowance::of(&[quota]).seconds_to(600 * 1_180).unwrap();
    near((last + 25.0 * 3_600.0) / (365.0 * 86_400.0), 3.3676, 0.000_1);
    near(days(times(digits(6, 3), &[quota]).p50), 401.0, 1.0);
}

#[test]
fn ten_per_five_minutes_with_three_valid_codes_are_even_after_80_days() {
    near(days(times(digits(6, 3), &[log(10, 300)]).p50), 80.2, 0.05);
    near(days(times(digits(6, 2), &[log(10, 300)]).p50), 120.3, 0.1);
    near(days(times(digits(6, 1), &[log(10, 300)]).p50), 240.7, 0.1);
    // Beside it 20 an hour and 50 a day: even after 12.7 years.
    let all = [log(5, 300), log(20, 3_600), log(50, 86_400)];
    near(days(times(digits(6, 3), &all).p50) / 365.0, 12.66, 0.05);
    near(days(times(digits(6, 3), &[log(10, 365 * 86_400)]).p50) / 365.0, 23_105.0, 1.0);
}

#[test]
fn a_hundred_a_second_are_even_after_two_hours_and_one_per_five_seconds_after_forty_days() {
    // Windows of thirty seconds, 3,000 tries each.
    near(digits(6, 1).tries_at(0.5) / 3_000.0, 231.0, 0.5);
    near(days(times(digits(6, 1), &[bucket(1, 1, 5)]).p50), 40.1, 0.05);
    near(days(times(digits(6, 3), &[bucket(1, 1, 5)]).p50), 13.4, 0.05);
}

/// Guards against a claim of 5,000 years, which has been published of this limit.
#[test]
fn five_per_fifteen_minutes_holds_for_six_years() {
    near(days(times(digits(6, 1), &[log(5, 900)]).mean) / 365.0, 5.70, 0.01);
    near(days(times(digits(6, 3), &[log(5, 900)]).mean) / 365.0, 1.90, 0.01);
}

#[test]
fn all_four_digit_numbers_take_seventeen_hours_at_five_per_thirty_seconds() {
    // The last five begin with the window after 16.67 hours less one.
    near(Allowance::of(&[log(5, 30)]).seconds_to(10_000).unwrap() / 3_600.0, 16.66, 0.005);
}

#[test]
fn five_checks_per_ten_minutes_hold_for_four_years_or_for_two_weeks() {
    let quota = [log(5, 600)];
    near(days(times(digits(6, 1), &quota).mean) / 365.0, 3.8, 0.05);
    near(days(times(digits(4, 1), &quota).mean), 13.9, 0.05);
}

#[test]
fn a_hundred_an_hour_is_not_enough_for_six_digits() {
    near(days(times(digits(6, 1), &[log(100, 3_600)]).p50), 289.0, 1.0);
    near(days(times(digits(6, 3), &[log(100, 3_600)]).p50), 96.0, 0.5);
}

#[test]
fn one_per_cent_a_year_is_9_tries_a_day_with_three_valid_codes() {
    assert_eq!(digits(6, 3).most_tries(0.01), 3_350);
    near(digits(6, 3).tries_at(0.01) / 365.0, 9.18, 0.005);
    near(digits(6, 1).tries_at(0.01) / 365.0, 27.5, 0.05);
    let a_year = |quota: Quota| Allowance::of(&[quota]).from_idle(YEAR);
    assert_eq!(digits(6, 3).length_for(a_year(log(5, 30)), 0.01), Some(10));
    assert_eq!(digits(6, 3).length_for(a_year(bucket(4, 1, 10)), 0.01), Some(9));
    assert_eq!(digits(6, 3).length_for(3_350, 0.01), Some(6));
    assert_eq!(digits(6, 3).length_for(u128::MAX, 0.01), None);
}

#[test]
fn a_code_that_stays_is_exhausted_by_as_many_addresses_as_its_space_holds_their_tries() {
    // 200 tries of each address in the ten minutes that a code lives.
    let guess = digits(6, 1);
    let of_each = |quota: Quota, life| Allowance::of(&[quota]).from_idle(life);
    let first_hit = Quota::fixed_window(200, HOUR, Anchor::FirstHit).unwrap();
    let tries = of_each(first_hit, Span::from_secs(600));
    assert_eq!(guess.sources_to_exhaust(tries), Some(5_000));
    near(guess.chance_without_repeats(1_000 * tries), 0.2, 1e-12);
    near(guess.chance_without_repeats(u128::MAX), 1.0, 0.0);
    // 30 at once and 360 an hour, for a code of one hour.
    let tries = of_each(bucket(30, 360, 3_600), HOUR);
    assert_eq!((tries, guess.sources_to_exhaust(tries)), (390, Some(2_565)));
    near(guess.chance_without_repeats(100 * tries), 0.039, 1e-12);
    assert_eq!(guess.sources_to_exhaust(0), None);
    // Of ten codes three are right: both tries miss with 7/10 · 6/9.
    near(digits(1, 3).chance_without_repeats(2), 1.0 - 42.0 / 90.0, 1e-12);
}

#[test]
fn keeping_a_victim_out_costs_what_the_cheapest_limit_takes() {
    let limits = [log(5, 30), log(9, 86_400)];
    assert_eq!(Allowance::of(&limits[..1]).requests_to_deny(DAY), Some(14_405));
    assert_eq!(Allowance::of(&limits).requests_to_deny(DAY), Some(18));
    assert_eq!(Allowance::of(&[]).requests_to_deny(DAY), None);
}

/// Guards the lengths of months, whose closed form is not a round of equal windows.
#[test]
fn a_limit_a_month_is_guessed_through_at_its_mean_rate() {
    let quota = Quota::calendar_window(100, Calendar::Month).unwrap();
    // 333,333 tries at 100 a month of 30.44 days.
    near(days(times(digits(6, 3), &[quota]).mean) / 365.2425, 277.7, 0.2);
}
