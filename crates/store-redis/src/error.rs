//! What went wrong, in the words of a store; above all whether it may have been counted.
//!
//! Servers are read by the first word of what they say; the rest of the text differs between versions. Inside a script
//! Redis 6.2 puts that word into a longer sentence, after a hyphen.

use redis::RedisError;
use tidegate_store::StoreError;

/// A question that was not answered.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) error: StoreError,
}

/// Why, as a metric names it and as whoever asked reacts to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No answer by the deadline.
    Timeout,
    /// There is no connection.
    Unreachable,
    /// The connection went while an answer was awaited.
    Lost,
    /// Too many questions wait.
    QueueFull,
    /// The server does not know the script.
    NoScript,
    /// It reads its data from the disk.
    Loading,
    /// A script of somebody keeps it.
    Busy,
    /// It is full.
    OutOfMemory,
    /// It is not the primary.
    ReadOnly,
    /// It cannot write to its disk.
    Misconfigured,
    /// It has too few replicas to write.
    NoReplicas,
    /// The user may not do this.
    NotPermitted,
    /// Another node has the slot.
    Moved { host: String, port: u16 },
    /// Another node may have the key already.
    Ask { host: String, port: u16 },
    /// The keys of a slot under way are on two nodes.
    TryAgain,
    /// The cluster has no node for the slot.
    ClusterDown,
    /// The script failed.
    Script,
    /// The answer is none of the script's, or not what this program finds.
    Unreadable,
    /// Anything else.
    Other,
}

impl Kind {
    /// Every kind's name in a metric.
    pub(crate) const NAMES: [&'static str; 19] = [
        "timeout",
        "unreachable",
        "lost",
        "queue_full",
        "noscript",
        "loading",
        "busy",
        "oom",
        "readonly",
        "misconf",
        "noreplicas",
        "noperm",
        "moved",
        "ask",
        "tryagain",
        "clusterdown",
        "script",
        "unreadable",
        "other",
    ];

    /// Returns the place of the kind's name among [`Kind::NAMES`].
    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Timeout => 0,
            Self::Unreachable => 1,
            Self::Lost => 2,
            Self::QueueFull => 3,
            Self::NoScript => 4,
            Self::Loading => 5,
            Self::Busy => 6,
            Self::OutOfMemory => 7,
            Self::ReadOnly => 8,
            Self::Misconfigured => 9,
            Self::NoReplicas => 10,
            Self::NotPermitted => 11,
            Self::Moved { .. } => 12,
            Self::Ask { .. } => 13,
            Self::TryAgain => 14,
            Self::ClusterDown => 15,
            Self::Script => 16,
            Self::Unreadable => 17,
            Self::Other => 18,
        }
    }

    /// Returns whether the connection is of no use any more.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(self, Self::Lost | Self::ReadOnly)
    }
}

impl Failure {
    /// Nothing was sent: there is no connection.
    pub(crate) fn unreachable(why: &str) -> Self {
        Self { kind: Kind::Unreachable, error: StoreError::unavailable(why) }
    }

    /// Nothing was sent: too many wait.
    pub(crate) fn queue_full(most: usize) -> Self {
        let words =
            format!("{most} questions wait for Redis already, and one more would wait in vain (`queue`)");
        Self { kind: Kind::QueueFull, error: StoreError::unavailable(words) }
    }

    /// The deadline passed, and the question was sent or not.
    pub(crate) fn timeout(sent: bool) -> Self {
        let error = if sent {
            StoreError::timeout("Redis has the question and has not answered by the deadline (`timeout`)")
        } else {
            StoreError::timeout("the deadline (`timeout`) passed before the question could be sent")
                .not_counted()
        };
        Self { kind: Kind::Timeout, error }
    }

    /// The script's answer cannot be used.
    pub(crate) fn unreadable(error: StoreError) -> Self {
        Self { kind: Kind::Unreadable, error }
    }

    /// Reads what the client library says of a call that was sent.
    pub(crate) fn of(error: &RedisError) -> Self {
        if error.is_timeout()
            || error.is_io_error()
            || error.is_connection_dropped()
            || error.is_unrecoverable_error()
        {
            let words = format!("the connection to Redis went while an answer was awaited ({error})");
            return Self { kind: Kind::Lost, error: StoreError::unavailable(words).perhaps_counted() };
        }
        let detail = error.detail().unwrap_or_default();
        let code = error.code().unwrap_or_default();
        let inner = if code == "ERR" || code.is_empty() { inner_code(detail) } else { None };
        of_code(inner.unwrap_or(code), detail, error)
    }
}

