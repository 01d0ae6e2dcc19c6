//! `tidegate serve`: what the policy says, until a signal comes.

use tidegate::files::Loaded;
use tidegate_server::app::App;
use tidegate_server::reload::Load;

use crate::args::{Level, ServeArgs};
use crate::descriptors;
use crate::exit::{Exit, Failure};
use crate::input::Source;
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
    has_face(&args.policy.name(), &loaded)?;
    lifetime::block_on(serve(args, loaded))
}

/// Another program's file is a policy without a face, and nobody could ask whoever serves it.
fn has_face(name: &str, loaded: &Loaded) -> Result<(), Failure> {
    let faces = loaded.policy.listens();
    if faces.iter().any(|(face, listens)| *face != "admin" && listens.is_some()) {
        return Ok(());
    }
    Err(Failure::unusable(format!(
        "{name} does not say where to listen; write beside its `rate-limit` section\n\n\
         \u{20}   gateway: {{ listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }}\n\n\
         with the address where requests come in, and the one of the service behind"
    )))
}

async fn serve(args: &ServeArgs, mut loaded: Loaded) -> Result<Exit, Failure> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "tidegate starts");
    descriptors::fit(&mut loaded.policy);
    let signals = Signals::new()?;
    let policy = loaded.policy.clone();
    let again = again(&args.policy);
    // Asked once: a file that is being replaced at this moment is watched all the same.
    let watches = !args.no_watch && again.is_some();
    let app = match again {
        Some(load) => App::bind_loaded(loaded, load).await?,
        None => App::bind(loaded.policy).await?,
    };
    let addresses = app.addresses().map_err(|error| Failure::failed(format!("cannot listen: {error}")))?;
    lifetime::announce(&args.policy.name(), &policy, &addresses);
    Ok(Box::pin(lifetime::serve(app, signals, watches)).await)
}

/// Returns what reads the policy anew, unless what it came from has been used up.
fn again(source: &Source) -> Option<Box<Load>> {
    let source = source.clone();
    source.can_be_read_again().then(|| -> Box<Load> {
        Box::new(move || {
            let mut loaded = source.load_again()?;
            descriptors::fit_again(&mut loaded.policy);
            Ok(loaded)
        })
    })
}
