//! Policies that somebody has published with the time that a blind guess takes under them.

use super::figure::{Figure, Unit};
use super::played::{Fault, at_quota, bucket, digits, float, in_unit, log, play, rounds, secs, times, wide};
use super::{Case, Figures};
use crate::adversary::Aim;
use tidegate_algorithms::{Quota, Span};
use tidegate_review::{Allowance, DAY, YEAR};

pub(super) const CASES: [Case; 12] = [
    Case {
        id: "rubygems-2019",
        what: "A hundred codes in thirty seconds at the worst, one of them right, then 400 in ten thousand minutes.",
        source: "github.com/rubygems/rubygems.org/pull/2078",
        published: "1 in 10,000 a window, 6,932 windows for half, 33 years",
        unconfirmed: None,
        says: "Holds for one right code and one address.",
        figures: rubygems_2019,
    },
    Case {
        id: "rubygems-2020",
        what: "600 codes in 25 hours, one of them right.",
        source: "github.com/rubygems/rubygems.org/pull/2330",
        published: "b(1) = 0.3489 and P = 0.50748 at 1,180 trials, 3.3 years",
        unconfirmed: None,
        says: "Holds to the digit for one right code and one address; with three right codes it is 401 days.",
        figures: rubygems_2020,
    },
    Case {
        id: "pypi-2020",
        what: "Ten codes in five minutes and account, three of them right at once.",
        source: "github.com/pypi/warehouse/issues/8456",
        published: "more than 50 % in three months",
        unconfirmed: None,
        says: "80 days for half.",
        figures: pypi_2020,
    },
    Case {
        id: "pypi-2025",
        what: "50 an hour instead of 120, by address; by account 5 in five minutes, 20 an hour and 50 a day.",
        source: "github.com/pypi/warehouse/pull/18584",
        published: "2.4 times slower, seven months",
        unconfirmed: None,
        says: "So by address. By account it is 57.6 times slower, and 12.7 years.",
        figures: pypi_2025,
    },
    Case {
        id: "pypi-three",
        what: "Three codes in five minutes instead of ten; or ten a year.",
        source: "github.com/pypi/warehouse/issues/8456, comments",
        published: "three to five times slower, nine to fifteen months",
        unconfirmed: None,
        says: "3.3 times and nine months; ten a year would be twenty-three thousand years.",
        figures: pypi_three,
    },
    Case {
        id: "security-se-185905",
        what: "A hundred codes a second, or one in five seconds, one of them right.",
        source: "security.stackexchange.com/questions/185905",
        published: "230.7 windows, some two hours; 40 days",
        unconfirmed: None,
        says: "With three right codes the forty days are thirteen.",
        figures: security_se,
    },
    Case {
        id: "adminx-core",
        what: "Five codes in fifteen minutes out of a million.",
        source: "docs.rs/adminx-core/3.1.0",
        published: "roughly 5,000 years",
        unconfirmed: None,
        says: "Less than six years, and less than two with three right codes.",
        figures: adminx,
    },
    Case {
        id: "pin-lab",
        what: "Ten thousand numbers at five in thirty seconds.",
        source: "a lab page; its address was not kept",
        published: "more than 16 hours for all of them",
        unconfirmed: None,
        says: "16.67 hours; the last five begin a window earlier.",
        figures: pin_lab,
    },
    Case {
        id: "math-se-4625219",
        what: "Three tries a code and ten codes an hour.",
        source: "math.stackexchange.com/questions/4625219",
        published: "33,333 hours, 3.8 years",
        unconfirmed: None,
        says: "That is the time to make a million tries; new codes are never exhausted, and half succeed after 2.64 years.",
        figures: math_se,
    },
    Case {
        id: "ralscha-5",
        what: "Ten codes a second, five of them right at once.",
        source: "github.com/ralscha/blog2019/issues/5",
        published: "less than six hours",
        unconfirmed: None,
        says: "200,000 tries in the mean.",
        figures: ralscha,
    },
    Case {
        id: "ubicloud-unlock",
        what: "An unlock by three right codes in a row, with fifteen minutes after each failure.",
        source: "github.com, ubicloud commit 24afad3",
        published: "96 tries a day, each with a chance of 1 in 10^18",
        unconfirmed: None,
        says: "As a lock of fifteen minutes after one attempt.",
        figures: ubicloud,
    },
    Case {
        id: "hundred-failures",
        what: "A hundred failures in a row, and then no more, as NIST 800-63B has it.",
        source: "github.com/archiecobbs/mod-authn-otp/issues/54",
        published: "1 in 10,000",
        unconfirmed: None,
        says: "For one right code; three times as much for three.",
        figures: hundred,
    },
];

