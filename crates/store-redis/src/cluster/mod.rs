//! A cluster: a lane to each primary, and the way of a question to whoever has its slot.
//!
//! The library's own cluster client sends a question again when a connection breaks, which would charge twice; here only
//! what is known not to have run is sent again.

mod batch;
mod slots;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Failure, Kind};
use crate::lane::{Lane, LaneOptions, Together};
use crate::link::{Dialer, Link, Target};
use crate::measures::{Counters, Event};
use crate::op::{Answer, Op};
use slots::{Node, Slots};

/// A question is sent to so many nodes at most: a slot that moves is found with the second or third.
const MOST_HOPS: usize = 8;
/// How long to wait while the keys of a slot are on two nodes.
const WHILE_MOVING: Duration = Duration::from_millis(2);
/// The map is not asked for more often than this.
const LEAST_AGE: Duration = Duration::from_millis(50);

/// The way to a cluster. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Cluster(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    seeds: Vec<Node>,
    dialer: Dialer,
    lane_options: LaneOptions,
    counters: Arc<Counters>,
    map: RwLock<Arc<Slots>>,
    lanes: Mutex<HashMap<Node, Lane>>,
    /// When the map was last asked for; held while it is.
    refreshed: tokio::sync::Mutex<Option<Instant>>,
}

impl Cluster {
    /// Begins with the seeds, and learns the map as soon as one of them answers. The dialer's own target is not looked at.
    pub(crate) fn open(
        seeds: Vec<Node>,
        dialer: Dialer,
        lane_options: LaneOptions,
        counters: Arc<Counters>,
    ) -> Self {
        let inner = Inner {
            seeds,
            dialer,
            lane_options,
            counters,
            map: RwLock::default(),
            lanes: Mutex::default(),
            refreshed: tokio::sync::Mutex::default(),
        };
        let cluster = Self(Arc::new(inner));
        cluster.refresh_soon();
        cluster
    }

    /// Asks the node that has a slot.
    async fn ask_slot(
        &self,
        slot: u16,
        op: &Op,
        together: Together,
        deadline: Instant,
    ) -> Result<Answer, Failure> {
        let mut together = Together { slot, asking: false, ..together };
        let mut node = self.node(slot, deadline).await?;
        for _ in 1..MOST_HOPS {
            let failure = match self.lane(&node).ask(op.clone(), together, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match &failure.kind {
                Kind::Moved { host, port } => {
                    self.0.counters.happened(Event::Redirected, 1);
                    self.refresh_soon();
                    node = named(host, *port, &node);
                    together.asking = false;
                }
                Kind::Ask { host, port } => {
                    self.0.counters.happened(Event::Redirected, 1);
                    node = named(host, *port, &node);
                    together.asking = true;
                }
                Kind::TryAgain if Instant::now() + WHILE_MOVING < deadline => {
                    tokio::time::sleep(WHILE_MOVING).await;
                }
                // Nothing was sent, or nothing ran: another node may have the slot by now.
                Kind::Unreachable | Kind::ReadOnly if Instant::now() < deadline => {
                    self.refresh(deadline).await;
                    match self.known(slot) {
                        Some(other) if other != node => node = other,
                        _ => return Err(failure),
                    }
                }
                _ => {
                    self.refresh_soon();
                    return Err(failure);
                }
            }
        }
        Err(Failure::unreachable("the slot was on no node that was asked"))
    }

    /// Asks every primary whether it answers.
    pub(crate) async fn ping(&self, deadline: Instant) -> Result<(), Failure> {
        self.node(0, deadline).await?;
        let map = self.map();
        let mut pings = tokio::task::JoinSet::new();
        for node in map.nodes() {
            let (lane, counters) = (self.lane(node), Arc::clone(&self.0.counters));
            pings.spawn(async move { crate::store::ping(&lane, &counters, deadline).await });
        }
        while let Some(answer) = pings.join_next().await {
            answer.unwrap_or_else(|_| Err(Failure::unreachable("a task was stopped")))?;
        }
        Ok(())
    }

    async fn node(&self, slot: u16, deadline: Instant) -> Result<Node, Failure> {
        if let Some(node) = self.known(slot) {
            return Ok(node);
        }
        self.refresh(deadline).await;
        self.known(slot).ok_or_else(|| Failure::unreachable("no node of the cluster answers for the slot"))
    }

    fn known(&self, slot: u16) -> Option<Node> {
        self.map().node(slot).cloned()
    }

    fn map(&self) -> Arc<Slots> {
        Arc::clone(&self.0.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the lane to a node, opened when it is first needed.
    fn lane(&self, node: &Node) -> Lane {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(node) {
            return lane.clone();
        }
        let (host, port) = node.clone();
        let dialer = Dialer { target: Target::Server { host, port }, ..self.0.dialer.clone() };
        let link = Link::keep(dialer, Arc::clone(&self.0.counters));
        let lane = Lane::open(link, self.0.lane_options.clone(), Arc::clone(&self.0.counters));
        lanes.insert(node.clone(), lane.clone());
        lane
    }

    /// Asks for the map in the background.
    fn refresh_soon(&self) {
        let cluster = self.clone();
        let deadline = Instant::now() + self.0.lane_options.timeout.max(Duration::from_secs(1));
        tokio::spawn(async move { cluster.refresh(deadline).await });
    }

    /// Asks for the map, unless somebody has just done so.
    async fn refresh(&self, deadline: Instant) {
        let Ok(mut refreshed) = tokio::time::timeout_at(deadline, self.0.refreshed.lock()).await else {
            return;
        };
        if refreshed.is_some_and(|then| then.elapsed() < LEAST_AGE) {
            return;
        }
        let known: Vec<Node> = self.map().nodes().into_iter().cloned().collect();
        for node in known.iter().chain(&self.0.seeds) {
            if let Some(slots) = self.slots_of(node, deadline).await {
                self.retain(&slots);
                *self.0.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(slots);
                *refreshed = Some(Instant::now());
                return;
            }
        }
    }

    async fn slots_of(&self, node: &Node, deadline: Instant) -> Option<Slots> {
        let lane = self.lane(node);
        let live = tokio::time::timeout_at(deadline, lane.link().live()).await.ok()?.ok()?;
        let mut connection = live.connection.clone();
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        // A node that hangs is not the only one.
        let patience = self.0.lane_options.timeout.max(Duration::from_millis(100));
        let answer = tokio::time::timeout(patience, connection.send_packed_command(&question)).await;
        let slots = Slots::read(&answer.ok()?.ok()?, &node.0)?;
        (!slots.nodes().is_empty()).then_some(slots)
    }

    /// Closes the lanes to nodes that are neither primaries nor seeds.
    fn retain(&self, slots: &Slots) {
        let nodes = slots.nodes();
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|node, _| nodes.contains(&node) || self.0.seeds.contains(node));
    }
}

/// Returns the node that a redirection names; without a host it is that of the node that said so.
fn named(host: &str, port: u16, by: &Node) -> Node {
    let host = if host.is_empty() { &by.0 } else { host };
    (host.to_owned(), port)
}
