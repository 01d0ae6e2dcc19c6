//! What a user has to be permitted, and whether it is.

use redis::Cmd;

use super::server::Expected;
use crate::script::Script;

/// What a user needs, as `ACL SETUSER` takes it, beside the keys of the prefix. Sentinel needs `+role` besides, a cluster
/// `+cluster|slots +asking`, overrides [`NOTE_RIGHTS`](crate::NOTE_RIGHTS), shared
/// counters [`COUNTER_RIGHTS`](crate::COUNTER_RIGHTS); `+info +pttl +memory|usage` are for operators' commands alone.
pub const RIGHTS: &str = "+evalsha +script|load +ping +time +get +set +del";

/// A command that is tried, and the right it needs.
pub(super) struct Trial {
    pub(super) right: &'static str,
    pub(super) cmd: Cmd,
}

fn trial(right: &'static str, words: &[&str]) -> Trial {
    let mut cmd = Cmd::new();
    cmd.arg(words);
    Trial { right, cmd }
}

/// Returns everything that is to be tried, in an order in which each only stands on what comes before it.
pub(super) fn trials(prefix: &str, script: &Script, expected: Expected) -> Vec<Trial> {
    let own = format!("{prefix}:doctor");
    let mut trials = vec![
        trial("ping", &["PING"]),
        trial("time", &["TIME"]),
        trial("set", &["SET", &own, "1", "PX", "1000"]),
        trial("get", &["GET", &own]),
        trial("del", &["DEL", &own]),
        trial("script|load", &["SCRIPT", "LOAD", script.source()]),
        // A call that asks nothing.
        trial("evalsha", &["EVALSHA", script.sha1(), "0", "", ""]),
    ];
    match expected {
        Expected::Alone => {}
        Expected::Watched => trials.push(trial("role", &["ROLE"])),
        Expected::Node => {
            trials.push(trial("cluster|slots", &["CLUSTER", "SLOTS"]));
            trials.push(trial("asking", &["ASKING"]));
        }
    }
    trials
}

/// Returns what is to be tried of the rights that notes need; the field they write is of no note, and is removed.
pub(super) fn note_trials(prefix: &str) -> Vec<Trial> {
    let hash = crate::notes::name(prefix);
    vec![
        trial("hset", &["HSET", &hash, "doctor", ""]),
        trial("hget", &["HGET", &hash, "doctor"]),
        trial("hgetall", &["HGETALL", &hash]),
        trial("hdel", &["HDEL", &hash, "doctor"]),
    ]
}

/// Returns what is to be tried of the rights that counters need whose names begin so.
pub(super) fn counter_trials(name: &str) -> Vec<Trial> {
    let own = format!("{name}:tidegate-doctor");
    vec![
        trial("incrby", &["INCRBY", &own, "2"]),
        trial("pexpire", &["PEXPIRE", &own, "1000"]),
        trial("pttl", &["PTTL", &own]),
        trial("get", &["GET", &own]),
        trial("decrby", &["DECRBY", &own, "1"]),
        trial("del", &["DEL", &own]),
    ]
}

/// What became of a trial.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tried {
    Permitted,
    /// The user lacks the right to the command.
    NoCommand,
    /// The user lacks the right to the key.
    NoKey,
    /// It failed for another reason.
    Failed,
}

/// Returns what an error's words mean.
pub(super) fn meaning(error: &str) -> Tried {
    let words = error.to_lowercase();
    if words.contains("moved") || words.contains("ask ") {
        // Rights are looked at before the slot is.
        Tried::Permitted
    } else if !words.contains("noperm") && !words.contains("permission") {
        Tried::Failed
    } else if words.contains("key") {
        Tried::NoKey
    } else {
        Tried::NoCommand
    }
}
