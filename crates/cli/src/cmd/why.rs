//! `tidegate why`: which rules apply to a request and which do not, what is read of it, and what every limit says.

mod request;
mod show;

use std::sync::Arc;

use tidegate::why::Why;
use tidegate::{CheckOptions, Limiter, MemoryStore, Span, Timestamp};

use crate::args::{OutputStyle, WhyArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use request::Asked;

pub(crate) use request::{instant, key};
pub(crate) use show::shown_key;

/// Explains a request by a policy, on a state in which nothing is counted yet but its repetitions.
///
/// # Errors
/// When the policy or the request cannot be used.
pub(crate) fn run(args: &WhyArgs) -> Result<Exit, Failure> {
    let asked = Asked::of(args)?;
    let policy = args.policy.load().map_err(Failure::unusable)?.policy;
    if let Some(name) = asked.unknown_key(&policy) {
        return Err(Failure::unusable(name));
    }
    let styles = policy.headers.clone();
    // In memory whatever the policy's store: nothing is counted yet, and a question must not reach what others count.
    let store = MemoryStore::new(Limiter::memory_options(&policy));
    let store = store.map_err(|error| Failure::failed(format!("cannot make a store: {error}")))?;
    let limiter = Limiter::from_policy_with(policy, Arc::new(store)).map_err(Failure::failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let why = runtime.block_on(explain(&limiter, &asked, args.repeat));
    let mut out = Output::stdout();
    match args.output {
        OutputStyle::Human => {
            for line in show::lines(&asked, &why, &styles) {
                out.line(&line);
            }
        }
        OutputStyle::Json => out.line(&show::json(&asked, &why, &styles).to_string()),
    }
    out.finish()?;
    Ok(Exit::Fine)
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
