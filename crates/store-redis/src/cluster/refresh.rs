//! Asking for the map of slots.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Cluster;
use super::slots::{Node, Slots};
use crate::link::Pause;

/// The map is not asked for more often than this.
const LEAST_AGE: Duration = Duration::from_millis(50);
/// A lane to a node that the map does not name is kept for so long after somebody was redirected to it.
const KEPT: Duration = Duration::from_secs(30);

/// When the map may be asked for again.
#[derive(Debug, Default)]
pub(super) struct Refreshing {
    not_before: Option<Instant>,
    pause: Pause,
}

impl Cluster {
    /// Asks for the map in the background, the node that failed last of all.
    pub(super) fn refresh_soon(&self, failed: Option<Node>) {
        let cluster = self.clone();
        let deadline = Instant::now() + self.0.lane_options.timeout.max(Duration::from_secs(1));
        tokio::spawn(async move { cluster.refresh(deadline, failed.as_ref()).await });
    }

    /// Asks for the map, one at a time: those who waited for another's attempt do with what it found, also if it found
    /// nobody. Then all wait for a pause that grows.
    pub(super) async fn refresh(&self, deadline: Instant, failed: Option<&Node>) {
        let Ok(mut refreshing) = tokio::time::timeout_at(deadline, self.0.refreshing.lock()).await else {
            return;
        };
        if refreshing.not_before.is_some_and(|then| Instant::now() < then) {
            return;
        }
        let found = self.first_map(deadline, failed).await;
        let pause = match found {
            Some(slots) => {
                self.retain(&slots);
                *self.0.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(slots);
                refreshing.pause = Pause::default();
                LEAST_AGE
            }
            None => refreshing.pause.next(),
        };
        refreshing.not_before = Some(Instant::now() + pause);
    }

    /// Asks one node after the other, each for its share of the time that is left: one that hangs is not the only one.
    async fn first_map(&self, deadline: Instant, failed: Option<&Node>) -> Option<Slots> {
        let map = self.map();
        let mut nodes = map.nodes();
        for seed in &self.0.seeds {
            if !nodes.contains(&seed) {
                nodes.push(seed);
            }
        }
        nodes.sort_by_key(|node| failed == Some(*node));
        let mut left = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        for node in nodes {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now) / left.max(1);
            left = left.saturating_sub(1);
            if let Ok(Some(slots)) = tokio::time::timeout_at(now + share, self.slots_of(node)).await {
                return Some(slots);
            }
        }
        None
    }

    async fn slots_of(&self, node: &Node) -> Option<Slots> {
        let lane = self.lane(node);
        let live = lane.link().live().await.ok()?;
        let mut connection = live.connection.clone();
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let answer = connection.send_packed_command(&question).await;
        let slots = Slots::read(&answer.ok()?, &node.0)?;
        (!slots.nodes().is_empty()).then_some(slots)
    }

    /// Closes the lanes to nodes that are neither primaries nor seeds, nor were just redirected to.
    fn retain(&self, slots: &Slots) {
        let nodes = slots.nodes();
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|node, kept| {
            let is_new = kept.redirected.is_some_and(|then| then.elapsed() < KEPT);
            is_new || nodes.contains(&node) || self.0.seeds.contains(node)
        });
    }
}
