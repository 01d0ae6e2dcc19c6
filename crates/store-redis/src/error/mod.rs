//! What went wrong, in the words of a store; above all whether it may have been counted.
//!
//! Servers are read by the first word of what they say; the rest of the text differs between versions. Inside a script
//! Redis 6.2 puts that word into a longer sentence, after a hyphen.

mod kind;

use redis::RedisError;
use tidegate_store::StoreError;

pub(crate) use kind::Kind;

const UNKNOWN_USER: &str =
    "Redis does not know this user, or the password is another: see to `username` and `password_file`";

/// Why there is no connection, or why one that is being made gets no answer. Nothing was counted.
#[derive(Debug, Clone)]
pub(crate) struct NoConnection {
    pub(crate) kind: Kind,
    /// The server's words, or what was seen of it.
    pub(crate) why: String,
    /// What the server's word means, and what to do about it.
    meaning: Option<&'static str>,
}

impl NoConnection {
    /// Reads what the client library says while a connection is made.
    pub(crate) fn of(error: &RedisError) -> Self {
        let (kind, meaning) = match (error.kind(), known(error.code().unwrap_or_default(), error)) {
            (_, Some((kind, meaning))) => (kind, Some(meaning)),
            // It wraps what the server said of the password.
            (redis::ErrorKind::AuthenticationFailed, None) => (Kind::NotPermitted, Some(UNKNOWN_USER)),
            (_, None) => (Kind::Unreachable, None),
        };
        Self { kind, why: error.to_string(), meaning }
    }

    /// Returns the same with the place and what was tried there before its words, and what they mean behind them.
    pub(crate) fn at(self, place: &str) -> Self {
        let meaning = self.meaning.map(|meaning| format!(" ({meaning})")).unwrap_or_default();
        Self { why: format!("{place}: {}{meaning}", self.why), meaning: None, ..self }
    }
}

impl<T: Into<String>> From<T> for NoConnection {
    fn from(why: T) -> Self {
        Self { kind: Kind::Unreachable, why: why.into(), meaning: None }
    }
}

impl From<NoConnection> for Failure {
    fn from(NoConnection { kind, why, .. }: NoConnection) -> Self {
        Self { kind, error: StoreError::unavailable(why) }
    }
}

/// A question that was not answered.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) error: StoreError,
}

impl Failure {
    /// Nothing was sent: there is no connection.
    pub(crate) fn unreachable(why: &str) -> Self {
        Self { kind: Kind::Unreachable, error: StoreError::unavailable(why) }
    }

    /// The script answered what is no answer to the question: whether it ran is not known.
    pub(crate) fn other_answer() -> Self {
        let error = StoreError::rejected("the script answered another question");
        Self::unreadable(error.perhaps_counted())
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
        // A script that hands on what a command of its own said begins with its place.
        let is_sentence = code == "ERR" || code.is_empty() || code.starts_with("@user_script");
        let inner = if is_sentence { inner_code(detail) } else { None };
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
    if let Some((kind, words)) = known(code, error) {
        let told = match kind {
            Kind::Other => StoreError::rejected(words),
            _ => StoreError::unavailable(words),
        };
        return Failure { kind, error: told.because(error.clone()) };
    }
    // A right that is missing within the script may be missed after a first write.
    if is_denied_inside(detail) {
        let words = format!("Redis does not permit a command of the script to this user: {detail}");
        let error = StoreError::unavailable(words).perhaps_counted().because(error.clone());
        return Failure { kind: Kind::NotPermitted, error };
    }
    let words = format!("the script failed: {code} {detail}");
    Failure { kind: Kind::Script, error: StoreError::rejected(words).perhaps_counted() }
}

/// Returns what a server's code means, with what to do about it, where it says by itself that nothing ran.
fn known(code: &str, error: &RedisError) -> Option<(Kind, &'static str)> {
    let node = || error.redirect_node().and_then(|(node, _)| address(node));
    Some(match code {
        "NOSCRIPT" => (
            Kind::NoScript,
            "Redis has forgotten the script, and forgets it again and again: who runs SCRIPT FLUSH?",
        ),
        "LOADING" => {
            (Kind::Loading, "Redis is still reading its data from the disk; it will answer by itself")
        }
        "MASTERDOWN" => (
            Kind::ReadOnly,
            "this Redis is a replica that has lost its primary; its failover is to be waited for",
        ),
        "BUSY" => (Kind::Busy, "a script of somebody else keeps Redis busy; SCRIPT KILL ends it"),
        "OOM" => (Kind::OutOfMemory, "Redis is full: raise maxmemory, or find out what fills it"),
        "READONLY" => (
            Kind::ReadOnly,
            "this Redis is a replica and takes no writes: the url has to lead to the primary",
        ),
        "MISCONF" => (
            Kind::Misconfigured,
            "Redis cannot write to its disk, and therefore takes no writes: free the disk, or turn persistence off",
        ),
        "NOREPLICAS" => (
            Kind::NoReplicas,
            "Redis has fewer replicas than min-replicas-to-write asks for, and takes no writes: bring them back",
        ),
        "NOAUTH" | "WRONGPASS" => (Kind::NotPermitted, UNKNOWN_USER),
        "NOPERM" => {
            (Kind::NotPermitted, "Redis does not permit it to this user; docs/redis.md lists the rights")
        }
        "MOVED" => {
            let (host, port) = node()?;
            (Kind::Moved { host, port }, "another node has the slot")
        }
        "ASK" => {
            let (host, port) = node()?;
            (Kind::Ask { host, port }, "another node has the key")
        }
        "TRYAGAIN" => {
            (Kind::TryAgain, "the keys of a slot are on their way to another node; it will end by itself")
        }
        "CLUSTERDOWN" => {
            (Kind::ClusterDown, "the cluster has no node for the slot: `CLUSTER INFO` says which are missing")
        }
        "CROSSSLOT" => (Kind::Other, "this Redis is part of a cluster: write redis+cluster:// in the url"),
        _ => return None,
    })
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
            ("@user_script: 38: -OOM command not allowed when full.", Kind::OutOfMemory, false),
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
}
