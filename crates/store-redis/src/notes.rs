//! Notes of the operator: one hash beside the counts, a field each.
//!
//! A value is the note's end in microseconds, a colon and its text. It is read with the server's own time, written and
//! removed by single commands, and one that has ended is dropped only if it is still what was read.

use std::fmt;

use redis::{Cmd, Value};
use tidegate_algorithms::Timestamp;
use tidegate_store::{Note, Noted, Notes, Reply, StoreError};
use tokio::time::Instant;

use crate::RedisStore;
use crate::digest::{hex, slot};
use crate::error::{Failure, Kind};
use crate::held::now;
use crate::lane::Lane;
use crate::link::Live;

/// What a user needs for notes besides, as `ACL SETUSER` takes it.
pub const NOTE_RIGHTS: &str = "+hset +hget +hgetall +hdel";

/// Drops a field unless somebody has written it anew meanwhile.
const DROP: &str = "if redis.call('HGET',KEYS[1],ARGV[1])==ARGV[2] then return redis.call('HDEL',KEYS[1],ARGV[1]) end return 0";

/// A node is looked for so many times: a slot that has just moved is found with the second.
const MOST_HOPS: usize = 3;

/// Returns the name of the hash. Names of counts are a prefix and hashed bytes of another length.
pub(crate) fn name(prefix: &str) -> String {
    format!("{prefix}:overrides")
}

impl Notes for RedisStore {
    fn all(&self) -> Reply<'_, Noted> {
        Reply::waiting(async move {
            let deadline = self.deadline();
            let at = self.noting(&redis::cmd("TIME"), deadline).await?;
            let at = now(at)?;
            let raw = self.noting(&Cmd::hgetall(self.board()), deadline).await?;
            let fields: Vec<(Vec<u8>, Vec<u8>)> = redis::from_redis_value(raw).map_err(unreadable)?;
            let mut notes = Vec::new();
            for (field, value) in fields {
                match read(&field, &value) {
                    Some(note) if note.until > at => notes.push(note),
                    // It is dropped by whoever sees it first; that this fails is no reason to know of no others.
                    Some(_) => drop(self.drop_ended(&field, &value, deadline).await),
                    None => tracing::debug!(field = hex(&field), "a note that is none of Tidegate's"),
                }
            }
            notes.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(Noted { at, notes })
        })
    }

    fn put<'a>(&'a self, note: &'a Note) -> Reply<'a, ()> {
        Reply::waiting(async move {
            let value = format!("{}:{}", note.until.as_micros(), note.text);
            let put = Cmd::hset(self.board(), &note.name, value);
            self.noting(&put, self.deadline()).await.map(drop)
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Reply<'a, bool> {
        Reply::waiting(async move {
            let removed = self.noting(&Cmd::hdel(self.board(), name), self.deadline()).await?;
            Ok(removed == Value::Int(1))
        })
    }
}

/// Reads a field of the hash.
fn read(field: &[u8], value: &[u8]) -> Option<Note> {
    let (until, text) = str::from_utf8(value).ok()?.split_once(':')?;
    let until = Timestamp::from_micros(until.parse().ok()?)?;
    Some(Note { name: str::from_utf8(field).ok()?.to_owned(), text: text.to_owned(), until })
}

impl RedisStore {
    fn board(&self) -> String {
        name(&self.options().prefix)
    }

    async fn drop_ended(&self, field: &[u8], value: &[u8], deadline: Instant) -> Result<(), StoreError> {
        let mut load = Cmd::new();
        load.arg("SCRIPT").arg("LOAD").arg(DROP);
        // It is a line, and ends are rare: no reason to remember which server knows it.
        let sha1: String =
            redis::from_redis_value(self.noting(&load, deadline).await?).map_err(unreadable)?;
        let mut call = Cmd::new();
        call.arg("EVALSHA").arg(sha1).arg(1).arg(self.board()).arg(field).arg(value);
        self.noting(&call, deadline).await.map(drop)
    }

    /// Sends a command to the server that has the hash.
    async fn noting(&self, cmd: &Cmd, deadline: Instant) -> Result<Value, StoreError> {
        let slot = slot(self.board().as_bytes());
        let mut lane = self.lane_of(slot, deadline).await.map_err(|failure| failure.error)?;
        for _ in 0..MOST_HOPS {
            match sent(&lane, cmd, deadline).await {
                Ok(value) => return Ok(value),
                Err(failure) => match self.lane_named(slot, &failure) {
                    Some(named) => lane = named,
                    None => return Err(told(failure, cmd)),
                },
            }
        }
        Err(StoreError::unavailable("the slot of the overrides moves from node to node"))
    }
}

async fn sent(lane: &Lane, cmd: &Cmd, deadline: Instant) -> Result<Value, Failure> {
    let live: Live = tokio::time::timeout_at(deadline, lane.link().live())
        .await
        .map_err(|_| Failure::timeout(false))??;
    let mut connection = live.connection.clone();
    let answer = tokio::time::timeout_at(deadline, connection.send_packed_command(cmd)).await;
    let answer = answer.map_err(|_| Failure::timeout(true))?;
    answer.and_then(Value::extract_error).map_err(|error| {
        let failure = Failure::of(&error);
        if failure.kind.ends_connection() {
            lane.link().lost(&live);
        }
        failure
    })
}

/// Says which right is lacking, where one is.
fn told(failure: Failure, cmd: &Cmd) -> StoreError {
    if failure.kind != Kind::NotPermitted {
        return failure.error;
    }
    let command = cmd.args_iter().next();
    let command = match command {
        Some(redis::Arg::Simple(word)) => String::from_utf8_lossy(word).to_lowercase(),
        _ => "?".to_owned(),
    };
    StoreError::unavailable(format!(
        "Redis does not permit {command} on the hash of overrides to this user; give it the rights {NOTE_RIGHTS}"
    ))
    .not_counted()
}

fn unreadable(error: impl fmt::Display) -> StoreError {
    StoreError::rejected(format!("the hash of overrides cannot be read: {error}")).not_counted()
}
