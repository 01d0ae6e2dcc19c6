//! Keys that many share, filled by one of them.

use std::sync::Arc;

use tidegate::Limit;
use tidegate_algorithms::{Anchor, Quota};
use tidegate_policy::Class;

use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, EVERYONE, HOUR, log};
use super::super::testing::trial;
use super::super::{Need, OneAddress};
use super::*;
use crate::measure::Measured;
use crate::simulate::{Course, simulate};
use crate::stage::Stage;
use crate::target::KeyedLimits;
use crate::world::World;

fn play(seconds: u64) -> Play {
    trial::play(Span::ZERO, Span::from_secs(seconds))
}

/// Plays the poisoning of the first of some limits, and returns what it came to and what it shows.
fn poisoned(
    limits: &[(Quota, Keyed)],
    play: &Play,
    change: impl FnOnce(&mut Aim),
) -> (Measured, Option<Exposed>) {
    let names = ["shared", "beside"];
    let limits =
        names.into_iter().zip(limits).map(|(name, (quota, keyed))| (Limit::new(name, *quota), *keyed));
    let target = KeyedLimits::new(limits);
    let mut aim = target.aim(Class::Verify);
    change(&mut aim);
    assert!(SharedKey.fits(&aim));
    let attack = Stage::new(Arc::new(target), 1, None).play(&SharedKey, &aim, play).unwrap();
    let beside = Beside { alone: &Measured::default(), attack: &attack, play };
    let exposed = SharedKey.exposes(&aim, &beside);
    (attack, exposed)
}

/// S20, the whole site behind one address with five requests in ten minutes: five requests in ten minutes keep everybody
/// out. Guards against an adversary who needs more, or is late once.
#[test]
fn as_many_requests_as_one_client_may_make_shut_out_all_that_are_one_client() {
    let quota = Quota::fixed_window(5, Span::from_secs(600), Anchor::Clock).unwrap();
    let play = play(60_000);
    let one = |aim: &mut Aim| aim.one_address = Some(OneAddress::Loopback);
    let (attack, exposed) = poisoned(&[(quota, ADDRESS)], &play, one);
    assert_eq!(attack.requests, 5 * 100);
    let people = attack.people;
    assert!(people.people > 20 && people.denied == people.tries, "{people:?}");
    assert_eq!(people.shut_out, people.people);
    let exposed = exposed.unwrap();
    assert_eq!(exposed.finding, Some("loopback-is-one-client"));
    assert!(exposed.says.starts_with("all clients are one to shared: 100 % of "), "{}", exposed.says);
    assert!(exposed.says.contains("one client made 30 requests an hour"), "{}", exposed.says);
}

/// A limit for everyone together on an endpoint where people sign in: its own rate shuts all of them out, whatever limits
/// by account and by address stand beside it, and the bench says so with the figure.
#[test]
fn a_limit_for_everyone_where_people_sign_in_is_a_switch() {
    let limits = [(log(100, Span::from_secs(60)), EVERYONE), (log(5, HOUR), ACCOUNT)];
    let (attack, exposed) = poisoned(&limits, &play(3_600), |_| ());
    let share = attack.people.share_denied().unwrap();
    assert!(share > 0.99, "{share} {:?}", attack.people);
    assert!((6_000..6_300).contains(&attack.requests), "{}: that is its rate", attack.requests);
    let exposed = exposed.unwrap();
    assert_eq!(exposed.finding, None);
    assert!(exposed.says.starts_with("shared is one key for everybody: 100 % of "), "{}", exposed.says);
    let money = |aim: &mut Aim| aim.class = Class::Send;
    assert_eq!(
        poisoned(&limits, &play(600), money).1,
        None,
        "there it stops everybody for what messages cost"
    );
}

/// Guards against a switch that is missed where processes count apart, since one of them refuses what people took there, and
/// against one that is missed since it is of a day.
#[test]
fn a_switch_is_shown_where_processes_count_apart_and_over_a_day() {
    let four = |aim: &mut Aim| (aim.setting.instances, aim.setting.shared) = (4, false);
    let minute = Span::from_secs(60);
    let window = Quota::fixed_window(100, minute, Anchor::Clock).unwrap();
    for (limit, length, change) in
        [(window, 3_600, &four as &dyn Fn(&mut Aim)), (log(100, DAY), 86_400, &|_| ())]
    {
        let (attack, exposed) =
            poisoned(&[(limit, EVERYONE), (log(5, HOUR), ACCOUNT)], &play(length), change);
        let share = attack.people.share_denied().unwrap();
        assert!(share >= MOST_ARE_REFUSED, "{share} {:?}", attack.people);
        let says = exposed.map(|exposed| exposed.says).unwrap_or_default();
        assert!(says.starts_with("shared is one key for everybody: "), "{says}");
    }
}

/// Guards against a limit by address that is filled from elsewhere, or people elsewhere who are denied: the adversary shuts
/// out those behind his own address, and nobody else. Whose people are few is no mistake of the policy.
#[test]
fn who_shares_an_address_is_shut_out_and_nobody_else() {
    let target = KeyedLimits::new([(Limit::new("shared", log(30, HOUR)), ADDRESS)]);
    let aim = target.aim(Class::Login);
    let play = play(40_000);
    let mut seats = SharedKey.seats(&aim, &play);
    let behind = seats.len();
    seats.extend(People { first: 1_000, ..people(&aim, &play) }.seats());
    let mut world = World::new(Arc::new(target), aim.setting).unwrap();
    let course = Course { until: play.end(), most_requests: u64::MAX, seed: 1 };
    let mut denied = [(0, 0); 2];
    simulate(&mut world, seats, Vec::new(), course, &mut |event| {
        let (tries, refused) = &mut denied[usize::from(event.seat >= behind)];
        if event.seat > 0 {
            *tries += 1;
            *refused += i32::from(!event.admitted);
        }
    });
    let [behind_it, elsewhere] = denied;
    assert!(behind_it.0 > 30 && behind_it.1 == behind_it.0, "{denied:?}");
    assert!(elsewhere.0 > 20 && elsewhere.1 == 0, "{denied:?}");
    let (_, exposed) = poisoned(&[(log(30, HOUR), ADDRESS)], &play, |_| ());
    assert_eq!(exposed, None);
}

/// Guards against an attack on keys that only one person has.
#[test]
fn a_key_of_one_person_is_not_shared() {
    let fits = |keyed| {
        SharedKey
            .fits(&KeyedLimits::new([(Limit::new("l", log(5, Span::from_secs(60))), keyed)]).aim(Class::Api))
    };
    assert!(!fits(ACCOUNT) && !fits(Keyed { session: true, ..EVERYONE }));
    assert!(fits(EVERYONE) && fits(ADDRESS) && fits(Keyed { country: true, ..EVERYONE }));
    assert!(SharedKey.needs().contains(&Need::RetryAfter));
}
