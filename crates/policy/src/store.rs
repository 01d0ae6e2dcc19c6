//! Where counts are kept, and who is told when that fails.

use std::fmt;
use std::path::PathBuf;

use tidegate_algorithms::Span;

/// Where counts are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// In this process.
    Memory(MemoryChoice),
    /// In a Redis or Valkey that all instances share.
    Redis(Box<RedisChoice>),
}

impl StoreChoice {
    /// Returns the files that whoever makes the store reads once: certificates and their keys.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let tls = if let Self::Redis(redis) = self { redis.tls.as_ref() } else { None };
        tls.into_iter().flat_map(|tls| [&tls.ca_file, &tls.certificate_file, &tls.key_file]).flatten()
    }

    /// Returns the same files and that of a snapshot, for whoever knows the folder that their paths are meant from.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let (tls, snapshot) = match self {
            Self::Redis(redis) => (redis.tls.as_mut(), None),
            Self::Memory(memory) => (None, memory.snapshot.as_mut().map(|snapshot| &mut snapshot.file)),
        };
        let tls = tls.into_iter();
        tls.flat_map(|tls| [&mut tls.ca_file, &mut tls.certificate_file, &mut tls.key_file])
            .flatten()
            .chain(snapshot)
    }
}

impl Default for StoreChoice {
    fn default() -> Self {
        Self::Memory(MemoryChoice::default())
    }
}

/// A store in this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryChoice {
    /// The most keys, when the file says.
    pub max_keys: Option<usize>,
    /// The most bytes, when the file says.
    pub max_bytes: Option<usize>,
    /// Where what it holds is kept over a restart, if it is.
    pub snapshot: Option<SnapshotChoice>,
}

/// A copy of a memory store on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChoice {
    /// The file.
    pub file: PathBuf,
    /// How often it is written, besides at the end.
    pub every: Span,
}

/// A store in Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisChoice {
    /// The servers.
    pub servers: RedisServers,
    /// What is trusted and shown for TLS, if it is spoken.
    pub tls: Option<RedisTls>,
    /// The ACL user, if it is not the default one.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<RedisPassword>,
    /// What every key begins with.
    pub prefix: String,
    /// How long a decision may take.
    pub timeout: Span,
    /// How many questions may wait for a call.
    pub queue: usize,
    /// How long a refusal is remembered at most, if it is.
    pub denial_memory: Option<Span>,
    /// The number of the database.
    pub database: u8,
}

/// The servers of a Redis, each as a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisServers {
    /// One server.
    Standalone {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Whichever the sentinels name.
    Sentinel {
        /// The sentinels.
        sentinels: Vec<(String, u16)>,
        /// The name under which they watch the primary.
        name: String,
        /// The ACL user at the sentinels.
        username: Option<String>,
        /// Its password there.
        password: Option<RedisPassword>,
    },
    /// A cluster.
    Cluster {
        /// Nodes to begin with.
        seeds: Vec<(String, u16)>,
    },
}

/// What TLS to a Redis needs; the paths are of PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedisTls {
    /// The authorities to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate to show, with its chain.
    pub certificate_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
}

/// A password, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisPassword(String);

impl RedisPassword {
    /// Keeps a password from being shown.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// Returns it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RedisPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisPassword(..)")
    }
}

/// Who is told when the store is lost, and when a limit's use rises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertsChoice {
    /// Where alerts are sent, as Alertmanager takes them: `http` or `https`, with a path.
    pub webhooks: Vec<http::Uri>,
    /// How often an alert is sent again while its cause lasts.
    pub every: Span,
}
