//! The store: names for limits, questions for the way to the server.

use std::fmt;
use std::sync::Arc;

use tidegate_algorithms::{State, Timestamp};
use tidegate_store::{Check, Decided, KeyDigest, LimitId, Measures, Notes, Refund, Reply, Store, StoreError};
use tokio::time::Instant;

use crate::cluster::{Apart, Cluster};
use crate::counter::{Given, Tally, Told, What, counter_script};
use crate::digest::{Namer, slot};
use crate::error::Failure;
use crate::lane::{Lane, LaneOptions, Together};
use crate::link::{Dialer, Link, Target};
use crate::measures::{Called, Counters};
use crate::names::Names;
use crate::op::{Answer, Op, OwnRefund};
use crate::options::{OptionsError, RedisOptions, Servers};
use crate::script::Script;
use crate::trial;

/// The most checks of a batch: what one byte of a call counts.
const MAX_CHECKS: usize = 255;

/// State in Redis, shared by every instance that has the same secret and prefix.
///
/// Cheap to clone; clones share everything. Connections are kept by tasks of the runtime it was made in, which end with the
/// last clone.
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    options: RedisOptions,
    names: Names,
    way: Way,
    counters: Arc<Counters>,
    /// The names of shared counters that were charged.
    given: Given,
}

/// The way to whoever answers.
enum Way {
    One(Lane),
    Many(Cluster),
}

impl RedisStore {
    /// Begins to keep a connection, and returns at once: the server need not be there yet, and until it is, every question
    /// fails as one to a server that cannot be reached.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate_store::Store;
    /// use tidegate_store_redis::{RedisOptions, RedisStore, Secret, Servers};
    ///
    /// let servers = Servers::Standalone { host: "127.0.0.1".to_owned(), port: 6379 };
    /// let secret = Secret::new(*b"thirty-two random bytes, at best");
    /// let store = RedisStore::connect(RedisOptions::new(servers, secret))?;
    /// store.ping().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the options cannot be right: the words say which one and why.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn connect(options: RedisOptions) -> Result<Self, OptionsError> {
        options.check()?;
        if options.tls.is_some() {
            // The client library takes the process's cryptography, and panics where none was chosen; one that was stays.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let (script, namer) = (Script::default(), Namer::new(&options.secret));
        let counters = Arc::new(Counters::default());
        let dialer = |target| dialer(&options, &namer, &counters, target);
        let lanes = |is_cluster| LaneOptions {
            prefix: options.prefix.clone(),
            script: script.clone(),
            counters: counter_script(),
            timeout: options.timeout,
            queue: options.queue,
            is_cluster,
        };
        let one = |target| {
            let link = Link::keep(dialer(target), Arc::clone(&counters));
            Way::One(Lane::open(link, lanes(false), Arc::clone(&counters)))
        };
        let way = match &options.servers {
            Servers::Standalone { .. } | Servers::Sentinel { .. } => one(Target::of(&options.servers)),
            Servers::Cluster { seeds } => {
                let dialer = dialer(Target::of(&options.servers));
                Way::Many(Cluster::open(seeds.clone(), dialer, lanes(true), Arc::clone(&counters)))
            }
        };
        Ok(Self(Arc::new(Inner {
            options,
            names: Names::new(namer),
            way,
            counters,
            given: Given::default(),
        })))
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.0.options.timeout
    }

    pub(crate) async fn ask(&self, op: Op, at: Option<Timestamp>) -> Result<Answer, StoreError> {
        let writes = !matches!(
            op,
            Op::Decide { peek: true, .. }
                | Op::Inspect(_)
                | Op::Counter(Tally { what: What::Look { .. }, .. })
        );
        let answer = self.ask_until(op, at, self.deadline()).await;
        answer.map_err(|failure| if writes { failure.error } else { failure.error.not_counted() })
    }

