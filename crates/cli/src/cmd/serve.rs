//! `tidegate serve`: what the policy says, until a signal comes.

use tidegate_policy::Policy;
use tidegate_server::app::App;

use crate::args::{Level, ServeArgs};
use crate::descriptors;
use crate::exit::{Exit, Failure};
use crate::lifetime::{self, Signals};
use crate::logging;

/// Reads the policy, binds its faces and serves.
///
/// # Errors
/// When the policy cannot be used, or a face cannot be bound.
pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    logging::start(&args.log, Level::Info)?;
    let loaded = args.policy.load().map_err(|error| {
        let about = if error.is_unreadable() { "" } else { "the policy cannot be used\n" };
        Failure::unusable(format!("{about}{error}"))
    })?;
    lifetime::block_on(serve(args.policy.name(), loaded.policy))
}

async fn serve(file: String, mut policy: Policy) -> Result<Exit, Failure> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "tidegate starts");
    descriptors::fit(&mut policy);
    let signals = Signals::new()?;
    let app = App::bind(policy.clone()).await?;
    let addresses = app.addresses().map_err(|error| Failure::failed(format!("cannot listen: {error}")))?;
    lifetime::announce(&file, &policy, &addresses);
    Ok(lifetime::serve(app, signals).await)
}
