//! Who sends what in a phase, shared out to threads.

use crate::arrivals::Arrivals;
use crate::people::{Crowd, Keys, Who};
use crate::plan::{Plan, Shape};
use crate::worker::{Class, Stream};

/// New keys of a thread begin so far from those of the next.
const APART: u64 = 1 << 36;

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
        let crowd = Keys::Crowd(Crowd::new(users, plan.skew, seed, first_user));
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
            let first =
                plan.run.wrapping_add(number << 44).wrapping_add(u64::from(thread).wrapping_mul(APART));
            streams.push(flood(Keys::New(first), 2));
        }
        streams
    }
}

/// Returns the part of a thread in something; at least one.
fn part(of: u32, thread: u32, threads: u32) -> u32 {
    (of / threads + u32::from(thread < of % threads)).max(1)
}
