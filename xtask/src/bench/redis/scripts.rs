//! What a server is asked without the store in between: bare commands, the hand-written script, gathered calls.

use anyhow::{Result, ensure};
use redis::{Connection, Pipeline};
use tidegate_store::algorithms::{Ask, Quota};
use tidegate_store::{Check, Store as _};
use tidegate_store_redis::testing::Scripted;

use super::Bench;
use super::keys::Random;

/// How many commands are on their way at once, where none is waited for alone.
pub(super) const PIPELINE: usize = 16;
/// How many decisions go into a gathered call.
pub(super) const GATHERED: usize = 32;
const GCRA: &str = include_str!("../gcra.lua");

/// Commands over one connection, so many at a time. Keys that are only to be there are always made sixteen at a time.
pub(super) struct Piped {
    connection: Connection,
    pipeline: usize,
    gcra: String,
    names: Vec<Vec<u8>>,
    random: Random,
}

/// The numbers of the hand-written script.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gcra {
    pub(super) per_micros: u64,
    pub(super) most: u64,
    /// Whether it has to admit.
    pub(super) admits: bool,
}

impl Piped {
    /// Loads the script. Names of keys are as long as the store's: 20 bytes.
    pub(super) fn new(bench: &Bench, prefix: char, pipeline: usize) -> Result<Self> {
        let mut connection = bench.server.connection()?;
        let gcra = redis::cmd("SCRIPT").arg("LOAD").arg(GCRA).query(&mut connection)?;
        let names = (0..bench.keys.len()).map(|number| format!("{prefix}:{number:018}").into_bytes());
        Ok(Self { connection, pipeline, gcra, names: names.collect(), random: Random::new(1) })
    }

    /// Returns whether each answer is waited for.
    pub(super) fn waits(&self) -> bool {
        self.pipeline == 1
    }

    /// Counts `count` times on random keys, as a limiter without an expiry or an answer does.
    pub(super) fn incr(&mut self, count: usize) -> Result<()> {
        for _ in 0..count / self.pipeline {
            let mut pipe = Pipeline::with_capacity(self.pipeline);
            for _ in 0..self.pipeline {
                let place = self.random.below(self.names.len());
                pipe.cmd("INCR").arg(self.name(place));
            }
            pipe.query::<Vec<u64>>(&mut self.connection)?;
        }
        Ok(())
    }

    /// Counts once on every key.
    pub(super) fn incr_each(&mut self) -> Result<()> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        for some in places.chunks(PIPELINE) {
            let mut pipe = Pipeline::with_capacity(PIPELINE);
            for place in some {
                pipe.cmd("INCR").arg(self.name(*place));
            }
            pipe.query::<Vec<u64>>(&mut self.connection)?;
        }
        Ok(())
    }

    /// Runs the hand-written script `count` times on random keys.
    pub(super) fn gcra(&mut self, numbers: Gcra, count: usize) -> Result<()> {
        let places: Vec<usize> = (0..count).map(|_| self.random.below(self.names.len())).collect();
        self.gcra_on(numbers, self.pipeline, &places)
    }

    /// Runs the hand-written script once on every key.
    pub(super) fn gcra_each(&mut self, numbers: Gcra) -> Result<()> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        self.gcra_on(numbers, PIPELINE, &places)
    }

    fn gcra_on(&mut self, numbers: Gcra, pipeline: usize, places: &[usize]) -> Result<()> {
        for some in places.chunks(pipeline) {
            let mut pipe = Pipeline::with_capacity(pipeline);
            for place in some {
                pipe.cmd("EVALSHA").arg(&self.gcra).arg(1).arg(self.name(*place));
                pipe.arg(numbers.per_micros).arg(numbers.most).arg(1);
            }
            let answers: Vec<(u64, u64)> = pipe.query(&mut self.connection)?;
            let expected = u64::from(numbers.admits);
            ensure!(
                answers.iter().all(|(it, _)| *it == expected),
                "the hand-written script decided otherwise"
            );
        }
        Ok(())
    }

    /// Counts once on every key, with an expiry.
    pub(super) fn incr_and_expire_each(&mut self) -> Result<()> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        for some in places.chunks(PIPELINE) {
            let mut pipe = Pipeline::with_capacity(2 * PIPELINE);
            for place in some {
                pipe.cmd("INCR").arg(self.name(*place)).ignore();
                pipe.cmd("PEXPIRE").arg(self.name(*place)).arg(86_400_000).ignore();
            }
            pipe.query::<()>(&mut self.connection)?;
        }
        Ok(())
    }

    fn name(&self, place: usize) -> &[u8] {
        self.names.get(place).map_or(&[], Vec::as_slice)
    }
}

/// The store's own script, 32 decisions to a call, one call after the other.
pub(super) struct Gathered {
    scripted: Scripted,
    quota: Quota,
    admits: bool,
    random: Random,
}

impl Gathered {
    pub(super) fn new(bench: &Bench, prefix: &str, quota: Quota, admits: bool) -> Result<Self> {
        let scripted = Scripted::new(bench.server.connection()?, prefix, &[]);
        Ok(Self { scripted, quota, admits, random: Random::new(2) })
    }

    /// Makes `count` decisions on random keys.
    pub(super) fn decide(&mut self, bench: &Bench, count: usize) -> Result<()> {
        let places: Vec<usize> = (0..count).map(|_| self.random.below(bench.keys.len())).collect();
        self.decide_on(bench, &places, self.admits)
    }

    /// Decides once on every key, which all have to be admitted.
    pub(super) fn each_once(&mut self, bench: &Bench) -> Result<()> {
        let places: Vec<usize> = (0..bench.keys.len()).collect();
        self.decide_on(bench, &places, true)
    }

    fn decide_on(&self, bench: &Bench, places: &[usize], admits: bool) -> Result<()> {
        let limit = self.scripted.limit("bench/gathered");
        for some in places.chunks(GATHERED) {
            let keys = some.iter().filter_map(|place| bench.keys.get(*place));
            let check = |key| Check { limit, key, quota: &self.quota, ask: Ask::ONE, shadow: false };
            let checks: Vec<Check<'_>> = keys.map(|key| check(key)).collect();
            let decided = self.scripted.decide_each(&checks)?;
            ensure!(decided.iter().all(|it| it.admitted == admits), "a gathered call decided otherwise");
        }
        Ok(())
    }
}
