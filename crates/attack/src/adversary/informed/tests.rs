use std::sync::Arc;

use tidegate_algorithms::Calendar;

use super::super::testing::trial::{Trial, bucket, counter, fixed, log, play, trial};
use super::super::{VICTIM, adversaries};
use super::*;
use crate::simulate::{Course, simulate};
use crate::target::Bare;
use crate::world::World;

/// Every algorithm, with numbers that are round and numbers that are not.
fn quotas() -> Vec<Quota> {
    let (secs, micros) = (Span::from_secs, Span::from_micros);
    let odd = Rate::new(3, secs(10)).unwrap();
    let all = [
        Ok(fixed(Anchor::Clock)),
        Quota::fixed_window(1, secs(7), Anchor::Clock),
        Quota::fixed_window(20, micros(1_234_567), Anchor::Clock),
        // Weeks begin on Mondays, and the clock's first day was a Thursday.
        Quota::calendar_window(3, Calendar::Week),
        Ok(fixed(Anchor::FirstHit)),
        Quota::fixed_window(3, micros(98_765), Anchor::FirstHit),
        Ok(log()),
        Quota::sliding_log(1, secs(5)),
        Ok(counter()),
        Quota::sliding_counter(3, micros(1_234_567)),
        Quota::sliding_counter(1, secs(6)),
        Ok(bucket()),
        Quota::token_bucket(3, odd),
        Quota::leaky_bucket(odd, 4),
        Quota::lockout(5, secs(30), secs(100)),
        Quota::lockout(4, secs(30), secs(20)),
    ];
    all.into_iter().map(Result::unwrap).collect()
}

/// How long one needs to learn a limit and then to attack in peace.
fn long(quota: &Quota) -> Span {
    let window = match quota {
        Quota::Lockout(lockout) => lockout.within().max(lockout.lock()),
        _ => quota.window(),
    };
    Span::from_micros(window.as_micros() * 16)
}

fn late(trial: &Trial, play: &Play) -> usize {
    let middle = play.start.as_micros() + play.length.as_micros() / 2;
    trial.admitted.iter().filter(|at| **at >= middle).count()
}

/// The value known of it: no less than any fixed strategy, in a window and in the long run. That means that it tells every
/// algorithm from the others, whatever the phase it begins at. (Retry without a plan finds no more than refill.)
#[test]
fn it_reaches_what_the_best_of_the_others_reaches() {
    for quota in quotas() {
        let aim = Aim::at(quota);
        for phase in [0, 17_777_777] {
            let play = play(Span::from_micros(phase), long(&quota));
            let informed = trial(&Informed, quota, &play);
            let names = ["boundary-straddler", "anchored-straddler", "weighted-straddler", "refill"];
            let others =
                adversaries().iter().filter(|other| names.contains(&other.name()) && other.fits(&aim));
            for other in others {
                let fixed = trial(*other, quota, &play);
                let window = quota.window();
                let (has, found) = (informed.peak(window), fixed.peak(window));
                assert!(
                    has >= found,
                    "{quota:?} at {phase}: {has} in a window, {} has {found}",
                    other.name()
                );
                // A burst more or less may fall into the half.
                let (has, found) = (late(&informed, &play), late(&fixed, &play));
                let most = 2 * usize::try_from(quota.nominal()).unwrap();
                assert!(
                    has + most >= found,
                    "{quota:?} at {phase}: {has} late, {} has {found}",
                    other.name()
                );
            }
        }
    }
}

/// A limit that is too long to be learnt in the time there is: he has to attack at some time, and asks the victim by then.
#[test]
fn what_cannot_be_learnt_in_time_is_asked_blindly() {
    let quota = Quota::sliding_log(3, Span::from_secs(86_400)).unwrap();
    let trial = trial(&Informed, quota, &play(Span::from_secs(5), Span::from_secs(3600)));
    assert_eq!(trial.admitted.len(), 3);
    assert!(trial.refused > 1_000, "{}", trial.refused);
}

/// With jitter nothing is seen to the microsecond; what he learns by it is wrong by the jitter, and he keeps away by that.
#[test]
fn jitter_blurs_what_he_learns_and_costs_him_little() {
    for quota in [fixed(Anchor::Clock), fixed(Anchor::FirstHit), counter(), log(), bucket()] {
        let play = Play { jitter: Span::from_millis(50), ..play(Span::from_secs(11), long(&quota)) };
        let peak = trial(&Informed, quota, &play).peak(quota.window());
        let most = usize::try_from(quota.most_in_half_open(quota.window())).unwrap();
        assert!(peak <= most && peak + 1 >= most, "{quota:?}: {peak} of {most}");
    }
}

/// Guards against probing that is taken for the attack: it would be held against the bound of one key.
#[test]
fn what_he_asks_to_learn_is_not_told_and_touches_nothing() {
    let (quota, play) = (log(), play(Span::ZERO, long(&log())));
    let aim = Aim::at(quota);
    let mut world = World::new(Arc::new(Bare::of(quota)), aim.setting).unwrap();
    let course = Course { until: play.end(), most_requests: u64::MAX, seed: 1 };
    let mut told = 0;
    let played = simulate(&mut world, Informed.seats(&aim, &play), Vec::new(), course, &mut |event| {
        assert_eq!(event.who.subject, VICTIM);
        told += 1;
    });
    assert!(told > 50 && played.requests > told + 1_000, "{told} of {}", played.requests);
    assert_eq!(world.exposure().touched().iter().map(|touched| touched.keys).sum::<u64>(), 1);
}