fn days(seconds: Option<f64>) -> f64 {
    in_unit(seconds, Unit::Days)
}

fn years(seconds: Option<f64>) -> f64 {
    in_unit(seconds, Unit::Years)
}

/// Returns the days by which half of all blind guesses have succeeded, with so many right codes of six digits.
pub(super) fn half(valid: u32, quotas: &[Quota]) -> Result<f64, Fault> {
    Ok(days(times(&digits(6, valid)?, quotas).p50))
}

fn rubygems_2019() -> Figures {
    let hundred = digits(6, 1)?.chance_of(100);
    let window = digits(4, 1)?;
    let half = window.tries_for(0.5);
    // Four windows' worth in ten thousand minutes, as good as a week.
    let all = wide(half) / 4.0 * 7.0 * 86_400.0;
    Ok(vec![
        Figure::computed("chance a window", Unit::Percent, 100.0 * hundred)
            .published(0.01, 4)
            .known(0.009_999_5, 7),
        Figure::computed("windows for half", Unit::Count, wide(half)).published(6_932.0, 0),
        Figure::computed("windows for half, unrounded", Unit::Count, window.tries_at(0.5)).known(6_931.1, 1),
        Figure::computed("after 6,932 windows", Unit::Percent, 100.0 * window.chance_of(6_932))
            .published_at_least(50.0)
            .known(50.004, 3),
        Figure::computed("half by", Unit::Years, years(Some(all)))
            .published(33.0, 0)
            .known_about(33.2, 1, 0.06),
    ])
}

fn rubygems_2020() -> Figures {
    let window = digits(4, 6)?;
    let (trials, p) = (1_180_u32, window.chance_of_one());
    let exactly_one = f64::from(trials) * p * (f64::from(trials - 1) * (-p).ln_1p()).exp();
    let quota = log(600, 25 * 3_600)?;
    let all = f64::from(trials) * 25.0 * 3_600.0;
    Ok(vec![
        Figure::computed("chance of exactly one hit in 1,180 trials", Unit::Count, exactly_one)
            .published(0.3489, 4)
            .known(0.348_916, 6),
        Figure::computed("chance of a hit in 1,180 trials", Unit::Count, window.chance_of(trials.into()))
            .published(0.507_48, 5),
        Figure::computed("time of 1,180 trials", Unit::Years, years(Some(all)))
            .published_about(3.3, 0.1)
            .known(3.37, 2),
        Figure::computed("half by, with three right codes", Unit::Days, half(3, &[quota])?)
            .known_about(401.0, 0, 1.0),
        Figure::computed("half by, with ten addresses too", Unit::Days, half(3, &[log(6_000, 25 * 3_600)?])?)
            .known_about(40.0, 0, 1.0),
    ])
}

fn pypi_2020() -> Figures {
    let quota = log(10, 300)?;
    // Who asks as soon as something is free: what he sustains, and so how long it takes.
    let day = at_quota("refill", &Aim::at(quota), &play(secs(9), secs(86_400)))?;
    let tries = digits(6, 3)?.tries_at(0.5);
    let months = Span::from_micros(YEAR.as_micros() / 4);
    let within = digits(6, 3)?.chance_of(Allowance::of(&[quota]).from_idle(months));
    Ok(vec![
        Figure::computed("within three months", Unit::Percent, 100.0 * within).published_at_least(50.0),
        Figure::computed("half by", Unit::Days, half(3, &[quota])?).known(80.2, 1),
        Figure::simulated("half by, at the rate of a day", Unit::Days, tries / day.count()).known(80.2, 1),
        Figure::computed("half by, if two codes were right", Unit::Days, half(2, &[quota])?).known(120.0, 0),
        Figure::computed("half by, if one code were right", Unit::Days, half(1, &[quota])?).known(241.0, 0),
    ])
}

fn pypi_2025() -> Figures {
    let months = |quotas: &[Quota]| half(3, quotas).map(|days| days * 12.0 / 365.0);
    let slower = 120.0 / 50.0;
    let account = [log(5, 300)?, log(20, 3_600)?, log(50, 86_400)?];
    let a_day = Allowance::of(&account).long_run().map_or(0.0, |rate| f64::from(rate.units));
    Ok(vec![
        Figure::computed("times slower by address", Unit::Times, slower).published(2.4, 1),
        Figure::computed("half by, 50 an hour", Unit::Months, months(&[log(50, 3_600)?])?)
            .published_about(7.0, 1.0)
            .known(6.3, 1),
        Figure::computed("times slower by account", Unit::Times, 120.0 * 24.0 / a_day).known(57.6, 1),
        Figure::computed("half by, the limits by account", Unit::Years, half(3, &account)? / 365.0)
            .known_about(12.7, 1, 0.06),
    ])
}

