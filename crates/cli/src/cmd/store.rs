//! `tidegate store`: whether a shared store answers, what it has counted on one key, and forgetting that.

mod asked;
mod show;

use std::sync::Arc;
use std::time::Instant;

use tidegate::policy_file::{Limit, Policy, ReadyKeys, StoreChoice};
use tidegate::{Limiter, ResetError, Span, Store as _, StoredKey};
use tidegate_store_redis::{Held, RedisStore};

use crate::args::{KeyArgs, StoreCommand};
use crate::exit::{Exit, Failure};
use crate::input::Source;
use crate::lifetime;
use crate::output::{self, Output};

/// A person waits longer than a request does: the first connection is made meanwhile, names are resolved for it.
const PATIENCE: Span = Span::from_secs(2);

/// Asks the store.
///
/// # Errors
/// When the policy or the key cannot be used, or the store cannot be asked.
pub(crate) fn run(command: &StoreCommand) -> Result<Exit, Failure> {
    match command {
        StoreCommand::Ping { policy: source } => {
            let policy = load(source)?;
            lifetime::block_on(ping(policy, source))
        }
        StoreCommand::Inspect { of, json } if of.admin.admin.is_some() => {
            lifetime::block_on(asked::inspect(of, *json))
        }
        StoreCommand::Reset { of } if of.admin.admin.is_some() => lifetime::block_on(asked::reset(of)),
        StoreCommand::Inspect { of, .. } | StoreCommand::Reset { of } if of.admin.token_file.is_some() => {
            let about = "--token-file is what a running process demands, and none is named";
            Err(Failure::unusable(about).advise("give --admin URL as well"))
        }
        StoreCommand::Inspect { of, json } => {
            let policy = load(&of.policy)?;
            lifetime::block_on(inspect(policy, of, *json))
        }
        StoreCommand::Reset { of } => {
            let policy = load(&of.policy)?;
            lifetime::block_on(reset(policy, of))
        }
    }
}

/// Reads a policy whose store can be asked from here.
fn load(source: &Source) -> Result<Policy, Failure> {
    let mut policy = source.load().map_err(Failure::unusable)?.policy;
    match &mut policy.store {
        StoreChoice::Redis(redis) => redis.timeout = redis.timeout.max(PATIENCE),
        StoreChoice::Memory(_) => return Err(in_memory(source, &policy)),
    }
    Ok(policy)
}

fn in_memory(source: &Source, policy: &Policy) -> Failure {
    let about = format!("{}: what it counts is in the memory of the process that serves it", source.name());
    let api = policy.api.as_ref().map_or_else(
        || "give the policy the decision API (`api`) to see it".to_owned(),
        |api| format!("see it by GET http://{}/v1/why", api.listen),
    );
    let admin = policy.admin.as_ref().map_or_else(
        || "the operator's endpoint (`admin`) to have a key forgotten".to_owned(),
        |admin| {
            let body = r#"{"limit": "rule/limit", "keys": {"name": "value"}}"#;
            format!(
                "ask it by --admin http://{}, or have a key forgotten by POST http://{}/reset with {body}",
                admin.listen, admin.listen
            )
        },
    );
    Failure::unusable(about).advise(format!("{api}, and {admin}"))
}

fn connect(policy: &Policy) -> Result<RedisStore, Failure> {
    let store = tidegate_server::store::connect(policy).map_err(Failure::unusable)?;
    store.ok_or_else(|| Failure::unusable("the policy's store is no Redis"))
}

async fn ping(policy: Policy, source: &Source) -> Result<Exit, Failure> {
    let store = connect(&policy)?;
    // The first answer takes a connection with it.
    store.ping().await.map_err(|error| unanswered(Failure::failed(error), source))?;
    let began = Instant::now();
    store.ping().await.map_err(|error| unanswered(Failure::failed(error), source))?;
    let took = began.elapsed();
    let mut out = Output::stdout();
    out.line(&format!("the store answers and decides, in {took:.1?}"));
    out.finish()?;
    warn_of_another_secret(&store);
    Ok(Exit::Fine)
}

