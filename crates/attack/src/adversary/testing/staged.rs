//! What the tests of adversaries of the world share: an attack as the bench plays it, in a world of that shape.

use std::sync::Arc;

use super::super::{Adversary, Aim, Beside, Exposed, Guard, Play};
use super::paged;
use crate::measure::Measured;
use crate::simulate::{Course, Event, simulate};
use crate::stage::Stage;
use crate::target::{Bare, Target};
use crate::world::World;

/// Plays an adversary at one quota in the world that he aims at, and returns all that happened.
pub(crate) fn events(adversary: &dyn Adversary, aim: &Aim, play: &Play) -> Vec<Event> {
    let mut world = World::new(bare(aim), aim.setting).unwrap();
    let course = Course { until: play.end(), most_requests: 2_000_000, seed: 1 };
    let (seats, incidents) = (adversary.seats(aim, play), adversary.incidents(aim, play));
    let mut events = Vec::new();
    simulate(&mut world, seats, incidents, course, &mut |event| events.push(*event));
    events
}

/// Returns how many of the adversary's requests passed that carried a guess.
pub(crate) fn admitted(adversary: &dyn Adversary, aim: &Aim, play: &Play) -> usize {
    let events = events(adversary, aim, play);
    events.iter().filter(|event| event.admitted && event.guesses > 0).count()
}

/// Plays it and measures it, as the bench does.
pub(crate) fn measured(adversary: &dyn Adversary, aim: &Aim, play: &Play) -> Measured {
    Stage::new(bare(aim), 1, None).play(adversary, aim, play).unwrap()
}

/// Plays it and returns the mistake that it shows.
pub(crate) fn exposed(adversary: &dyn Adversary, aim: &Aim, play: &Play) -> Option<Exposed> {
    let attack = measured(adversary, aim, play);
    paged(adversary.exposes(aim, &Beside { alone: &Measured::default(), attack: &attack, play }))
}

fn bare(aim: &Aim) -> Arc<dyn Target> {
    let limit = |guard: &Guard| {
        tidegate::Limit::new(guard.name.clone(), guard.quota)
            .with_cost(guard.cost)
            .with_store_failure(guard.on_store_failure)
    };
    Arc::new(Bare::limits(aim.guards.iter().map(limit)))
}
