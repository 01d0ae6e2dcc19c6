//! `tidegate why`: which rules apply to a request and which do not, what is read of it, and what every limit says.

mod call;
mod request;
mod show;

use std::sync::Arc;

use serde_json::Value;
use tidegate::policy_file::Policy;
use tidegate::why::Why;
use tidegate::{CheckOptions, Limiter, MemoryStore, Span, Timestamp};

use crate::args::{OutputStyle, WhyArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use request::Asked;

pub(crate) use call::{Entries, descriptor};
pub(crate) use request::{instant, key};
pub(crate) use show::shown_key;

/// Explains a request, or a call about descriptors, by a policy, on a state in which nothing is counted yet but its
/// repetitions.
///
/// # Errors
/// When the policy or what is asked about cannot be used.
pub(crate) fn run(args: &WhyArgs) -> Result<Exit, Failure> {
    match &args.domain {
        Some(domain) => call::run(args, domain)?,
        None => request(args)?,
    }
    Ok(Exit::Fine)
}

fn request(args: &WhyArgs) -> Result<(), Failure> {
    let asked = Asked::of(args)?;
    let policy = args.policy.load().map_err(Failure::unusable)?.policy;
    if let Some(name) = asked.unknown_key(&policy) {
        return Err(Failure::unusable(name));
    }
    let styles = policy.headers.clone();
    let limiter = limiter(policy)?;
    let why = block_on(explain(&limiter, &asked, args.repeat))?;
    write(args.output, || show::lines(&asked, &why, &styles), || show::json(&asked, &why, &styles))
}

/// Returns a limiter that has counted nothing, in memory whatever the policy's store: a question must not reach what others
/// count.
fn limiter(policy: Policy) -> Result<Limiter, Failure> {
    let store = MemoryStore::new(Limiter::memory_options(&policy));
    let store = store.map_err(|error| Failure::failed(format!("cannot make a store: {error}")))?;
    Limiter::from_policy_with(policy, Arc::new(store)).map_err(Failure::failed)
}

fn block_on<T>(explained: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(explained))
}

fn write(
    style: OutputStyle,
    lines: impl FnOnce() -> Vec<String>,
    json: impl FnOnce() -> Value,
) -> Result<(), Failure> {
    let mut out = Output::stdout();
    match style {
        OutputStyle::Human => lines().iter().for_each(|line| out.line(line)),
        OutputStyle::Json => out.line(&json().to_string()),
    }
    out.finish()
}

/// Makes the request as often as was asked for, then explains the next.
async fn explain(limiter: &Limiter, asked: &Asked, repeat: u32) -> Why {
    let at: Option<Timestamp> = Some(asked.at);
    let options = CheckOptions { at, max_delay: Span::MAX, cost: asked.cost, peek: false };
    let (request, ready) = (asked.request(), Some(&asked.keys));
    for _ in 0..repeat {
        let _ = limiter.check_with(&request, ready, options).await;
    }
    limiter.snapshot().why(&request, ready, options).await
}