fn pypi_three() -> Figures {
    let three = half(3, &[log(3, 300)?])?;
    Ok(vec![
        Figure::computed("times slower", Unit::Times, three / half(3, &[log(10, 300)?])?)
            .published_at_least(3.0)
            .known(3.3, 1),
        Figure::computed("half by", Unit::Months, three * 12.0 / 365.0).published(9.0, 0),
        Figure::computed("half by, ten a year", Unit::Years, half(3, &[log(10, 365 * 86_400)?])? / 365.0)
            .known_about(23_105.0, 0, 1.0),
    ])
}

fn security_se() -> Figures {
    let window = digits(6, 1)?.chance_without_repeats(3_000);
    let windows = rounds(0.5, window);
    let slow = bucket(1, 1, 5)?;
    Ok(vec![
        Figure::computed("windows of thirty seconds for half", Unit::Count, windows).published(230.7, 1),
        Figure::computed(
            "half by, at a hundred a second",
            Unit::Hours,
            in_unit(Some(windows * 30.0), Unit::Hours),
        )
        .published(2.0, 0)
        .known(1.92, 2),
        Figure::computed("half by, one in five seconds", Unit::Days, half(1, &[slow])?)
            .published(40.0, 0)
            .known(40.1, 1),
        Figure::computed("half by, with three right codes", Unit::Days, half(3, &[slow])?).known(13.4, 1),
    ])
}

fn adminx() -> Figures {
    let quota = [log(5, 900)?];
    let mean = |valid: u32| -> Result<f64, Fault> { Ok(years(times(&digits(6, valid)?, &quota).mean)) };
    Ok(vec![
        Figure::computed("mean", Unit::Years, mean(1)?)
            .published_about(5_000.0, 500.0)
            .wrongly()
            .known_about(5.7, 2, 0.01),
        Figure::computed("mean, with three right codes", Unit::Years, mean(3)?).known(1.9, 1),
    ])
}

fn pin_lab() -> Figures {
    let quota = log(5, 30)?;
    let all = Allowance::of(&[quota]).seconds_to(10_000);
    let rate = quota.long_run();
    let at_rate = 10_000.0 / f64::from(rate.units) * float(rate.micros) / 1e6;
    Ok(vec![
        Figure::computed(
            "all, at the rate of the long run",
            Unit::Hours,
            in_unit(Some(at_rate), Unit::Hours),
        )
        .published_at_least(16.0)
        .known(16.67, 2),
        Figure::computed("time to try all", Unit::Hours, in_unit(all, Unit::Hours))
            .published_at_least(16.0)
            .known_about(16.67, 2, 0.02),
    ])
}

fn math_se() -> Figures {
    let code = digits(6, 1)?;
    // Three tries at each of ten codes an hour.
    let hours = |tries: f64| tries / 30.0;
    let space = hours(wide(code.space()));
    Ok(vec![
        Figure::computed("a million tries", Unit::Hours, space).published(33_333.0, 0),
        Figure::computed("a million tries", Unit::Years, space / 8_766.0).published(3.8, 1).known(3.8, 2),
        Figure::computed("half by", Unit::Years, hours(code.tries_at(0.5)) / 8_760.0).known(2.64, 2),
    ])
}

fn ralscha() -> Figures {
    let code = digits(6, 5)?;
    let mean = times(&code, &[bucket(1, 10, 1)?]).mean;
    Ok(vec![
        Figure::computed("tries, mean", Unit::Count, code.mean_tries()).known(200_000.0, 0),
        Figure::computed("mean", Unit::Hours, in_unit(mean, Unit::Hours))
            .published_at_most(6.0)
            .known(5.56, 2),
    ])
}

fn ubicloud() -> Figures {
    let quota = Quota::lockout(1, secs(900), secs(900))?;
    let day = play(secs(9), DAY);
    let passed = at_quota("refill", &Aim::at(quota), &day)?;
    let chance = digits(6, 1)?.chance_of_one().powi(3);
    Ok(vec![
        Figure::simulated("tries a day", Unit::Count, passed.count()).published(96.0, 0),
        Figure::computed("chance of one, times 10^18", Unit::Count, chance * 1e18).published(1.0, 6),
    ])
}

fn hundred() -> Figures {
    let ten_thousand = |valid: u32| digits(6, valid).map(|code| code.chance_of(100) * 1e4);
    Ok(vec![
        Figure::computed("chance in 10,000", Unit::Count, ten_thousand(1)?).published(1.0, 3),
        Figure::computed("with three right codes", Unit::Count, ten_thousand(3)?).known(3.0, 1),
    ])
}