    pub(crate) async fn ask_until(
        &self,
        op: Op,
        at: Option<Timestamp>,
        deadline: Instant,
    ) -> Result<Answer, Failure> {
        let counters = matches!(op, Op::Counter(_));
        let together = Together { at: at.filter(|_| !counters), slot: 0, counters, asking: false };
        match &self.0.way {
            Way::One(lane) => lane.ask(op, together, deadline).await,
            Way::Many(cluster) => cluster.ask(op, together, deadline).await,
        }
    }

    async fn decided(
        &self,
        checks: &[Check<'_>],
        at: Option<Timestamp>,
        peek: bool,
    ) -> Result<Decided, StoreError> {
        if checks.len() > MAX_CHECKS {
            let words = format!("a batch of {} checks; at most {MAX_CHECKS} go together", checks.len());
            return Err(StoreError::rejected(words));
        }
        if checks.iter().any(|check| self.is_counter(check.limit)) {
            return self.decided_with_counters(checks, at, peek).await;
        }
        let checks = self.0.names.checks(checks)?;
        match self.ask(Op::Decide { checks, peek }, at).await? {
            Answer::Decided(decided) => Ok(decided),
            _ => Err(other_answer()),
        }
    }

    async fn pinged(&self) -> Result<(), Failure> {
        let deadline = self.deadline();
        match &self.0.way {
            Way::One(lane) => {
                ping(lane, &self.0.counters, deadline).await?;
                let together = Together { at: None, slot: 0, counters: false, asking: false };
                match trial::question(trial::anywhere()) {
                    // By a deadline of its own, as any decision: two ways there and back are no slow store.
                    Some(op) => lane.ask(op, together, self.deadline()).await.map(drop),
                    None => Ok(()),
                }
            }
            Way::Many(cluster) => cluster.ping(deadline).await,
        }
    }
}

impl RedisStore {
    /// Returns what connections of this store's kind are made with.
    pub(crate) fn dialer(&self) -> Dialer {
        let Inner { options, names, counters, .. } = &*self.0;
        dialer(options, names.namer(), counters, Target::of(&options.servers))
    }

    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }

    pub(crate) fn given(&self) -> &Given {
        &self.0.given
    }

    pub(crate) fn options(&self) -> &RedisOptions {
        &self.0.options
    }

    /// Returns the name of a limit's key in Redis, and the lane to whoever has it.
    pub(crate) async fn way_to(&self, limit: LimitId, key: &[u8]) -> Result<(Vec<u8>, Lane), StoreError> {
        let digest = self.0.names.digest(limit, key)?;
        let is_counter = self.is_counter(limit);
        let name = if is_counter { key.to_vec() } else { digest.redis_key(&self.0.options.prefix) };
        let lane = self.lane_of(slot(&name), self.deadline()).await.map_err(|failure| failure.error)?;
        Ok((name, lane))
    }

    /// Returns the lane to whoever has a slot.
    pub(crate) async fn lane_of(&self, slot: u16, deadline: Instant) -> Result<Lane, Failure> {
        match &self.0.way {
            Way::One(lane) => Ok(lane.clone()),
            Way::Many(cluster) => cluster.lane_of(slot, deadline).await,
        }
    }

    /// Returns the lane to the node that another has named for a slot; of a server by itself none.
    pub(crate) fn lane_named(&self, slot: u16, failure: &Failure) -> Option<Lane> {
        match &self.0.way {
            Way::One(_) => None,
            Way::Many(cluster) => cluster.lane_named(slot, failure),
        }
    }
}

fn dialer(options: &RedisOptions, namer: &Namer, counters: &Arc<Counters>, target: Target) -> Dialer {
    Dialer {
        target,
        username: options.username.clone(),
        password: options.password.clone(),
        tls: options.tls.clone(),
        database: options.database,
        timeout: options.timeout,
        script: Script::default(),
        namer: namer.clone(),
        prefix: options.prefix.clone(),
        counters: Arc::clone(counters),
    }
}

/// Asks one server whether it answers, and counts it if not.
pub(crate) async fn ping(lane: &Lane, counters: &Counters, deadline: Instant) -> Result<(), Failure> {
    pinged(lane, counters, deadline).await.inspect_err(|failure| counters.failed(failure))
}

