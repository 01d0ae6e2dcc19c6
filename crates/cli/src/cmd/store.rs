//! `tidegate store`: whether a shared store answers, what it has counted on one key, and forgetting that.

mod asked;
mod show;

use std::sync::Arc;
use std::time::Instant;

use tidegate::policy_file::{Limit, Policy, ReadyKeys, StoreChoice};
use tidegate::{Limiter, ResetError, Span, Store as _, StoredKey};
use tidegate_store_redis::{Held, RedisStore};

use crate::args::{KeyArgs, LimitKey, StoreCommand};
use crate::exit::{Exit, Failure};
use crate::input::Source;
use crate::key_words::{self, Part, Style, advised};
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
        StoreCommand::Inspect { of, json } if of.is_asked() => lifetime::block_on(asked::inspect(of, *json)),
        StoreCommand::Reset { of } if of.is_asked() => lifetime::block_on(asked::reset(of)),
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
    /// The words of the key.
    key: Vec<String>,
}

impl Asked {
    fn of(policy: Policy, of: &KeyArgs) -> Result<Self, Failure> {
        let LimitKey { limit: name, key } = of.on()?;
        let store = connect(&policy)?;
        let limiter =
            Limiter::from_policy_with(policy, Arc::new(store.clone())).map_err(Failure::unusable)?;
        let snapshot = limiter.snapshot();
        let parts = snapshot.policy().map(|policy| parts(policy, &name)).unwrap_or_default();
        let ready = key_words::ready(&key, &parts, Style::Bare)?;
        let stored = snapshot.stored_key(&name, &ready).map_err(|error| {
            let is_key = matches!(error, ResetError::UnknownKey { .. } | ResetError::MissingKey { .. });
            let parts: &[Part] = if is_key { &parts } else { &[] };
            advised(Failure::unusable(error), &key, parts, Style::Bare)
        })?;
        let mut limits = snapshot.policy().into_iter().flat_map(Policy::limits);
        let limit = limits.find(|one| one.name == name).cloned();
        let limit = limit.ok_or_else(|| Failure::unusable(format!("there is no limit {name}")))?;
        Ok(Self { limiter, store, ready, limit, stored, key })
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

/// Returns the parts of a limit's key, and of a route the patterns there are: those of its rule.
fn parts(policy: &Policy, limit: &str) -> Vec<Part> {
    let rules = policy.rules.iter().chain(&policy.fallback);
    let mut limits = rules.flat_map(|rule| rule.limits.iter().map(move |limit| (rule, limit)));
    let Some((rule, limit)) = limits.find(|(_, one)| one.name == limit) else { return Vec::new() };
    let routes = rule.matches.iter().flat_map(|matcher| &matcher.paths);
    let routes: Vec<String> = routes.map(|pattern| pattern.text().to_owned()).collect();
    let routes = if routes.is_empty() { vec!["*".to_owned()] } else { routes };
    let part = |name: &str| {
        let values = if name == "route" { routes.clone() } else { Vec::new() };
        Part { name: name.to_owned(), values }
    };
    limit.key.sources().into_iter().map(part).collect()
}

async fn inspect(policy: Policy, of: &KeyArgs, json: bool) -> Result<Exit, Failure> {
    let asked = Asked::of(policy, of)?;
    let held = asked.look(&of.policy).await?;
    let shown = show::Shown { limit: &asked.limit, key: &asked.key, stored: &asked.stored, held: &held };
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
    let done = asked.limiter.reset(&asked.limit.name, &asked.ready).await;
    done.map_err(|error: ResetError| Failure::unusable(error))?;
    let (limit, key) = (&asked.limit.name, show::key(&asked.key));
    let mut out = Output::stdout();
    let exit = if held.value.is_some() {
        let what = show::in_short(&held);
        out.line(&format!("{limit}, {key}: forgotten ({what})"));
        // Refusals of a shared counter are not remembered.
        if !asked.stored.is_counter {
            out.line(
                "an instance that has just refused it may go on for half a second, or the policy's denial_memory",
            );
        }
        Exit::Fine
    } else {
        out.line(&format!("{limit}, {key}: nothing is counted, so there was nothing to forget"));
        Exit::Problems
    };
    out.finish()?;
    Ok(exit)
}
