//! What it takes to keep somebody out, and what a lock that doubles comes to.

use super::figure::{Figure, Unit};
use super::played::{Evenly, Fault, SECOND, bucket, digits, float, play, seated, secs};
use super::{Case, Figures};
use crate::act::Seat;
use crate::adversary::{Aim, VICTIM};
use crate::people::People;
use crate::target::Bare;
use std::sync::Arc;

use tidegate_algorithms::Span;

pub(super) const CASES: [Case; 2] = [
    Case {
        id: "lockout-in-step",
        what: "A bucket of four and one per ten seconds by account, a victim who comes once in two minutes at random, and a \
               stranger who asks about him at a steady pace.",
        source: "from simulations alone",
        published: "no figure",
        unconfirmed: None,
        says: "Six requests a minute deny nearly everything if they keep in step with the refill, and a tenth if each is up \
               to a second late; a request a second needs no step.",
        figures: in_step,
    },
    Case {
        id: "wordpress-510",
        what: "A wait of five seconds after a failure that doubles up to an hour, at six digits, three right at once.",
        source: "github.com/WordPress/two-factor/pull/510",
        published: "a cap of fifteen minutes would do",
        unconfirmed: None,
        says: "The cap sets the risk of a year, not the doubling.",
        figures: doubling,
    },
];

/// Returns the share of the victim's tries that are refused, in percent.
fn denied(every: Span, late: Span, seconds: u64, seed: u64) -> Result<f64, Fault> {
    let play = play(Span::ZERO, secs(seconds));
    let victim = People {
        count: 1,
        first: VICTIM,
        every: secs(120),
        typo: 0.0,
        tries: 1,
        think: secs(5),
        share: 1,
        start: play.start,
        end: play.end(),
    };
    let mut seats = vec![Seat::adversary(Evenly { late, ..Evenly::from(&play, every) })];
    seats.extend(victim.seats());
    let quota = bucket(4, 1, 10)?;
    Ok(seated(Arc::new(Bare::of(quota)), &Aim::at(quota), &play, seats, seed)?.percent_denied())
}

fn in_step() -> Figures {
    let percent = |name, share| Figure::simulated(name, Unit::Percent, share);
    // Now and then a run falls into step by chance and stays there for days: the middle one of several says what is usual.
    let mut late =
        (1..=7).map(|seed| denied(secs(10), SECOND, 150_000, seed)).collect::<Result<Vec<_>, _>>()?;
    late.sort_by(f64::total_cmp);

    Ok(vec![
        // The bucket is full at first, and the victim gets the three units that one a period leaves of it.
        percent("every ten seconds, in step", denied(secs(10), Span::ZERO, 400_000, 1)?)
            .known_about(99.9, 1, 0.1),
        percent(
            "every ten seconds, up to a second late, the middle of seven runs",
            late.get(3).copied().unwrap_or(0.0),
        )
        .known_about(9.0, 0, 1.5),
        percent("every five seconds, in step", denied(secs(5), Span::ZERO, 100_000, 1)?)
            .known_about(100.0, 0, 0.5),
        percent("every second, up to a second late", denied(SECOND, SECOND, 40_000, 1)?)
            .known_about(95.0, 0, 2.5),
    ])
}

/// Returns how many tries can be made within a time, each after a wait that doubles from a first one to a cap.
fn tries(within: u64, first: u64, cap: u64) -> u64 {
    let (mut at, mut wait, mut made) = (0_u64, first, 0_u64);

    while at < within {
        made = made.saturating_add(1);
        at = at.saturating_add(wait);
        wait = wait.saturating_mul(2).min(cap);
    }
    made
}

fn doubling() -> Figures {
    // A year of 365.25 days.
    const YEAR: u64 = 31_557_600;

    let code = digits(6, 3)?;
    let chance = |cap: u64| 100.0 * code.chance_of(tries(YEAR, 5, cap).into());
    let count = |name, within, cap| Figure::computed(name, Unit::Count, float(tries(within, 5, cap)));
    Ok(vec![
        count("tries on the first day", 86_400, 3_600).known(33.0, 0),
        count("tries in a year", YEAR, 3_600).known(8_775.0, 0),
        Figure::computed("chance in a year", Unit::Percent, chance(3_600)).known(2.6, 1),
        count("tries in a year, with a cap of fifteen minutes", YEAR, 900).known_about(35_000.0, 0, 100.0),
        Figure::computed("chance in a year, with a cap of fifteen minutes", Unit::Percent, chance(900))
            .known(10.0, 0),
        Figure::computed(
            "tries in a year, from one second on with no cap",
            Unit::Count,
            float(tries(YEAR, 1, u64::MAX)),
        )
        .known(25.0, 0),
    ])
}
