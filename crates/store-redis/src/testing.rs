//! For tests: the script asked directly, one call at a time, and random runs that hold it against the naive store.

mod clock;
mod differential;
mod numbers;
mod questions;

use std::sync::{Mutex, PoisonError};

use redis::{Connection, ConnectionLike as _};
use tidegate_algorithms::{State, Timestamp};
use tidegate_store::{Check, Decided, KeyDigest, LimitId, Refund, Reply, Store, StoreError};

pub use differential::{Tally, differential};

use crate::digest::Namer;
use crate::names::Names;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};
use crate::options::Secret;
use crate::script::{Call, Script};

/// A store that asks the script directly over one blocking connection.
pub struct Scripted {
    pub(crate) connection: Mutex<Connection>,
    pub(crate) script: Script,
    pub(crate) prefix: String,
    names: Names,
}

impl Scripted {
    /// Builds a store of a connection, with its own keys under `prefix`, and the script with faults put into it:
    /// replacements of text, each of which has to be found once.
    ///
    /// # Panics
    /// When a text to replace is not there once, or the server does not take the script.
    pub fn new(mut connection: Connection, prefix: &str, faults: &[(&str, &str)]) -> Self {
        let mut source = Script::default().source().to_owned();
        for (from, to) in faults {
            assert_eq!(source.matches(from).count(), 1, "{from:?} is not in the script once");
            source = source.replace(from, to);
        }
        let script = Script::of(&source);
        let loaded = connection.req_command(redis::cmd("SCRIPT").arg("LOAD").arg(script.source()));
        assert!(loaded.is_ok(), "{loaded:?}");
        Self {
            connection: Mutex::new(connection),
            script,
            prefix: prefix.to_owned(),
            names: Names::new(Namer::new(&Secret::new(*b"a secret for tests"))),
        }
    }

    /// Asks several questions in one call.
    pub(crate) fn ask(
        &self,
        ops: &[Op],
        at: Option<Timestamp>,
    ) -> Result<Vec<Result<Answer, StoreError>>, StoreError> {
        let call = Call::new(&self.prefix, ops, at);
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = connection.req_command(&call.evalsha(self.script.sha1()));
        let reply = reply.map_err(|error| StoreError::rejected(error.to_string()).perhaps_counted())?;
        let read = call.read(&reply)?;
        Ok(read.answers)
    }

    /// Returns the values of keys as they are, each with an expiry of its own.
    pub(crate) fn values(&self, digests: &[Digest]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut pipe = redis::pipe();
        for digest in digests {
            let key = digest.redis_key(&self.prefix);
            pipe.get(&key).pttl(&key);
        }
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let read: redis::RedisResult<Vec<redis::Value>> = pipe.query(&mut *connection);
        let read = read.map_err(|error| error.to_string())?;
        let pairs = read.as_chunks::<2>().0.iter();
        pairs
            .map(|[value, left]| match (value, left) {
                (redis::Value::Nil, _) => Ok(None),
                (redis::Value::BulkString(value), redis::Value::Int(1..)) => Ok(Some(value.clone())),
                (value, left) => Err(format!("{value:?} is kept for {left:?} ms")),
            })
            .collect()
    }

    /// Decides several checks in one call, each as a question of its own, as those of callers who wait together are.
    ///
    /// # Errors
    /// When the server does not answer, or not with a decision on each.
    pub fn decide_each(&self, checks: &[Check<'_>]) -> Result<Vec<Decided>, StoreError> {
        let op = |check| Ok(Op::Decide { checks: vec![self.own(check)?], peek: false });
        let ops = checks.iter().map(op).collect::<Result<Vec<_>, StoreError>>()?;
        let decided = |answer| match answer? {
            Answer::Decided(decided) => Ok(decided),
            _ => Err(StoreError::rejected("another answer")),
        };
        self.ask(&ops, None)?.into_iter().map(decided).collect()
    }

    fn one(&self, op: Op, at: Option<Timestamp>) -> Result<Answer, StoreError> {
        let mut answers = self.ask(&[op], at)?;
        answers.pop().unwrap_or_else(|| Err(StoreError::rejected("there is no answer")))
    }

    pub(crate) fn own(&self, check: &Check<'_>) -> Result<OwnCheck, StoreError> {
        self.names.checks(std::slice::from_ref(check))?.pop().ok_or_else(|| StoreError::rejected("no check"))
    }

    fn decided(
        &self,
        checks: &[Check<'_>],
        at: Option<Timestamp>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        let checks = self.names.checks(checks)?;
        match self.one(Op::Decide { checks, peek }, at)? {
            Answer::Decided(decided) => Ok(decided),
            _ => Err(StoreError::rejected("another answer")),
        }
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Store for Scripted {
    fn limit(&self, name: &str) -> LimitId {
        self.names.id(name)
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(self.decided(checks, at, false))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::ready(self.decided(checks, at, true))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        let refunds = refunds.iter().filter_map(OwnRefund::of).collect();
        Reply::ready(self.one(Op::Refund(refunds), at).map(drop))
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        Reply::ready(
            self.names.digest(limit, key).and_then(|digest| self.one(Op::Reset(digest), None)).map(drop),
        )
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        let answer = self.names.digest(limit, key).and_then(|digest| self.one(Op::Inspect(digest), None));
        Reply::ready(answer.map(|answer| if let Answer::State(state) = answer { state } else { None }))
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::ready(Ok(()))
    }

    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        self.names.digest(limit, key).ok().map(Digest::to_key)
    }
}