async fn pinged(lane: &Lane, counters: &Counters, deadline: Instant) -> Result<(), Failure> {
    let live = tokio::time::timeout_at(deadline, lane.link().live()).await;
    let live = live.map_err(|_| Failure::timeout(false))??;
    counters.called(Called::Ping);
    let mut connection = live.connection.clone();
    let question = redis::cmd("PING");
    let answer = tokio::time::timeout_at(deadline, connection.send_packed_command(&question)).await;
    match answer.map(|answer| answer.and_then(redis::Value::extract_error)) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            let failure = Failure::of(&error);
            if failure.kind.ends_connection() {
                lane.link().lost(&live);
            }
            Err(Failure { error: failure.error.not_counted(), ..failure })
        }
        Err(_) => {
            // An idle connection to a peer that is gone would stay for ever: it is made anew.
            lane.link().lost(&live);
            Err(Failure::timeout(false))
        }
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("options", &self.0.options).finish_non_exhaustive()
    }
}

fn other_answer() -> StoreError {
    Failure::other_answer().error
}

impl Store for RedisStore {
    fn limit(&self, name: &str) -> LimitId {
        self.0.names.id(name)
    }

    fn decide<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::waiting(self.decided(checks, at, false))
    }

    fn peek<'a>(&'a self, checks: &'a [Check<'a>], at: Option<Timestamp>) -> Reply<'a, Decided> {
        Reply::waiting(self.decided(checks, at, true))
    }

    fn refund<'a>(&'a self, refunds: &'a [Refund<'a>], at: Option<Timestamp>) -> Reply<'a, ()> {
        let (counters, refunds): (Vec<&Refund<'_>>, Vec<&Refund<'_>>) =
            refunds.iter().partition(|refund| self.is_counter(refund.receipt.limit()));
        let refunds: Vec<OwnRefund> = refunds.into_iter().filter_map(OwnRefund::of).collect();
        Reply::waiting(async move {
            let (deadline, mut apart) = (self.deadline(), Apart::default());
            for refund in counters {
                apart.note(self.refund_counter(refund, deadline).await);
            }
            for some in refunds.chunks(MAX_CHECKS) {
                apart.note(self.ask_until(Op::Refund(some.to_vec()), at, deadline).await.map(drop));
            }
            apart.result().map_err(|failure| failure.error)
        })
    }

    fn reset<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, ()> {
        Reply::waiting(async move {
            let op = if self.is_counter(limit) {
                Op::Counter(Tally { name: key.to_vec(), what: What::Forget })
            } else {
                Op::Reset(self.0.names.digest(limit, key)?)
            };
            self.ask(op, None).await.map(drop)
        })
    }

    fn inspect<'a>(&'a self, limit: LimitId, key: &'a [u8]) -> Reply<'a, Option<State>> {
        Reply::waiting(async move {
            if self.is_counter(limit) {
                let tally = Tally { name: key.to_vec(), what: What::Look { window: 0 } };
                return self.ask_tally(tally).await.map(Told::state);
            }
            match self.ask(Op::Inspect(self.0.names.digest(limit, key)?), None).await? {
                Answer::State(state) => Ok(state),
                _ => Err(other_answer()),
            }
        })
    }

    fn ping(&self) -> Reply<'_, ()> {
        Reply::waiting(async move { self.pinged().await.map_err(|failure| failure.error.not_counted()) })
    }

    fn digest(&self, limit: LimitId, key: &[u8]) -> Option<KeyDigest> {
        let digest = self.0.names.digest(limit, key).ok()?;
        if self.is_counter(limit) {
            // Whoever asks is about to give back.
            self.0.given.note(digest, key);
        }
        Some(digest.to_key())
    }

    fn plain_counter(&self, name: &str) -> LimitId {
        self.0.names.counter_id(name)
    }

    fn refusals_may_be_remembered(&self) -> bool {
        matches!(self.0.options.servers, Servers::Standalone { .. } | Servers::Sentinel { .. })
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn measures(&self) -> Measures {
        self.0.counters.read()
    }
}