/// Returns the code in a script's error as Redis 6.2 writes it: `… -OOM command not allowed …`.
fn inner_code(detail: &str) -> Option<&str> {
    let words = detail.split_whitespace().filter_map(|word| word.strip_prefix('-'));
    words
        .map(|word| word.trim_end_matches(':'))
        .find(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
}

fn of_code(code: &str, detail: &str, error: &RedisError) -> Failure {
    let node = || error.redirect_node().map(|(node, _)| node).and_then(address);
    let (kind, words) = match (code, node()) {
        ("NOSCRIPT", _) => (
            Kind::NoScript,
            "Redis has forgotten the script, and forgets it again and again: who runs SCRIPT FLUSH?",
        ),
        ("LOADING", _) => {
            (Kind::Loading, "Redis is still reading its data from the disk; it will answer by itself")
        }
        ("MASTERDOWN", _) => (
            Kind::ReadOnly,
            "this Redis is a replica that has lost its primary; its failover is to be waited for",
        ),
        ("BUSY", _) => (Kind::Busy, "a script of somebody else keeps Redis busy; SCRIPT KILL ends it"),
        ("OOM", _) => (Kind::OutOfMemory, "Redis is full: raise maxmemory, or find out what fills it"),
        ("READONLY", _) => (
            Kind::ReadOnly,
            "this Redis is a replica and takes no writes: the url has to lead to the primary",
        ),
        ("MISCONF", _) => (
            Kind::Misconfigured,
            "Redis cannot write to its disk, and therefore takes no writes: free the disk, or turn persistence off",
        ),
        ("NOREPLICAS", _) => (
            Kind::NoReplicas,
            "Redis has fewer replicas than min-replicas-to-write asks for, and takes no writes: bring them back",
        ),
        ("NOPERM" | "NOAUTH" | "WRONGPASS", _) => {
            (Kind::NotPermitted, "Redis does not permit it to this user; docs/redis.md lists the rights")
        }
        ("MOVED", Some((host, port))) => (Kind::Moved { host, port }, "another node has the slot"),
        ("ASK", Some((host, port))) => (Kind::Ask { host, port }, "another node has the key"),
        ("TRYAGAIN", _) => {
            (Kind::TryAgain, "the keys of a slot are on their way to another node; it will end by itself")
        }
        ("CLUSTERDOWN", _) => {
            (Kind::ClusterDown, "the cluster has no node for the slot: `CLUSTER INFO` says which are missing")
        }
        ("CROSSSLOT", _) => {
            (Kind::Other, "this Redis is part of a cluster: write redis+cluster:// in the url")
        }
        // A right that is missing within the script may be missed after a first write.
        _ if is_denied_inside(detail) => {
            let words = format!("Redis does not permit a command of the script to this user: {detail}");
            return Failure {
                kind: Kind::NotPermitted,
                error: StoreError::unavailable(words).perhaps_counted().because(error.clone()),
            };
        }
        _ => {
            let words = format!("the script failed: {code} {detail}");
            return Failure { kind: Kind::Script, error: StoreError::rejected(words).perhaps_counted() };
        }
    };
    let error = match kind {
        Kind::Other => StoreError::rejected(words).because(error.clone()),
        _ => StoreError::unavailable(words).because(error.clone()),
    };
    Failure { kind, error }
}

fn is_denied_inside(detail: &str) -> bool {
    ["can't run this command", "can't access at least one of the keys", "ACL failure in script"]
        .iter()
        .any(|words| detail.contains(words))
}

/// Splits `host:port`, where a host may hold colons itself.
fn address(node: &str) -> Option<(String, u16)> {
    let (host, port) = node.rsplit_once(':')?;
    Some((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Failure {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes());
        let error = match value {
            Ok(redis::Value::ServerError(error)) => RedisError::from(error),
            Ok(other) => panic!("{other:?}"),
            Err(error) => panic!("{error}"),
        };
        Failure::of(&error)
    }

    /// Whether a charge stands decides whether anybody may ask again.
    #[test]
    fn each_word_of_a_server_says_whether_it_counted() {
        for (line, kind, counted) in [
            ("NOSCRIPT No matching script. Please use EVAL.", Kind::NoScript, false),
            ("NOSCRIPT No matching script.", Kind::NoScript, false),
            ("LOADING Redis is loading the dataset in memory", Kind::Loading, false),
            ("BUSY Redis is busy running a script.", Kind::Busy, false),
            (
                "OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:1.",
                Kind::OutOfMemory,
                false,
            ),
            (
                "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not \
                 allowed when used memory > 'maxmemory'.",
                Kind::OutOfMemory,
                false,
            ),
            ("READONLY You can't write against a read only replica. script: 1f", Kind::ReadOnly, false),
            ("NOPERM this user has no permissions to run the 'evalsha' command", Kind::NotPermitted, false),
            (
                "ERR The user executing the script can't run this command or subcommand",
                Kind::NotPermitted,
                true,
            ),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Kind::TryAgain, false),
            ("MISCONF Redis is configured to save RDB snapshots", Kind::Misconfigured, false),
            ("NOREPLICAS Not enough good replicas to write.", Kind::NoReplicas, false),
            ("MASTERDOWN Link with MASTER is down", Kind::ReadOnly, false),
            ("NOAUTH Authentication required.", Kind::NotPermitted, false),
            ("WRONGPASS invalid username-password pair", Kind::NotPermitted, false),
            ("CROSSSLOT Keys in request don't hash to the same slot", Kind::Other, false),
            ("CLUSTERDOWN Hash slot not served", Kind::ClusterDown, false),
            ("ERR user_script:1: attempt to index a nil value script: 1f", Kind::Script, true),
            ("MOVED 3999 127.0.0.1:6381", Kind::Moved { host: "127.0.0.1".to_owned(), port: 6381 }, false),
            ("ASK 3999 ::1:6381", Kind::Ask { host: "::1".to_owned(), port: 6381 }, false),
        ] {
            let failure = said(line);
            assert_eq!((failure.kind, failure.error.may_have_counted()), (kind, counted), "{line}");
        }
    }

    #[test]
    fn every_kind_has_its_name() {
        assert_eq!(Kind::NAMES[Kind::Other.index()], "other");
        assert_eq!(Kind::NAMES[Kind::ReadOnly.index()], "readonly");
        assert_eq!(Kind::NAMES[Kind::NotPermitted.index()], "noperm");
        assert_eq!(Kind::NAMES[Kind::Script.index()], "script");
    }
}
