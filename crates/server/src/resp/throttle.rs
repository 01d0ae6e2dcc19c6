//! `CL.THROTTLE key max_burst count period [quantity]`: its arguments, its limit and its reply.
//!
//! The limit is a token bucket that holds `max_burst + 1` and is refilled by `count` in `period` seconds, which is what the
//! module's algorithm comes to. The reply has five numbers: whether the request is limited, what the bucket holds, what
//! remains, when to come back (−1 for one that may pass, and for one that never will), and when the bucket is full again,
//! both in seconds and rounded up.

use std::borrow::Cow;

use bytes::Bytes;
use futures_util::future::join_all;
use smallvec::SmallVec;
use tidegate::{CheckOptions, Limit, OnStoreFailure, OwnCheck, Quota, Rate, Ruling, Snapshot, Span, Verdict};

use super::frame::Command;
use super::reply::Reply;

/// What the counts are kept under: no rule of a policy can be called so.
pub(super) const NAME: &str = "(cl.throttle)";

/// The longest period that a limit can have, in seconds: 400 days.
const MAX_PERIOD: u64 = 400 * 86_400;

/// The longest word of a number that is remembered, as long as the longest that says something: zeros before it may be as many
/// as a command has bytes.
const LONGEST: usize = 20;

/// The limit that a connection asked about last, by the words of its numbers: clients ask about one limit on many keys.
#[derive(Debug, Default)]
pub(super) struct Last(Option<([Box<[u8]>; 3], Limit)>);

impl Last {
    /// Returns the limit of these numbers.
    ///
    /// # Errors
    /// With the reply, when they make none.
    fn limit(&mut self, numbers: [&Bytes; 3]) -> Result<Limit, Reply> {
        if let Some((known, limit)) = &self.0
            && known.iter().zip(numbers).all(|(known, word)| **known == **word)
        {
            return Ok(limit.clone());
        }
        let limit = limit(numbers)?;
        if numbers.iter().all(|word| word.len() <= LONGEST) {
            self.0 = Some((numbers.map(|word| word[..].into()), limit.clone()));
        }
        Ok(limit)
    }
}

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
    pub(super) fn read(command: &Command, last: &mut Last) -> Result<Self, Reply> {
        let (key, burst, count, period, quantity) = match &command.words[..] {
            [_, key, burst, count, period] => (key, burst, count, period, None),
            [_, key, burst, count, period, quantity] => (key, burst, count, period, Some(quantity)),
            _ => {
                let usage = "ERR usage: CL.THROTTLE key max_burst count_per_period period [quantity]";
                return Err(Reply::Error(usage.into()));
            }
        };
        let limit = last.limit([burst, count, period])?;
        let quantity = quantity.map_or(Ok(1), |quantity| number("quantity", quantity, 0))?;
        Ok(Self {
            key: key.clone(),
            limit,
            // More than any bucket holds is refused all the same.
            quantity: u32::try_from(quantity).unwrap_or(u32::MAX),
        })
    }

    async fn answer(&self, limits: &Snapshot) -> Reply {
        let check = OwnCheck { limit: &self.limit, key: &self.key, cost: self.quantity };
        reply(&limits.check_own(&[check], CheckOptions::default()).await)
    }
}

/// Makes the limit of three words.
fn limit([burst, count, period]: [&Bytes; 3]) -> Result<Limit, Reply> {
    let burst = number("max_burst", burst, 0)?;
    let (count, period) = (number("count_per_period", count, 1)?, number("period", period, 1)?);
    if period > MAX_PERIOD {
        let why =
            format!("ERR period {period} is out of range; the nearest possible is {MAX_PERIOD} seconds");
        return Err(Reply::Error(why.into()));
    }
    let refill = Rate::new(count, Span::from_secs(period));
    let quota = refill.and_then(|refill| Quota::token_bucket(burst.saturating_add(1), refill));
    let quota = quota.map_err(|error| Reply::Error(format!("ERR {error}").into()))?;
    Ok(Limit::new(NAME, quota).with_store_failure(OnStoreFailure::Deny))
}

/// Answers throttles on different keys, which are asked at once where the store is away: one in this process has answered
/// each before the next could be asked.
pub(super) async fn answers(throttles: &[Throttle], limits: &Snapshot) -> SmallVec<[Reply; 1]> {
    if throttles.len() > 1 && !limits.answers_at_once() {
        return join_all(throttles.iter().map(|one| one.answer(limits))).await.into();
    }
    let mut replies = SmallVec::new();
    for one in throttles {
        replies.push(one.answer(limits).await);
    }
    replies
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
    Reply::Numbers(numbers)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against another limit than the one asked about, and against a connection that holds what a long command held.
    #[test]
    fn the_last_limit_is_the_one_of_the_same_words_and_short_ones_are_kept() {
        let mut last = Last::default();
        let long = format!("{}9", "0".repeat(LONGEST));
        let all = [["9", "1", "60"], ["9", "1", "60"], ["8", "1", "60"], ["8", "2", "60"], ["8", "2", "61"]];
        for words in all.into_iter().chain([[&*long, "1", "60"], ["9", "1", "60"]]) {
            let words = words.map(|word| Bytes::copy_from_slice(word.as_bytes()));
            let [burst, count, period] = &words;
            let read = last.limit([burst, count, period]).unwrap();
            assert_eq!(read.quota(), limit([burst, count, period]).unwrap().quota(), "{words:?}");
            let (kept, _) = last.0.as_ref().unwrap();
            assert!(kept.iter().all(|word| word.len() <= LONGEST));
        }
        let wrong = Bytes::from_static(b"x");
        assert!(last.limit([&wrong, &wrong, &wrong]).is_err());
    }
}
