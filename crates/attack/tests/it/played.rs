//! Attacks on limits with nothing around them, and what passed, counted naively.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate::{Limit, Quota};
use tidegate_algorithms::{Span, Timestamp};
use tidegate_attack::act::Role;
use tidegate_attack::adversary::{Adversary, Aim, Guard, Means, Play};
use tidegate_attack::simulate::{Course, Event, simulate};
use tidegate_attack::target::Bare;
use tidegate_attack::world::World;

/// The first instant of a Monday.
pub(crate) const MONDAY: u64 = 1_795_996_800_000_000;

/// Limits that every request has to pass, each with the units that a request takes.
#[derive(Debug, Clone)]
pub(crate) struct Limits(pub(crate) Vec<(Quota, u32)>);

impl Limits {
    /// Returns what an adversary knows of them.
    pub(crate) fn aim(&self, focus: usize) -> Aim {
        let mut aim = Aim::at(self.0[focus].0);
        let guard = aim.guards[0].clone();
        let guards = self.0.iter().enumerate().map(|(index, (quota, cost))| {
            let name = format!("limit-{index}");
            Guard { name, quota: *quota, cost: *cost, ..guard.clone() }
        });
        aim.guards = guards.collect();
        aim.focus = focus;
        aim
    }

    pub(crate) fn bare(&self) -> Bare {
        let limits = self.0.iter().enumerate();
        let limit = |(index, (quota, cost)): (usize, &(Quota, u32))| {
            Limit::new(format!("limit-{index}"), *quota).with_cost(*cost)
        };
        Bare::limits(limits.map(limit))
    }

    /// Returns the smallest of the limits' bounds, in requests.
    pub(crate) fn most(&self, bound: impl Fn(&Quota) -> u128) -> u128 {
        self.0.iter().map(|(quota, cost)| bound(quota) / u128::from(*cost)).min().unwrap()
    }
}

/// A play without jitter.
pub(crate) fn play(start: u64, length: u64) -> Play {
    let start = Timestamp::from_micros(start).unwrap();
    Play { start, length: Span::from_micros(length), jitter: Span::ZERO, means: Means::default() }
}

/// How a course of events is bounded.
pub(crate) struct Chosen {
    pub(crate) seed: u64,
    pub(crate) most_requests: u64,
}

/// Plays an adversary, tells `sink` of every request, and returns the world as it is then.
pub(crate) fn events(
    (adversary, limits, focus): (&dyn Adversary, &Limits, usize),
    play: &Play,
    chosen: &Chosen,
    sink: &mut dyn FnMut(&Event),
) -> World {
    let aim = limits.aim(focus);
    let mut world = World::new(Arc::new(limits.bare()), aim.setting).unwrap();
    let course = Course { until: play.end(), most_requests: chosen.most_requests, seed: chosen.seed };
    let (seats, incidents) = (adversary.seats(&aim, play), adversary.incidents(&aim, play));
    simulate(&mut world, seats, incidents, course, sink);
    world
}

/// The instants at which requests of the adversary passed by the limits, by whom they were about.
#[derive(Debug, Default)]
pub(crate) struct Passed(pub(crate) BTreeMap<u32, Vec<u64>>);

impl Passed {
    pub(crate) fn event(&mut self, event: &Event) {
        if event.role == Role::Adversary && event.admitted && !event.degraded {
            self.0.entry(event.who.subject).or_default().push(event.at.as_micros());
        }
    }
}

/// Returns the most instants, of some in ascending order, that lie in a half-open span.
pub(crate) fn peak(instants: &[u64], span: u64) -> u128 {
    let mut from = 0;
    let held = instants.iter().enumerate().map(|(index, at)| {
        while from <= index && instants[from] + span <= *at {
            from += 1;
        }
        index + 1 - from
    });
    u128::try_from(held.max().unwrap_or(0)).unwrap()
}

/// Returns how many lie within a closed span from the first.
pub(crate) fn first(instants: &[u64], span: u64) -> u128 {
    let within = instants.iter().take_while(|at| **at - instants[0] <= span).count();
    u128::try_from(within).unwrap()
}
