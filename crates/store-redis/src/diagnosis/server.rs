//! One server, looked at.

use std::time::SystemTime;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, PushInfo, Value};
use tokio::sync::mpsc;

use super::remedy::remedy;
use super::rights::{Tried, counter_trials, meaning, note_trials, trials};
use super::{Finding, Findings};
use crate::RedisStore;
use crate::error::NoConnection;
use crate::held;
use crate::link::Dialer;
use crate::script::Script;

/// What a server has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A primary that nobody but the policy names.
    Alone,
    /// The primary that sentinels name.
    Watched,
    /// A primary of a cluster.
    Node,
}

/// The least version that is supported.
const LEAST_VERSION: (u32, u32) = (6, 2);
/// From here on `min-replicas-to-write` holds for what a script writes too.
const BINDS_SCRIPTS: (u32, u32) = (7, 0);
/// So many microseconds of difference between clocks are told.
const MOST_SKEW: u64 = 1_000_000;

/// A visit to a server.
pub(super) struct Visit<'v> {
    findings: &'v Findings,
    dialer: Dialer,
    connection: MultiplexedConnection,
    /// Held, since the connection ends with it.
    _gone: mpsc::UnboundedReceiver<PushInfo>,
    name: String,
    user: String,
    expected: Expected,
    /// What the names of shared counters begin with.
    counters: Vec<String>,
}

impl<'v> Visit<'v> {
    /// Connects.
    ///
    /// # Errors
    /// With the server and the reason, in words.
    pub(super) async fn open(
        store: &RedisStore,
        findings: &'v Findings,
        (host, port): (&str, u16),
        expected: Expected,
    ) -> Result<Self, String> {
        let dialer = store.dialer();
        let (connection, gone) = dialer.open(host, port).await.map_err(|no| no.why)?;
        let user = store.options().username.clone().unwrap_or_else(|| "default".to_owned());
        let (name, counters) = (format!("{host}:{port}"), store.options().shared_counters.clone());
        Ok(Self { findings, dialer, connection, _gone: gone, name, user, expected, counters })
    }

    /// Looks at everything; returns whether decisions can be made here.
    pub(super) async fn look(&mut self) -> bool {
        let is_right = self.kind().await;
        let may = self.rights().await;
        self.memory_and_replicas().await;
        self.clock().await;
        self.secret().await;
        is_right && may
    }

    async fn ask(&mut self, words: &[&str]) -> Result<Value, String> {
        let mut cmd = Cmd::new();
        cmd.arg(words);
        self.dialer.ask(&mut self.connection, &cmd).await.map_err(|no| no.why)
    }

    /// Asks what it is: everybody may know.
    async fn kind(&mut self) -> bool {
        let hello = match self.ask(&["HELLO"]).await {
            Ok(hello) => hello,
            Err(why) => {
                let remedy = "look what answers there: a Redis from 6.2 on, or a Valkey, is needed";
                self.findings.add(Finding::wrong("server", format!("{}: {why}", self.name), remedy));
                return false;
            }
        };
        let of = |name| field(&hello, name).unwrap_or_default();
        let (version, role, mode) = (of("version"), of("role"), of("mode"));
        let named = &self.name;
        let found = format!("{named} answers: {} {version}, {role}, {mode}", of("server"));
        let (found, remedy) = if version_of(&version) < LEAST_VERSION {
            (format!("{found}; versions before 6.2 lack what the script uses"), "take a newer version")
        } else if mode == "sentinel" {
            (found, "it is a sentinel: write redis+sentinel://host:26379/name-of-the-primary")
        } else if (self.expected == Expected::Node) != (mode == "cluster") {
            let remedy = if mode == "cluster" {
                "it is a node of a cluster: write redis+cluster:// with some of its nodes"
            } else {
                "it is no node of a cluster: write redis:// or rediss:// with this one server"
            };
            (found, remedy)
        } else if role != "master" {
            (found, "it is a replica, which refuses writes: name the primary, or its sentinels")
        } else {
            self.findings.add(Finding::fine("server", found));
            return true;
        };
        self.findings.add(Finding::wrong("server", found, remedy));
        false
    }

