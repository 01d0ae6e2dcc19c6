//! A cluster: a lane to each primary, and the way of a question to whoever has its slot.
//!
//! The library's own cluster client sends a question again when a connection breaks, which would charge twice; here only
//! what is known not to have run is sent again.

mod batch;
mod refresh;
mod refund;
mod slots;

pub(crate) use refund::Apart;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Failure, Kind};
use crate::lane::{Lane, LaneOptions, Together};
use crate::link::{Dialer, Link, Target};
use crate::measures::{Counters, Event};
use crate::op::{Answer, Op};
use crate::trial;
use refresh::Refreshing;
use slots::Node;
pub(crate) use slots::Slots;

/// A question is sent to so many nodes at most: a slot that moves is found with the second or third.
const MOST_HOPS: usize = 8;
/// How long to wait while the keys of a slot are on two nodes.
const WHILE_MOVING: Duration = Duration::from_millis(2);

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
    lanes: Mutex<HashMap<Node, Kept>>,
    /// When the map may be asked for again; held while it is.
    refreshing: tokio::sync::Mutex<Refreshing>,
}

/// A lane that is kept.
#[derive(Debug)]
struct Kept {
    lane: Lane,
    /// When a node last named this one.
    redirected: Option<Instant>,
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
            refreshing: tokio::sync::Mutex::default(),
        };
        let cluster = Self(Arc::new(inner));
        cluster.refresh_soon(None);
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
        let mut hops = 1;
        while hops < MOST_HOPS {
            let failure = match self.lane(&node).ask(op.clone(), together, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            // It lasts until the slot has moved, which is no hop; the deadline ends it.
            if failure.kind == Kind::TryAgain && Instant::now() + WHILE_MOVING < deadline {
                tokio::time::sleep(WHILE_MOVING).await;
                continue;
            }
            together.asking = matches!(failure.kind, Kind::Ask { .. });
            node = self.next(slot, node, failure, deadline).await?;
            hops += 1;
        }
        Err(Failure::unreachable("the slot was on no node that was asked"))
    }

    /// Returns which node to ask when one has not decided; the failure itself where no other is known.
    async fn next(
        &self,
        slot: u16,
        node: Node,
        failure: Failure,
        deadline: Instant,
    ) -> Result<Node, Failure> {
        match &failure.kind {
            Kind::Moved { host, port } => {
                let next = self.redirected(named(host, *port, &node));
                self.refresh_soon(None);
                Ok(next)
            }
            Kind::Ask { host, port } => Ok(self.redirected(named(host, *port, &node))),
            // Nothing was sent, or nothing ran: another node may have the slot by now.
            Kind::Unreachable | Kind::Loading | Kind::ReadOnly if Instant::now() < deadline => {
                self.refresh(deadline, Some(&node)).await;
                self.known(slot).filter(|other| *other != node).ok_or(failure)
            }
            _ => {
                self.refresh_soon(Some(node));
                Err(failure)
            }
        }
    }

    /// Asks every primary whether it answers, and decides.
    pub(crate) async fn ping(&self, deadline: Instant) -> Result<(), Failure> {
        self.node(0, deadline).await.inspect_err(|failure| self.0.counters.failed(failure))?;
        let map = self.map();
        let mut pings = tokio::task::JoinSet::new();
        for node in map.nodes() {
            let (cluster, lane) = (self.clone(), self.lane(node));
            let key = trial::within(&self.0.lane_options.prefix, |slot| map.node(slot) == Some(node));
            pings.spawn(async move {
                crate::store::ping(&lane, &cluster.0.counters, deadline).await?;
                let Some((digest, slot)) = key else { return Ok(()) };
                let Some(op) = trial::question(digest) else { return Ok(()) };
                let together = Together { at: None, slot, counters: false, asking: false };
                // By a deadline of its own, as any decision.
                let deadline = Instant::now() + cluster.0.lane_options.timeout;
                cluster.ask_slot(slot, &op, together, deadline).await.map(drop)
            });
        }
        while let Some(answer) = pings.join_next().await {
            answer.unwrap_or_else(|_| Err(Failure::unreachable("a task was stopped")))?;
        }
        Ok(())
    }

    /// Returns the lane to the node that has a slot.
    pub(crate) async fn lane_of(&self, slot: u16, deadline: Instant) -> Result<Lane, Failure> {
        Ok(self.lane(&self.node(slot, deadline).await?))
    }

    /// Returns the lane to the node that another has named for a slot. Where none is named, the map is looked up anew for
    /// whoever asks next.
    pub(crate) fn lane_named(&self, slot: u16, failure: &Failure) -> Option<Lane> {
        let asked = self.known(slot).unwrap_or_default();
        if let Kind::Moved { host, port } = &failure.kind {
            let node = self.redirected(named(host, *port, &asked));
            self.refresh_soon(None);
            return Some(self.lane(&node));
        }
        if matches!(failure.kind, Kind::Unreachable | Kind::Lost | Kind::ReadOnly) {
            self.refresh_soon(Some(asked));
        }
        None
    }

    async fn node(&self, slot: u16, deadline: Instant) -> Result<Node, Failure> {
        if let Some(node) = self.known(slot) {
            return Ok(node);
        }
        self.refresh(deadline, None).await;
        self.known(slot).ok_or_else(|| Failure::unreachable("no node of the cluster answers for the slot"))
    }

    fn known(&self, slot: u16) -> Option<Node> {
        self.map().node(slot).cloned()
    }

    fn map(&self) -> Arc<Slots> {
        Arc::clone(&self.0.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a redirection to a node, whose lane is kept from now on although the map may not name it yet.
    fn redirected(&self, node: Node) -> Node {
        self.0.counters.happened(Event::Redirected, 1);
        // Opened, should there be none.
        drop(self.lane(&node));
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = lanes.get_mut(&node) {
            kept.redirected = Some(Instant::now());
        }
        node
    }

    /// Returns the lane to a node, opened when it is first needed.
    fn lane(&self, node: &Node) -> Lane {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = lanes.get(node) {
            return kept.lane.clone();
        }
        let (host, port) = node.clone();
        let dialer = Dialer { target: Target::Server { host, port }, ..self.0.dialer.clone() };
        let link = Link::keep(dialer, Arc::clone(&self.0.counters));
        let lane = Lane::open(link, self.0.lane_options.clone(), Arc::clone(&self.0.counters));
        lanes.insert(node.clone(), Kept { lane: lane.clone(), redirected: None });
        lane
    }
}

/// Returns the node that a redirection names; without a host (or with `?`, a host that is not known) it is
/// that of the node that said so.
fn named(host: &str, port: u16, by: &Node) -> Node {
    let host = if host.is_empty() || host == "?" { &by.0 } else { host };
    (host.to_owned(), port)
}
