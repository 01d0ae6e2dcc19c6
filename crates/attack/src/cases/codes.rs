//! What codes are worth: how even their generators are, how codes that overlap add up, and how many tries a year are borne.

use rand::{RngExt, SeedableRng};

use super::figure::{Figure, Unit};
use super::played::{Fault, bucket, digits, float, log, wide};
use super::{Case, Figures};
use crate::act::Chance;
use tidegate_algorithms::Quota;
use tidegate_review::{Allowance, Guess, YEAR};

pub(super) const CASES: [Case; 6] = [
    Case {
        id: "rfc-4226-bias",
        what: "A code of six digits made of 31 bits by a remainder, and somebody who tries one of the likelier codes.",
        source: "RFC 4226, appendix A",
        published: "2148 / 2^31, that is 1.000240 in a million a try",
        unconfirmed: None,
        says: "A remainder costs a four-thousandth of the strength.",
        figures: bias,
    },
    Case {
        id: "codes-from-100000",
        what: "A code of six digits that never begins with a zero, as 100000 + random · 900000 gives it.",
        source: "generators in use; no one page",
        published: "no figure",
        unconfirmed: None,
        says: "A tenth of the space is gone.",
        figures: leading_digit,
    },
    Case {
        id: "overlapping-codes",
        what: "Four digits, a new code each step, valid one step early and late; somebody who never tries one twice while it \
               may be valid.",
        source: "w4ke.info/2025/01/26/totp-brute.html and jonaslieb.de/blog/totp-brute-force treat it exactly",
        published: "no figure for four digits",
        unconfirmed: None,
        says: "Three valid codes at once are three chances a try, however many are tried a step.",
        figures: overlapping,
    },
    Case {
        id: "pypi-drift-error",
        what: "A service that says of a code two to ten steps away that it is out of step: nine more codes that tell when to \
               come back.",
        source: "github.com/pypi/warehouse, warehouse/utils/otp.py",
        published: "no figure",
        unconfirmed: Some("that the client can see the difference"),
        says: "Twelve codes answer instead of three.",
        figures: drift,
    },
    Case {
        id: "one-percent-a-year",
        what: "Six digits, and a chance of at most 1 % a year for somebody who holds the password.",
        source: "from the chances alone",
        published: "no figure",
        unconfirmed: None,
        says: "Nine tries a day with three right codes; what lets through five in thirty seconds needs ten digits.",
        figures: one_percent,
    },
    Case {
        id: "three-strikes-2007",
        what: "A password of twenty bits, three tries a day, for ten years.",
        source: "Florêncio, Herley and Coskun, 2007",
        published: "twenty bits are enough under three strikes",
        unconfirmed: None,
        says: "1.04 % of the space is tried.",
        figures: three_strikes,
    },
];

#[expect(clippy::unnecessary_wraps, reason = "all cases have one shape")]
fn bias() -> Figures {
    let (all, codes) = (1_u64 << 31, 1_000_000);
    let likelier = all.div_ceil(codes);
    let chance = float(likelier) / float(all);
    Ok(vec![
        Figure::computed("ways to the likeliest code", Unit::Count, float(likelier)).published(2_148.0, 0),
        Figure::computed("its chance, in a million", Unit::Count, chance * 1e6).published(1.000_240, 6),
    ])
}

fn leading_digit() -> Figures {
    let more = Guess::new(900_000, 1, 1)?.chance_of_one() / digits(6, 1)?.chance_of_one() - 1.0;
    Ok(vec![Figure::computed("a try hits more often by", Unit::Percent, 100.0 * more).known(11.0, 0)])
}

/// Returns the mean number of tries to a hit at codes of four digits, of which each is valid for three steps, with so many
/// tries a step that go through the codes in order.
fn tries_to_hit(a_step: u64, runs: u32) -> f64 {
    const SPACE: u64 = 10_000;
    let mut chance = Chance::seed_from_u64(a_step);
    let mut total = 0_u64;
    for _ in 0..runs {
        let mut valid: [u64; 3] = [0; 3].map(|_: u64| chance.random_range(0..SPACE));
        let (mut next, mut made) = (chance.random_range(0..SPACE), 0_u64);
        let hit = loop {
            // How many tries it is from the next one to each valid code.
            let nearest = valid.iter().map(|code| (code + SPACE - next) % SPACE).min().unwrap_or(SPACE);
            if nearest < a_step {
                break nearest + 1;
            }
            made = made.saturating_add(a_step);
            next = (next + a_step) % SPACE;
            valid = [valid[1], valid[2], chance.random_range(0..SPACE)];
        };
        total = total.saturating_add(made).saturating_add(hit);
    }
    float(total) / f64::from(runs)
}

fn overlapping() -> Figures {
    let law = digits(4, 3)?.mean_tries();
    let of = |name, (a_step, runs): (u64, u32), known| {
        // Three standard deviations of the difference of two means, the known one of 3,000 runs.
        let within = 3.0 * law * (f64::from(runs).recip() + 3_000.0_f64.recip()).sqrt();
        Figure::simulated(name, Unit::Count, tries_to_hit(a_step, runs)).known_about(known, 0, within)
    };

    Ok(vec![
        Figure::computed("mean tries by the law of three chances a try", Unit::Count, law).known(3_333.0, 0),
        of("mean tries, one a step", (1, 1_000), 3_270.0),
        of("mean tries, five a step", (5, 3_000), 3_284.0),
        of("mean tries, fifty a step", (50, 3_000), 3_373.0),
        Figure::computed("95 of 100 by", Unit::Count, wide(digits(4, 3)?.tries_for(0.95)))
            .known_about(9_986.0, 0, 2.0),
    ])
}

fn drift() -> Figures {
    let faster = digits(6, 3)?.mean_tries() / digits(6, 12)?.mean_tries();
    Ok(vec![Figure::computed("times faster", Unit::Times, faster).known(4.0, 6)])
}

fn one_percent() -> Figures {
    let three = digits(6, 3)?;
    let needed = |quota: Quota| -> Result<f64, Fault> {
        let a_year = Allowance::of(&[quota]).from_idle(YEAR);
        Ok(f64::from(three.length_for(a_year, 0.01).ok_or("no length is enough")?))
    };
    Ok(vec![
        Figure::computed("tries a year", Unit::Count, wide(three.most_tries(0.01))).known(3_350.0, 0),
        Figure::computed("tries a day", Unit::Count, three.tries_at(0.01) / 365.0).known(9.2, 1),
        Figure::computed(
            "tries a day with one right code",
            Unit::Count,
            digits(6, 1)?.tries_at(0.01) / 365.0,
        )
        .known(27.5, 1),
        Figure::computed("digits for five in thirty seconds", Unit::Count, needed(log(5, 30)?)?)
            .known(10.0, 0),
        Figure::computed("digits for one in ten seconds", Unit::Count, needed(bucket(4, 1, 10)?)?)
            .known(9.0, 0),
    ])
}

fn three_strikes() -> Figures {
    // Ten years have two or three leap days.
    let tries = log(3, 86_400)?.most_in_half_open(super::played::secs(3_652 * 86_400));
    let chance = Guess::new(2, 20, 1)?.chance_without_repeats(tries);
    Ok(vec![
        Figure::computed("tries in ten years", Unit::Count, wide(tries)).known(10_956.0, 0),
        Figure::computed("chance", Unit::Percent, 100.0 * chance).known(1.04, 2),
    ])
}
