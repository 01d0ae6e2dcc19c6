//! `CL.THROTTLE key max_burst count period [quantity]`: its arguments, its limit and its reply.
//!
//! The limit is a token bucket that holds `max_burst + 1` and is refilled by `count` in `period` seconds, which is what the
//! module's algorithm comes to. The reply has five numbers: whether the request is limited, what the bucket holds, what
//! remains, when to come back (−1 for one that may pass, and for one that never will), and when the bucket is full again,
//! both in seconds and rounded up.

use std::borrow::Cow;

use bytes::Bytes;
use futures_util::future::join_all;
use tidegate::{CheckOptions, Limit, OnStoreFailure, OwnCheck, Quota, Rate, Ruling, Snapshot, Span, Verdict};

use super::frame::Command;
use super::reply::Reply;

/// What the counts are kept under: no rule of a policy can be called so.
pub(super) const NAME: &str = "(cl.throttle)";

/// The longest period that a limit can have, in seconds: 400 days.
const MAX_PERIOD: u64 = 400 * 86_400;

/// One throttle, read.
#[derive(Debug, Clone)]
pub(super) struct Throttle {
    pub(super) key: Bytes,
    limit: Limit,
    quantity: u32,
}

impl Throttle {
    /// Reads a command of that name.
    ///
    /// # Errors
    /// With the reply, when the arguments make no limit.
    pub(super) fn read(command: &Command) -> Result<Self, Reply> {
        let (key, burst, count, period, quantity) = match &command.words[..] {
            [_, key, burst, count, period] => (key, burst, count, period, None),
            [_, key, burst, count, period, quantity] => (key, burst, count, period, Some(quantity)),
            _ => {
                let usage = "ERR usage: CL.THROTTLE key max_burst count_per_period period [quantity]";
                return Err(Reply::Error(usage.into()));
            }
        };
        let burst = number("max_burst", burst, 0)?;
        let (count, period) = (number("count_per_period", count, 1)?, number("period", period, 1)?);
        let quantity = quantity.map_or(Ok(1), |quantity| number("quantity", quantity, 0))?;
        if period > MAX_PERIOD {
            let why =
                format!("ERR period {period} is out of range; the nearest possible is {MAX_PERIOD} seconds");
            return Err(Reply::Error(why.into()));
        }
        let period = Span::from_secs(period);
        let refill = Rate::new(count, period);
        let quota = refill.and_then(|refill| Quota::token_bucket(burst.saturating_add(1), refill));
        let quota = quota.map_err(|error| Reply::Error(format!("ERR {error}").into()))?;
        Ok(Self {
            key: key.clone(),
            limit: Limit::new(NAME, quota).with_store_failure(OnStoreFailure::Deny),
            // More than any bucket holds is refused all the same.
            quantity: u32::try_from(quantity).unwrap_or(u32::MAX),
        })
    }

    async fn answer(&self, limits: &Snapshot) -> Reply {
        let check = OwnCheck { limit: &self.limit, key: &self.key, cost: self.quantity };
        reply(&limits.check_own(&[check], CheckOptions::default()).await)
    }
}

/// Answers throttles on different keys, which are asked at once.
pub(super) async fn answers(throttles: &[Throttle], limits: &Snapshot) -> Vec<Reply> {
    match throttles {
        [one] => vec![one.answer(limits).await],
        several => join_all(several.iter().map(|one| one.answer(limits))).await,
    }
}

fn reply(verdict: &Verdict) -> Reply {
    let Some(by) = verdict.decisions().first().filter(|_| !matches!(verdict.ruling(), Ruling::StoreDown))
    else {
        let why = "UNAVAILABLE the limiter's store does not answer; nobody can tell how much was used";
        return Reply::Error(why.into());
    };
    let decision = &by.decision;
    let seconds = |span: Span| i64::try_from(span.ceil_secs()).unwrap_or(i64::MAX);
    let retry = verdict.retry().and_then(tidegate::Retry::wait).map_or(-1, seconds);
    let numbers = [
        i64::from(!verdict.is_allowed()),
        i64::from(decision.limit),
        i64::from(decision.remaining),
        retry,
        seconds(decision.reset_after),
    ];
    Reply::Array(numbers.map(Reply::Integer).to_vec())
}

/// Reads a whole number of at least `least`.
fn number(what: &str, text: &Bytes, least: u64) -> Result<u64, Reply> {
    let error = |why: Cow<'_, str>| Reply::Error(format!("ERR {what} {why}").into());
    let text = std::str::from_utf8(text).map_err(|_| error("is not an integer".into()))?;
    match text.parse::<i128>() {
        Ok(number) => match u64::try_from(number) {
            Ok(number) if number >= least => Ok(number),
            Ok(_) | Err(_) if number < i128::from(least) => {
                Err(error(format!("has to be at least {least}, and is {number}").into()))
            }
            _ => Err(error("is out of range".into())),
        },
        Err(_) => Err(error("is not an integer".into())),
    }
}
