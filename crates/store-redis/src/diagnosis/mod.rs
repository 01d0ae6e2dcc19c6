//! Whether the servers are what a store needs, each thing tried and told with its remedy.

mod remedy;
mod rights;
mod server;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_algorithms::{Ask, Quota, Rate, Span};
use tidegate_store::{Check, Store as _, StoreError};

use crate::RedisStore;
use crate::cluster::Slots;
use crate::error::NoConnection;
use crate::options::Servers;
use server::{Expected, Visit};

pub use rights::RIGHTS;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// What it is about, in one word.
    pub about: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it, unless it is as it should be.
    pub remedy: Option<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Fine,
    /// It works, and may not be meant.
    Doubtful,
    /// It does not work, or limits would not hold.
    Wrong,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fine => "ok",
            Self::Doubtful => "warn",
            Self::Wrong => "FAIL",
        })
    }
}

impl Finding {
    /// Builds a finding that all is well.
    pub fn fine(about: &'static str, found: impl Into<String>) -> Self {
        Self { level: Level::Fine, about, found: found.into(), remedy: None }
    }

    /// Builds a finding that may be meant.
    pub fn doubtful(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Doubtful, about, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Builds a finding that has to be mended.
    pub fn wrong(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Wrong, about, found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// What was found so far, also when the rest takes too long.
#[derive(Default)]
struct Findings(Mutex<Vec<Finding>>);

impl Findings {
    fn add(&self, finding: Finding) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }
}

impl RedisStore {
    /// Looks whether every server can be reached and is what a store needs: its version, the user's rights, what it does when
    /// its memory is full, its clock, the secret that others have left, its replicas; and makes a decision.
    ///
    /// It takes no longer than `within`. On the servers it writes and removes a key of its own; counts stay untouched.
    pub async fn diagnose(&self, within: Duration) -> Vec<Finding> {
        let findings = Findings::default();
        if tokio::time::timeout(within, self.look_at_all(&findings)).await.is_err() {
            let found = format!("not everything was answered within {within:?}");
            let remedy = "look whether a server hangs, or a network drops what is sent to it";
            findings.add(Finding::wrong("server", found, remedy));
        }
        findings.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_at_all(&self, findings: &Findings) {
        self.look_at_transport(findings);
        let (servers, expected) = match &self.options().servers {
            Servers::Standalone { host, port } => (vec![(host.clone(), *port)], Expected::Alone),
            Servers::Sentinel { .. } => (self.primary_by_sentinels(findings).await, Expected::Watched),
            Servers::Cluster { seeds } => (self.primaries(seeds, findings).await, Expected::Node),
        };
        let (mut all_usable, none) = (true, servers.is_empty());
        for (host, port) in servers {
            all_usable &= match Visit::open(self, findings, (&host, port), expected).await {
                Ok(mut visit) => visit.look().await,
                Err(why) => {
                    let remedy = remedy::remedy(&why, self.options().tls.is_some());
                    findings.add(Finding::wrong("server", why, remedy));
                    false
                }
            };
        }
        // What keeps a server from deciding has been told.
        if all_usable && !none {
            self.decide_once(findings).await;
        }
    }

    fn look_at_transport(&self, findings: &Findings) {
        let options = self.options();
        if options.tls.is_some() {
            return findings.add(Finding::fine("tls", "the url asks for it, and without it nothing is sent"));
        }
        let is_far = |host: &String| {
            let address = host.parse::<std::net::IpAddr>();
            host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
        };
        if let Some(host) = options.servers.hosts().into_iter().map(|(host, _)| host.to_owned()).find(is_far)
        {
            let found =
                format!("whoever is between here and {host} reads the password and may change answers");
            let remedy = "write rediss:// in the url, unless the network is yours alone";
            findings.add(Finding::doubtful("tls", found, remedy));
        }
    }

    /// Asks every sentinel and returns the primary that the first one names.
    async fn primary_by_sentinels(&self, findings: &Findings) -> Vec<(String, u16)> {
        let said = self.dialer().sentinels_say().await;
        let first = said.iter().find_map(|(_, primary)| primary.clone().ok());
        for (sentinel, primary) in said {
            findings.add(match (primary, &first) {
                (Ok(primary), Some(first)) if primary != *first => {
                    let (host, port) = primary;
                    let found =
                        format!("{sentinel} names another primary than the first does: {host}:{port}");
                    Finding::doubtful(
                        "sentinel",
                        found,
                        "look whether a failover is under way, or it is cut off",
                    )
                }
                (Ok((host, port)), _) => {
                    Finding::fine("sentinel", format!("{sentinel} names the primary {host}:{port}"))
                }
                (Err(why), first) => {
                    let found = format!("{sentinel}: {why}");
                    let remedy = "start it, or mend the policy's url and the sentinel's password";
                    // The others do for it.
                    if first.is_some() {
                        Finding::doubtful("sentinel", found, remedy)
                    } else {
                        Finding::wrong("sentinel", found, remedy)
                    }
                }
            });
        }
        first.into_iter().collect()
    }

    /// Asks the seeds and returns the primaries that the first one names.
    async fn primaries(&self, seeds: &[(String, u16)], findings: &Findings) -> Vec<(String, u16)> {
        let dialer = self.dialer();
        let mut slots: Option<Slots> = None;
        for (host, port) in seeds {
            let asked = async {
                let (mut connection, _gone) = dialer.open(host, *port).await?;
                let question = redis::cmd("CLUSTER").arg("SLOTS").clone();
                let answer = dialer.ask(&mut connection, &question).await?;
                Slots::read(&answer, host)
                    .ok_or_else(|| NoConnection::from("it answers what no node of a cluster does"))
            };
            match asked.await {
                Ok(seen) if slots.is_none() => slots = Some(seen),
                Ok(_) => {}
                Err(NoConnection { why, .. }) => {
                    let remedy =
                        "start it, name another node in the url, or give the user the right cluster|slots";
                    findings.add(Finding::doubtful("cluster", format!("{host}:{port}: {why}"), remedy));
                }
            }
        }
        let Some(slots) = slots else {
            let remedy = "start them, or mend the policy's url";
            findings.add(Finding::wrong("cluster", "none of the nodes tells where the slots are", remedy));
            return Vec::new();
        };
        let nodes: Vec<(String, u16)> = slots.nodes().into_iter().cloned().collect();
        let without = (0..16_384).filter(|slot| slots.node(*slot).is_none()).count();
        findings.add(if without == 0 {
            Finding::fine("cluster", format!("all slots are on {} primaries", nodes.len()))
        } else {
            let remedy = "redis-cli --cluster fix, on any node";
            Finding::wrong("cluster", format!("{without} of 16384 slots are on no node"), remedy)
        });
        nodes
    }

    /// Makes a decision as a request does, and forgets it.
    async fn decide_once(&self, findings: &Findings) {
        let began = Instant::now();
        findings.add(match self.decided_once().await {
            Ok(()) => {
                Finding::fine("decision", format!("one was made and forgotten in {:.1?}", began.elapsed()))
            }
            Err(error) => {
                let remedy = "the table of errors in docs/redis.md says what each means";
                Finding::wrong("decision", format!("none could be made: {error}"), remedy)
            }
        });
    }

    async fn decided_once(&self) -> Result<(), StoreError> {
        let rate =
            Rate::new(1, Span::from_secs(1)).map_err(|error| StoreError::rejected(error.to_string()))?;
        let quota = Quota::token_bucket(1, rate).map_err(|error| StoreError::rejected(error.to_string()))?;
        // No limit of a policy has such a name.
        let (limit, key) = (self.limit("doctor"), b"doctor");
        let check = Check { limit, key, quota: &quota, ask: Ask::ONE, shadow: false };
        self.decide(&[check], None).await?;
        self.reset(limit, key).await
    }
}