    /// Tries every right.
    async fn rights(&mut self) -> bool {
        let (script, prefix) = (Script::default(), self.dialer.prefix.clone());
        let (mut lacking, mut no_keys, mut tried) = (Vec::new(), false, Vec::new());
        for trial in trials(&prefix, &script, self.expected) {
            let Err(NoConnection { why, .. }) = self.dialer.ask(&mut self.connection, &trial.cmd).await
            else {
                tried.push(trial.right);
                continue;
            };
            match meaning(&why) {
                Tried::Permitted => tried.push(trial.right),
                // A script that may not be loaded is not there, and one whose commands are not permitted fails.
                Tried::Failed if trial.right == "evalsha" && !lacking.is_empty() => {}
                Tried::NoCommand => lacking.push(trial.right),
                Tried::NoKey => no_keys = true,
                Tried::Failed => {
                    let found = format!("{}: {} fails: {why}", self.name, trial.right);
                    let remedy = remedy(&found, self.dialer.tls.is_some());
                    self.findings.add(Finding::wrong("server", found, remedy));
                    return false;
                }
            }
        }
        let is_enough = lacking.is_empty() && !no_keys;
        self.findings.add(if is_enough {
            let found = format!("{}: the user {} may {}", self.name, self.user, tried.join(", "));
            Finding::fine("rights", found)
        } else {
            self.lacking(&lacking, no_keys)
        });
        if is_enough {
            self.note_rights().await;
            for name in self.counters.clone() {
                self.counter_rights(&name).await;
            }
        }
        is_enough
    }

    /// Tries what counters need that other programs count as well.
    async fn counter_rights(&mut self, name: &str) {
        let (mut lacking, mut no_keys) = (Vec::new(), false);
        for trial in counter_trials(name) {
            let asked = self.dialer.ask(&mut self.connection, &trial.cmd).await;
            match asked.map_err(|no| meaning(&no.why)) {
                Err(Tried::NoCommand) => lacking.push(trial.right),
                Err(Tried::NoKey) => no_keys = true,
                Ok(_) | Err(Tried::Permitted | Tried::Failed) => {}
            }
        }
        if lacking.is_empty() && !no_keys {
            return;
        }
        let mut may_not: Vec<String> = lacking.iter().map(|&right| right.to_owned()).collect();
        let mut grant: Vec<String> = lacking.iter().map(|right| format!("+{right}")).collect();
        if no_keys {
            may_not.push(format!("touch keys that begin with {name}:"));
            grant.push(format!("~{name}:*"));
        }
        let user = &self.user;
        let found = format!(
            "{}: the user {user} may not {}, which the shared counters {name} need",
            self.name,
            may_not.join(", ")
        );
        self.findings.add(Finding::wrong(
            "shared counters",
            found,
            format!("ACL SETUSER {user} {}", grant.join(" ")),
        ));
    }

    /// Tries what overrides need: without it all goes on, but for the operator's exceptions.
    async fn note_rights(&mut self) {
        let mut lacking = Vec::new();
        for trial in note_trials(&self.dialer.prefix) {
            let asked = self.dialer.ask(&mut self.connection, &trial.cmd).await;
            if asked.is_err_and(|no| meaning(&no.why) == Tried::NoCommand) {
                lacking.push(trial.right);
            }
        }
        if !lacking.is_empty() {
            let user = &self.user;
            let found = format!(
                "{}: the user {user} may not {}, which only `tidegate override` needs",
                self.name,
                lacking.join(", ")
            );
            let grant: Vec<String> = lacking.iter().map(|right| format!("+{right}")).collect();
            self.findings.add(Finding::doubtful(
                "overrides",
                found,
                format!("ACL SETUSER {user} {}", grant.join(" ")),
            ));
        }
    }

    fn lacking(&self, rights: &[&str], no_keys: bool) -> Finding {
        let (user, prefix) = (&self.user, &self.dialer.prefix);
        let mut may_not: Vec<String> = rights.iter().map(|&right| right.to_owned()).collect();
        let mut grant: Vec<String> = rights.iter().map(|right| format!("+{right}")).collect();
        if no_keys {
            may_not.push(format!("touch keys that begin with {prefix}:"));
            grant.push(format!("~{prefix}:*"));
        }
        let found = format!("{}: the user {user} may not {}", self.name, may_not.join(", "));
        Finding::wrong("rights", found, format!("ACL SETUSER {user} {}", grant.join(" ")))
    }

