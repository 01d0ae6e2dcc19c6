//! Rates that are no whole number of microseconds a unit never drift.

use tidegate_algorithms::{Answer, Ask, Quota, Rate, Retry, Span, Timestamp};

use crate::play::World;

/// Asks at each instant a refusal names, for `horizon`, from a full bucket; returns what it got.
fn greedy(quota: Quota, cost: u32, horizon: Span) -> u64 {
    let mut world = World::new(quota, 1_700_000_000_000_000);
    let end = world.now.checked_add(horizon).unwrap();
    let mut units = 0;
    while world.now <= end {
        match world.ask(Ask::units(cost)).decision.answer {
            Answer::Admit { .. } => units += u64::from(cost),
            Answer::Refuse(Retry::After(wait)) => world.now = world.now.checked_add(wait).unwrap(),
            Answer::Refuse(Retry::Never) => panic!("never"),
        }
    }
    units
}

/// Libraries row B-16: an interval cut to 333,333 µs gains three units a million.
#[test]
fn three_a_second_for_a_million_seconds_is_three_million_and_the_burst() {
    let quota = Quota::token_bucket(4, Rate::new(3, Span::from_secs(1)).unwrap()).unwrap();
    let million = Span::from_secs(1_000_000);
    assert_eq!(greedy(quota, 1, million), 3_000_000 + 4);
    assert_eq!(quota.most_in_closed(million), 3_000_000 + 4);
    assert_eq!(greedy(quota, 2, million), 3_000_000 + 4);
    // Who takes all four at once finds the bucket full on the next whole microsecond, 2/3 of one late each time.
    assert_eq!(greedy(quota, 4, million), 4 + 4 * (1_000_000_000_000 / 1_333_334));
}

#[test]
fn a_queue_of_seven_a_minute_starts_seven_a_minute_for_a_year() {
    let quota = Quota::leaky_bucket(Rate::new(7, Span::from_secs(60)).unwrap(), 3).unwrap();
    let year = 365 * 86_400;
    assert_eq!(greedy(quota, 1, Span::from_secs(year)), year / 60 * 7 + 4);
    let mut world = World::new(quota, 0);
    world.now = Timestamp::from_micros(1_000_000).unwrap();
    // The fourth of four at once starts after three sevenths of a minute, rounded up.
    let delays = [0, 8_571_429, 17_142_858, 25_714_286];
    for delay in delays.map(Span::from_micros) {
        assert_eq!(world.ask(Ask::ONE).decision.answer, Answer::Admit { delay });
    }
}
