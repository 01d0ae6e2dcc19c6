//! `tidegate demo`: the gateway before an example service, and what to try with it.

use std::net::{Ipv4Addr, SocketAddr};

use tidegate_policy::Policy;
use tidegate_server::app::App;
use tidegate_server::net::{self, ServeOptions};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::args::{DemoArgs, Level};
use crate::demo::{guide, setup, upstream};
use crate::exit::{Exit, Failure};
use crate::lifetime::{self, Signals};
use crate::logging;
use crate::output::Output;

/// Runs the demo until a signal comes.
///
/// # Errors
/// When a port is taken.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    if args.print_policy {
        let mut out = Output::stdout();
        out.write(setup::POLICY.as_bytes());
        out.finish()?;
        return Ok(Exit::Fine);
    }
    logging::start(&args.log, Level::Warn)?;
    lifetime::block_on(demo(setup::policy()?, args.listen))
}

async fn demo(mut policy: Policy, listen: Option<SocketAddr>) -> Result<Exit, Failure> {
    let signals = Signals::new()?;
    let cannot_listen = |error| Failure::failed(format!("cannot listen: {error}"));
    let example = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(cannot_listen)?;
    let behind = example.local_addr().map_err(cannot_listen)?;
    setup::place(&mut policy, listen, behind)?;
    let app = App::bind(policy.clone()).await.map_err(|error| {
        let choose = "`tidegate demo --listen 127.0.0.1:0` lets the system choose ports that are free";
        if error.is_bind() { Failure::from(error).advise(choose) } else { Failure::from(error) }
    })?;
    let addresses = app.addresses().map_err(cannot_listen)?;
    lifetime::announce(setup::NAME, &policy, &addresses);

    let mut out = Output::stdout();
    let program = std::env::args().next().unwrap_or_else(|| "tidegate".to_owned());
    out.write(guide::text(&program, &addresses, behind).as_bytes());
    out.finish()?;

    let (stop, stopped) = oneshot::channel::<()>();
    let example = tokio::spawn(net::serve(example, upstream::service(), ServeOptions::default(), async {
        // An error is the sender's end, and that is the end as well.
        let _ = stopped.await;
    }));
    let exit = Box::pin(lifetime::serve(app, signals, false)).await;
    // The example goes last: requests that drain at the gateway are still answered by it.
    if exit == Exit::Fine {
        let _ = stop.send(());
        if let Err(error) = example.await {
            tracing::warn!(%error, "the example service did not end well");
        }
    }
    Ok(exit)
}
