//! A cluster of three primaries, each with a replica.

use redis::Value;

use crate::server::{Server, soon};

/// Six nodes, the first three of them primaries at the start.
#[derive(Debug)]
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts the nodes and makes a cluster of them.
    pub fn start() -> Self {
        let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
        let more = ["--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0"];
        let arguments = [arguments, more].concat();
        let nodes: Vec<Server> = (0..6).map(|_| Server::start(&arguments)).collect();
        for (node, range) in nodes.iter().zip(["0 5460", "5461 10922", "10923 16383"]) {
            node.ask(&format!("CLUSTER ADDSLOTSRANGE {range}"));
        }
        for (epoch, node) in (1..).zip(&nodes) {
            node.ask(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}"));
            node.ask(&format!("CLUSTER MEET 127.0.0.1 {}", nodes[0].port()));
        }
        let cluster = Self { nodes };
        cluster.until("all nodes know each other", |node| known(node) == 6);
        for (place, replica) in cluster.nodes.iter().enumerate().skip(3) {
            let primary = id(&cluster.nodes[place - 3]);
            soon("a replica", || {
                let answer = replica.try_ask(&format!("CLUSTER REPLICATE {primary}"));
                matches!(answer, Ok(Value::Okay)).then_some(())
            });
        }
        cluster.until("the cluster is up", is_up);
        for replica in cluster.nodes.iter().skip(3) {
            soon("a replica's link", || {
                let text = text(&replica.try_ask("INFO replication").ok()?);
                text.contains("master_link_status:up").then_some(())
            });
        }
        cluster
    }

    /// Returns the node that has a slot as its primary.
    pub fn primary_of(&self, slot: u16) -> &Server {
        let bounds = [0_u16, 5_461, 10_923];
        &self.nodes[bounds.iter().filter(|first| **first <= slot).count() - 1]
    }

    /// Returns a node's id.
    pub fn id(&self, node: usize) -> String {
        id(&self.nodes[node])
    }

    fn until(&self, what: &str, is_so: impl Fn(&Server) -> bool) {
        soon(what, || self.nodes.iter().all(&is_so).then_some(()));
    }
}

fn id(node: &Server) -> String {
    text(&node.ask("CLUSTER MYID"))
}

fn known(node: &Server) -> usize {
    text(&node.ask("CLUSTER NODES")).lines().filter(|line| !line.contains("handshake")).count()
}

fn is_up(node: &Server) -> bool {
    text(&node.ask("CLUSTER INFO")).contains("cluster_state:ok")
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
