//! What a Redis holds of one key, for an operator.

use std::time::Duration;

use redis::{Cmd, Value};
use tidegate_algorithms::{Quota, State, Timestamp};
use tidegate_store::{LimitId, StoreError};
use tokio::time::Instant;

use crate::RedisStore;
use crate::codec::decode;
use crate::counter::{Told, window};
use crate::digest::hex;
use crate::error::Failure;
use crate::link::Live;

/// What is held of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The name of the key in Redis.
    pub name: Vec<u8>,
    /// The server's instant when it was asked.
    pub at: Timestamp,
    /// The value; `None` when there is none.
    pub value: Option<HeldValue>,
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldValue {
    /// Its states, each with the numbers it was written under: the one that was written last, if it means anything still,
    /// then those left under other numbers. Of a shared counter the one that its count comes to. `None` when the value is
    /// none of ours.
    pub states: Option<Vec<(State, Quota)>>,
    /// How long until Redis forgets it; `None` when it never does, or the user may not ask.
    pub forgotten_in: Option<Duration>,
    /// The length of the value; zero when it is no string.
    pub length: usize,
    /// The bytes it takes with its name and all around them, unless the user may not ask.
    pub bytes: Option<u64>,
}

impl Held {
    /// Returns the name of the key as hexadecimal digits.
    pub fn name_in_hex(&self) -> String {
        hex(&self.name)
    }
}

impl RedisStore {
    /// Looks at what is held of a limit's key, and changes nothing. A shared counter, which has no numbers with it, is taken
    /// to be counted under `quota`.
    ///
    /// How long it is kept and how many bytes it takes is told if the user has the rights `pttl` and `memory|usage`.
    ///
    /// # Errors
    /// When the server cannot be reached or does not let us look.
    pub async fn look(&self, limit: LimitId, key: &[u8], quota: &Quota) -> Result<Held, StoreError> {
        let deadline = Instant::now() + self.options().timeout;
        let (name, lane) = self.way_to(limit, key).await?;
        let live = tokio::time::timeout_at(deadline, lane.link().live()).await;
        let live = live.map_err(|_| Failure::timeout(false).error)?.map_err(|failure| failure.error)?;
        let ask = async |words: &[&str]| {
            let mut cmd = Cmd::new();
            cmd.arg(words).arg(&name);
            asked(&live, &cmd, deadline).await
        };
        let at = now(asked(&live, &redis::cmd("TIME"), deadline).await.map_err(|failure| failure.error)?)?;
        let raw = match ask(&["GET"]).await {
            Ok(Value::Nil) => return Ok(Held { name, at, value: None }),
            Ok(Value::BulkString(raw)) => Some(raw),
            Ok(_) => None,
            Err(failure) => return Err(failure.error),
        };
        let number = |value: Result<Value, Failure>| match value {
            Ok(Value::Int(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        let left = number(ask(&["PTTL"]).await);
        let bytes = number(ask(&["MEMORY", "USAGE"]).await);
        let states = if self.is_counter(limit) {
            let count = raw.as_deref().and_then(whole);
            let left = left.or_else(|| Some(window(quota)));
            count.map(|count| vec![(Told { at, count, left }.window(), *quota)])
        } else {
            let plans = raw.as_deref().and_then(decode);
            plans.map(|plans| plans.current.into_iter().chain(plans.left).collect())
        };
        let forgotten_in = left.map(Duration::from_millis);
        let length = raw.map_or(0, |raw| raw.len());
        Ok(Held { name, at, value: Some(HeldValue { states, forgotten_in, length, bytes }) })
    }
}

/// Reads the value of a counter, as Redis takes it.
fn whole(raw: &[u8]) -> Option<i64> {
    let count: i64 = str::from_utf8(raw).ok()?.parse().ok()?;
    (count.to_string().as_bytes() == raw).then_some(count)
}

async fn asked(live: &Live, cmd: &Cmd, deadline: Instant) -> Result<Value, Failure> {
    let mut connection = live.connection.clone();
    let answer = tokio::time::timeout_at(deadline, connection.send_packed_command(cmd)).await;
    let answer = answer.map_err(|_| Failure::timeout(false))?.and_then(Value::extract_error);
    answer.or_else(|error| {
        if error.code() == Some("WRONGTYPE") {
            // There is a value, and no string.
            return Ok(Value::Okay);
        }
        let failure = Failure::of(&error);
        Err(Failure { error: failure.error.not_counted(), ..failure })
    })
}

/// Reads what `TIME` answers.
pub(crate) fn now(value: Value) -> Result<Timestamp, StoreError> {
    let read: redis::RedisResult<(u64, u64)> = redis::from_redis_value(value).map_err(Into::into);
    let micros = read.ok().and_then(|(seconds, micros)| seconds.checked_mul(1_000_000)?.checked_add(micros));
    let now = micros.and_then(Timestamp::from_micros);
    now.ok_or_else(|| StoreError::rejected("the server tells no time that can be read"))
}
