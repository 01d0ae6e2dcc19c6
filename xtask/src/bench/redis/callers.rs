//! Callers that ask one thing after the other, many at a time.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidegate_store::algorithms::{Ask, Quota};
use tidegate_store::{Check, Store as _};
use tidegate_store_redis::RedisStore;
use tokio::task::JoinSet;

use super::Bench;
use super::keys::Random;

/// What callers ask a store.
#[derive(Clone)]
pub(in super::super) struct Asking {
    pub(in super::super) store: RedisStore,
    pub(in super::super) limit: &'static str,
    pub(in super::super) quota: Quota,
    /// Whether it has to admit.
    pub(in super::super) admits: bool,
    /// How many of the keys are asked for.
    pub(in super::super) keys: usize,
}

/// Has so many callers make `count` decisions together, on random keys.
pub(in super::super) fn decide(bench: &Bench, asking: &Asking, callers: usize, count: usize) -> Result<()> {
    bench.together(callers, |caller| {
        let (asking, keys) = (asking.clone(), Arc::clone(&bench.keys));
        let mut random = Random::new(caller as u64);
        async move {
            for _ in 0..count / callers {
                asking.one(&keys, random.below(asking.keys)).await?;
            }
            Ok(())
        }
    })
}

/// Has 64 callers decide once on every key.
pub(in super::super) fn each_once(bench: &Bench, asking: &Asking) -> Result<()> {
    const CALLERS: usize = 64;
    bench.together(CALLERS, |caller| {
        let (asking, keys) = (asking.clone(), Arc::clone(&bench.keys));
        async move {
            for place in (caller..keys.len()).step_by(CALLERS) {
                asking.one(&keys, place).await?;
            }
            Ok(())
        }
    })
}

impl Bench {
    /// Runs so many callers and waits for all of them.
    pub(in super::super) fn together<F>(&self, callers: usize, caller: impl Fn(usize) -> F) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        self.runtime.block_on(async {
            let mut all = JoinSet::new();
            (0..callers).for_each(|number| {
                all.spawn(caller(number));
            });
            while let Some(done) = all.join_next().await {
                done??;
            }
            Ok(())
        })
    }
}

impl Asking {
    async fn one(&self, keys: &[Vec<u8>], place: usize) -> Result<()> {
        let key = keys.get(place).map_or(&[][..], Vec::as_slice);
        let limit = self.store.limit(self.limit);
        let check = Check { limit, key, quota: &self.quota, ask: Ask::ONE, shadow: false };
        let decided = self.store.decide(&[check], None).await?;
        ensure!(decided.admitted == self.admits, "{}: admitted is {}", self.limit, decided.admitted);
        Ok(())
    }

    /// Returns the questions and the calls of the script that the store has counted.
    pub(in super::super) fn questions_and_calls(&self) -> (u64, u64) {
        let measures = self.store.measures();
        let of = |names: &[(&str, u64)], name| {
            names.iter().find(|(one, _)| *one == name).map_or(0, |(_, count)| *count)
        };
        (of(&measures.events, "questions"), of(&measures.calls, "script"))
    }
}
