//! What the store in Redis costs, against what one would write by hand, on one server in one run.

pub(super) mod bytes;
pub(super) mod callers;
mod cpu;
mod gateway;
pub(super) mod keys;
mod scripts;
pub(super) mod server;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};
use tokio::runtime::Runtime;

use super::Scale;
use super::computed::page::Page;
use server::Server;

/// Starts a server, takes every measurement and adds the tables.
///
/// # Errors
/// When there is no `redis-server`, or anything measured fails or decides otherwise than it has to.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    let bench = Bench::new(KEYS)?;
    page.line(&format!(
        "Redis {}, one server on the loopback interface, nothing kept on the disk; {} cores, shared with the callers, \
         who run on {WORKERS} threads.",
        bench.server.version()?,
        std::thread::available_parallelism().map_or(1, usize::from),
    ));
    cpu::measure(&bench, scale, page)?;
    gateway::measure(&bench, scale, page)?;
    bytes::measure(page)
}

/// How many threads the callers run on.
const WORKERS: usize = 2;
/// How many keys there are, but where they are weighed.
const KEYS: usize = 100_000;

/// What the measurements share.
pub(super) struct Bench {
    pub(super) server: Server,
    runtime: Runtime,
    pub(super) keys: Arc<Vec<Vec<u8>>>,
}

impl Bench {
    /// Starts a server, and has so many keys.
    pub(super) fn new(keys: usize) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
        let runtime = runtime.context("starting the callers' threads")?;
        Ok(Self { server: Server::start()?, runtime, keys: Arc::new(keys::all(keys)) })
    }

    /// Connects a store as a gateway does, but for a deadline that no machine under load misses.
    pub(super) fn store(&self) -> Result<RedisStore> {
        let servers = Servers::Standalone { host: "127.0.0.1".to_owned(), port: self.server.port() };
        let mut options = RedisOptions::new(servers, Secret::new(*b"a secret that measures nothing.."));
        options.timeout = Duration::from_secs(10);
        let _guard = self.runtime.enter();
        Ok(RedisStore::connect(options)?)
    }
}