    /// Looks what becomes of counts when the memory is full, and when a primary is cut off.
    async fn memory_and_replicas(&mut self) {
        let info = match self.ask(&["INFO"]).await {
            Ok(Value::VerbatimString { text, .. }) => text,
            Ok(Value::BulkString(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => {
                let found = format!("{}: what it does when its memory is full cannot be asked", self.name);
                let remedy = format!(
                    "ACL SETUSER {} +info, or see to it: maxmemory-policy has to be noeviction, replicas need \
                     min-replicas-to-write",
                    self.user
                );
                return self.findings.add(Finding::doubtful("memory", found, remedy));
            }
        };
        let of = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim)
        };
        let number = |name| of(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let (used, most) = (number("used_memory"), number("maxmemory"));
        self.findings.add(eviction(&self.name, of("maxmemory_policy").unwrap_or_default(), most));
        self.findings.add(memory(&self.name, used, most));
        let replicas = number("connected_slaves");
        // It is told only where writes stop without replicas.
        let stops = of("min_slaves_good_slaves").is_some();
        let binds_scripts = version_of(of("redis_version").unwrap_or_default()) >= BINDS_SCRIPTS;
        if replicas > 0 && !(stops && binds_scripts) {
            let found = format!("{}: goes on admitting when it is cut off from its replicas", self.name);
            let remedy = if binds_scripts {
                "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 10, on every node"
            } else {
                "take Redis 7.0 or newer, or Valkey: before, min-replicas-to-write does not bind scripts"
            };
            self.findings.add(Finding::doubtful("replicas", found, remedy));
        } else if replicas > 0 {
            let found = format!("{}: {replicas}, and without them it refuses writes", self.name);
            self.findings.add(Finding::fine("replicas", found));
        } else if self.expected == Expected::Watched {
            let found = format!("{}: none, so a failover finds nobody", self.name);
            self.findings.add(Finding::doubtful("replicas", found, "start one: REPLICAOF of this server"));
        }
    }

    async fn clock(&mut self) {
        let micros = |at: SystemTime| {
            let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        };
        let before = micros(SystemTime::now());
        let Ok(time) = self.ask(&["TIME"]).await else { return };
        let after = micros(SystemTime::now());
        let Ok(told) = held::now(time) else { return };
        let here = before.midpoint(after);
        let (told, skew) = (told.as_micros(), told.as_micros().abs_diff(here));
        self.findings.add(if skew <= MOST_SKEW {
            // Less would be told of the network rather than of clocks.
            let millis = skew.div_ceil(1_000).max(1);
            Finding::fine("clock", format!("{}: within {millis} ms of this machine's", self.name))
        } else {
            let skew = std::time::Duration::from_micros(skew);
            let which = if told > here { "ahead of" } else { "behind" };
            Finding::doubtful(
                "clock",
                format!("{}: {skew:.1?} {which} this machine's", self.name),
                "let both follow NTP: counts go by the server's clock, logs and the ends of overrides by this one's",
            )
        });
    }

    async fn secret(&mut self) {
        let key = format!("{}:secret", self.dialer.prefix);
        let own = self.dialer.namer.fingerprint();
        let Ok(value) = self.ask(&["GET", &key]).await else { return };
        // Ours may be the one that this visit has left.
        let is_own = matches!(&value, Value::BulkString(left) if left == own.as_bytes());
        self.findings.add(match value {
            _ if is_own || value == Value::Nil => {
                Finding::fine("secret", format!("{}: nobody has left another", self.name))
            }
            _ => Finding::wrong(
                "secret",
                format!("{}: other instances have another, so every limit is counted twice", self.name),
                format!(
                    "give all instances the same key_secret_file, or, if all have the new one: DEL {key}"
                ),
            ),
        });
    }
}

fn eviction(name: &str, policy: &str, most: u64) -> Finding {
    if policy == "noeviction" {
        return Finding::fine("eviction", format!("{name}: off"));
    }
    let remedy = "CONFIG SET maxmemory-policy noeviction, and the same in its configuration file";
    if most == 0 {
        let found = format!("{name}: {policy}, which does nothing only as long as there is no maxmemory");
        return Finding::doubtful("eviction", found, remedy);
    }
    let found = format!("{name}: {policy} forgets counts when memory runs short, and each is a fresh quota");
    Finding::wrong("eviction", found, remedy)
}

fn memory(name: &str, used: u64, most: u64) -> Finding {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    if most == 0 {
        let found = format!("{name}: {} MiB used, without a maxmemory", mib(used));
        let remedy =
            "set maxmemory below the machine's, or a flood of keys ends the server instead of being refused";
        return Finding::doubtful("memory", found, remedy);
    }
    let found = format!("{name}: {} of {} MiB used", mib(used), mib(most));
    // A fifth is little for a flood of keys.
    if used / 4 > most / 5 {
        return Finding::doubtful("memory", found, "raise maxmemory: a full server refuses every decision");
    }
    Finding::fine("memory", found)
}

/// Returns a field of what `HELLO` answers, under either protocol.
fn field(hello: &Value, name: &str) -> Option<String> {
    let is = |value: &Value| text(value).is_some_and(|text| text == name);
    match hello {
        Value::Map(pairs) => pairs.iter().find(|(key, _)| is(key)).and_then(|(_, value)| text(value)),
        Value::Array(parts) => {
            parts.as_chunks::<2>().0.iter().find(|[key, _]| is(key)).and_then(|[_, value]| text(value))
        }
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

fn version_of(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}