/// Says how to find out why a store does not answer.
fn unanswered(failure: Failure, source: &Source) -> Failure {
    failure.advise(format!("`tidegate doctor {}` looks at each thing that may be in the way", source.name()))
}

/// Says so when the gateways name keys otherwise: nothing of what they count is found then, and nothing of it forgotten.
fn warn_of_another_secret(store: &RedisStore) {
    let seen = store.measures().events;
    if seen.iter().any(|(event, times)| *event == "secret_differs" && *times > 0) {
        output::to_stderr(
            "warning: another secret was used here before this one, so what gateways count under that is not seen from here; \
             give this policy the key_secret_file that they have",
        );
    }
}

/// A key of a limit, and the way to where it is counted.
struct Asked {
    limiter: Limiter,
    store: RedisStore,
    ready: ReadyKeys,
    limit: Limit,
    stored: StoredKey,
}

impl Asked {
    fn of(policy: Policy, of: &KeyArgs) -> Result<Self, Failure> {
        let store = connect(&policy)?;
        let limiter =
            Limiter::from_policy_with(policy, Arc::new(store.clone())).map_err(Failure::unusable)?;
        let ready = ready(&of.key)?;
        let snapshot = limiter.snapshot();
        let stored = snapshot.stored_key(of.limit(), &ready).map_err(Failure::unusable)?;
        let mut limits = snapshot.policy().into_iter().flat_map(Policy::limits);
        let limit = limits.find(|one| one.name == of.limit()).cloned();
        let limit = limit.ok_or_else(|| Failure::unusable(format!("there is no limit {}", of.limit())))?;
        Ok(Self { limiter, store, ready, limit, stored })
    }

    async fn look(&self, source: &Source) -> Result<Held, Failure> {
        let StoredKey { limit: name, key, is_counter, .. } = &self.stored;
        let limit = if *is_counter { self.store.plain_counter(name) } else { self.store.limit(name) };
        let held = self.store.look(limit, key, &self.limit.terms.quota).await;
        let held = held.map_err(|error| unanswered(Failure::unusable(error), source))?;
        // It was looked at when the connection was made.
        warn_of_another_secret(&self.store);
        Ok(held)
    }
}

/// Returns values by their names.
fn ready(pairs: &[(String, String)]) -> Result<ReadyKeys, Failure> {
    let mut ready = ReadyKeys::new();
    for (name, value) in pairs {
        if ready.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::unusable(format!("{name} is given twice; give it once")));
        }
    }
    Ok(ready)
}

async fn inspect(policy: Policy, of: &KeyArgs, json: bool) -> Result<Exit, Failure> {
    let asked = Asked::of(policy, of)?;
    let held = asked.look(&of.policy).await?;
    let shown = show::Shown { limit: &asked.limit, key: &of.key, stored: &asked.stored, held: &held };
    let mut out = Output::stdout();
    if json {
        out.line(&shown.json().to_string());
    } else {
        shown.lines().iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    Ok(if held.value.is_some() { Exit::Fine } else { Exit::Problems })
}

async fn reset(policy: Policy, of: &KeyArgs) -> Result<Exit, Failure> {
    let asked = Asked::of(policy, of)?;
    let held = asked.look(&of.policy).await?;
    let done = asked.limiter.reset(of.limit(), &asked.ready).await;
    done.map_err(|error: ResetError| Failure::unusable(error))?;
    let key = show::key(&of.key);
    let mut out = Output::stdout();
    let exit = if held.value.is_some() {
        let what = show::in_short(&held);
        out.line(&format!("{}, {key}: forgotten ({what})", of.limit()));
        // Refusals of a shared counter are not remembered.
        if !asked.stored.is_counter {
            out.line(
                "an instance that has just refused it may go on for half a second, or the policy's denial_memory",
            );
        }
        Exit::Fine
    } else {
        out.line(&format!("{}, {key}: nothing is counted, so there was nothing to forget", of.limit()));
        Exit::Problems
    };
    out.finish()?;
    Ok(exit)
}
