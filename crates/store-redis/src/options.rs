//! Where a Redis is, how it is reached, and how long it may take.

use std::fmt;
use std::time::Duration;

/// How a store reaches its Redis.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    /// The servers.
    pub servers: Servers,
    /// The secret under which keys are named outside this process; the same for every instance, or limits multiply.
    pub secret: Secret,
    /// What every key begins with, followed by a colon; `tg` unless said.
    pub prefix: String,
    /// What the names of counters begin with that other programs count as well; only a diagnosis asks.
    pub shared_counters: Vec<String>,
    /// How long a call may take, from the question to its answer, waiting in the queue included; 50 ms unless said.
    pub timeout: Duration,
    /// How many questions may wait for a call; one more is refused at once. 10,000 unless said.
    pub queue: usize,
    /// The ACL user; the default one unless said.
    pub username: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// TLS, if it is spoken.
    pub tls: Option<Tls>,
    /// The number of the database; only zero in a cluster.
    pub database: i64,
}

impl RedisOptions {
    /// Options for servers and a secret, with everything else as it is unless said.
    pub fn new(servers: Servers, secret: Secret) -> Self {
        Self {
            servers,
            secret,
            prefix: "tg".to_owned(),
            shared_counters: Vec::new(),
            timeout: Duration::from_millis(50),
            queue: 10_000,
            username: None,
            password: None,
            tls: None,
            database: 0,
        }
    }
}

impl RedisOptions {
    /// Looks whether the options can be right, before anything is tried.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        let prefix = &self.prefix;
        if prefix.is_empty() || prefix.len() > 64 || prefix.contains(['{', '}']) {
            return Err(OptionsError::new("prefix", prefix, "choose 1 to 64 bytes without braces"));
        }
        if self.timeout.is_zero() {
            return Err(OptionsError::new(
                "timeout",
                "0",
                "choose how long a decision may take, such as 50 ms",
            ));
        }
        if self.queue == 0 {
            return Err(OptionsError::new("queue", "0", "choose how many questions may wait, such as 10000"));
        }
        if self.secret.bytes().len() < 16 {
            return Err(OptionsError::new("secret", "a short one", "choose 16 bytes or more, at random"));
        }
        let passwords = self.password.iter().chain(self.servers.password());
        for password in passwords {
            if std::str::from_utf8(password.bytes()).is_err() {
                return Err(OptionsError::new("password", "one that is no UTF-8", "choose another"));
            }
        }
        let hosts = self.servers.hosts();
        if hosts.is_empty() || hosts.iter().any(|(host, _)| host.is_empty()) {
            return Err(OptionsError::new("servers", "one without a host", "name each server's host"));
        }
        if matches!(self.servers, Servers::Cluster { .. }) && self.database != 0 {
            let given = self.database.to_string();
            return Err(OptionsError::new("database", &given, "a cluster has only number 0"));
        }
        Ok(())
    }
}

/// An option that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {given} cannot be used; {remedy}")]
pub struct OptionsError {
    option: &'static str,
    given: String,
    remedy: &'static str,
}

impl OptionsError {
    pub(crate) fn new(option: &'static str, given: &str, remedy: &'static str) -> Self {
        Self { option, given: given.to_owned(), remedy }
    }

    /// Returns the name of the option.
    pub fn option(&self) -> &'static str {
        self.option
    }
}

impl Servers {
    pub(crate) fn hosts(&self) -> Vec<(&str, u16)> {
        match self {
            Self::Standalone { host, port } => vec![(host.as_str(), *port)],
            Self::Sentinel { sentinels: hosts, .. } | Self::Cluster { seeds: hosts } => {
                hosts.iter().map(|(host, port)| (host.as_str(), *port)).collect()
            }
        }
    }

    fn password(&self) -> Option<&Secret> {
        if let Self::Sentinel { password, .. } = self { password.as_ref() } else { None }
    }
}

/// The servers, each as a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Servers {
    /// One server.
    Standalone {
        /// Its host, a name or an address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Whatever server the sentinels name.
    Sentinel {
        /// The sentinels.
        sentinels: Vec<(String, u16)>,
        /// The name under which they watch the primary.
        name: String,
        /// The ACL user at the sentinels, if not the default one.
        username: Option<String>,
        /// The password at the sentinels, if they ask for one.
        password: Option<Secret>,
    },
    /// A cluster.
    Cluster {
        /// Nodes to begin with; the others are learnt from them.
        seeds: Vec<(String, u16)>,
    },
}

/// What has to be trusted and shown for TLS.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Certificates of the authorities to trust, as PEM; those of the system when there are none.
    pub authorities: Option<Vec<u8>>,
    /// The certificate chain and the key to show to the server, both as PEM.
    pub identity: Option<(Vec<u8>, Secret)>,
}

/// Bytes that are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Keeps bytes from being shown.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
