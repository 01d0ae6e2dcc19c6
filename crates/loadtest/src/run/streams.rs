//! Who sends what in a phase, shared out to threads.

use crate::arrivals::Arrivals;
use crate::people::{Crowd, Keys, Who};
use crate::plan::{Plan, Shape};
use crate::worker::{Class, Stream};

/// New keys of a phase begin so far from those of the next, in bits.
const APART: u32 = 44;

/// The traffic of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traffic {
    /// The rate of users; `None` for a closed loop.
    pub(crate) rate: Option<f64>,
    /// Whether one key is hammered, and keys come that nobody has seen.
    one_key: bool,
    new_keys: bool,
    flood_rate: f64,
}

impl Traffic {
    /// Users alone.
    pub(crate) fn users(rate: Option<f64>) -> Self {
        Self { rate, one_key: false, new_keys: false, flood_rate: 0.0 }
    }

    /// The same with the flood of a shape, which sends so many requests a second in an open loop.
    pub(crate) fn with_flood(self, shape: Shape, flood_rate: f64) -> Self {
        let one_key = matches!(shape, Shape::OneKeyFlood | Shape::Mix);
        let new_keys = matches!(shape, Shape::ManyKeyFlood | Shape::Mix);
        Self { one_key, new_keys, flood_rate, ..self }
    }

    /// Returns how many floods there are.
    pub(crate) fn floods(&self) -> u32 {
        u32::from(self.one_key) + u32::from(self.new_keys)
    }

    /// Returns what one of so many threads sends in the `number`-th phase.
    pub(crate) fn of_thread(&self, plan: &Plan, (thread, threads): (u32, u32), number: u64) -> Vec<Stream> {
        let seed = plan.seed.wrapping_add(number << 32).wrapping_add(u64::from(thread) << 8);
        let rate = |rate: f64, salt: u64| {
            self.rate.map(|_| {
                let offset = (f64::from(thread) + 0.5) / f64::from(threads);
                Arrivals::new(plan.schedule, rate / f64::from(threads), seed.wrapping_add(salt), offset)
            })
        };
        let is_by_user = plan.target.by_address();
        let connections = part(plan.connections, thread, threads);
        // With an address each, a connection is a user, and threads have each their own.
        let first_user: u32 =
            if is_by_user { (0..thread).map(|one| part(plan.connections, one, threads)).sum() } else { 0 };
        let users = if is_by_user { connections } else { plan.users };
        let crowd = Keys::Crowd(Crowd::new(users, plan.skew, seed.wrapping_add(3), first_user));
        let mut streams = vec![Stream {
            class: Class::Others,
            keys: crowd,
            arrivals: rate(self.rate.unwrap_or_default(), 0),
            connections,
            first_user,
            is_by_user,
        }];
        let each = self.flood_rate / f64::from(self.floods().max(1));
        let flood = |keys: Keys, salt: u64| Stream {
            class: Class::Flood,
            keys,
            arrivals: rate(each, salt),
            connections: connections.div_ceil(self.floods().max(1)),
            first_user: 0,
            is_by_user: false,
        };
        if self.one_key {
            streams.push(flood(Keys::One(Who::Flood), 1));
        }
        if self.new_keys {
            // Addresses are told apart by their last bits: far from each other, threads would meet in them.
            let next = plan.run.wrapping_add(number << APART).wrapping_add(thread.into());
            streams.push(flood(Keys::New { next, step: threads.into() }, 2));
        }
        streams
    }
}

/// Returns the part of a thread in something; at least one.
fn part(of: u32, thread: u32, threads: u32) -> u32 {
    (of / threads + u32::from(thread < of % threads)).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::plan::sample;

    /// Guards against a flood of ever-new keys in which threads use each other's: a limiter then meets each of them several times.
    #[test]
    fn keys_that_come_once_are_new_whatever_thread_sends_them_and_so_are_their_addresses() {
        let plan = sample(Shape::ManyKeyFlood);
        let traffic = Traffic::users(None).with_flood(Shape::ManyKeyFlood, 0.0);
        let threads = 4;
        let (mut names, mut addresses, mut sources) = (HashSet::new(), HashSet::new(), HashSet::new());
        for thread in 0..threads {
            let mut streams = traffic.of_thread(&plan, (thread, threads), 2);
            let mut keys = streams.pop().unwrap().keys;
            for _ in 0..30_000 {
                let who = keys.next();
                assert!(matches!(who, Who::New(_)) && names.insert(who), "{who}");
                assert!(addresses.insert(who.address()) && sources.insert(who.source()), "{who}");
            }
        }
    }
}
