//! An application's life: announced, served, drained, and what that left behind.

use std::convert::Infallible;
use std::io;

use sd_notify::NotifyState;
use tidegate_policy::{Policy, StoreChoice};
use tidegate_server::app::{Addresses, App, Report};
use tidegate_server::net::DrainReport;
use tidegate_server::reload::{self, Reloader};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::exit::{Exit, Failure};

/// Runs a future on a runtime of its own.
///
/// # Errors
/// When the system gives no threads, or the future fails.
pub(crate) fn block_on(future: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = Runtime::new().map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let done = runtime.block_on(future);
    // Whatever still looks up a name must not hold up the end.
    runtime.shutdown_background();
    done
}

/// The signals that ask for an end, SIGTERM and SIGINT, and the one that asks for a reload, SIGHUP.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Listens for the signals from now on.
    ///
    /// # Errors
    /// When the system does not let us.
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot catch signals: {error}")));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that asks for an end and returns its name; reloads at each that asks for that.
    async fn next(&mut self, reloader: &Reloader) -> &'static str {
        loop {
            tokio::select! {
                signal = end(&mut self.terminate, &mut self.interrupt) => return signal,
                _ = self.hang_up.recv() => {}
            }
            // A file that takes for ever to read must not keep the process from ending.
            tokio::select! {
                signal = end(&mut self.terminate, &mut self.interrupt) => return signal,
                () = reload(reloader) => {}
            }
        }
    }
}

async fn end(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

/// Reloads, and tells the service manager when it begins and ends.
async fn reload(reloader: &Reloader) {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "the clock that the service manager asks for cannot be read"),
    }
    // Either way it has been logged.
    let _ = reloader.reload().await;
    notify(&[NotifyState::Ready]);
}

/// Logs what an application serves and where, and by which policy.
pub(crate) fn announce(file: &str, policy: &Policy, addresses: &Addresses) {
    let limits = || policy.rules.iter().chain(&policy.fallback).flat_map(|rule| &rule.limits);
    if let (Some(address), Some(face)) = (addresses.gateway, &policy.gateway) {
        tracing::info!(%address, upstream = %face.upstream, tls = face.tls.is_some(), "the gateway listens");
    }
    if let (Some(address), Some(face)) = (addresses.api, &policy.api) {
        tracing::info!(%address, token = face.token_file.is_some(), "the decision API listens");
    }
    if let (Some(address), Some(face)) = (addresses.envoy, &policy.envoy) {
        tracing::info!(%address, token = face.token_file.is_some(), "Envoy's rate-limit service listens");
    }
    if let (Some(address), Some(face)) = (addresses.resp, &policy.resp) {
        tracing::info!(%address, password = face.token_file.is_some(), "CL.THROTTLE is listened for");
    }
    if let (Some(address), Some(face)) = (addresses.admin, &policy.admin) {
        tracing::info!(%address, token = face.token_file.is_some(), "the operator's endpoint listens");
    }
    if let Some(address) = addresses.health {
        tracing::info!(%address, "health listens");
    }
    let (rules, limit_count) = (policy.rules.len(), limits().count());
    let store = match policy.store {
        StoreChoice::Memory(_) => "memory",
        StoreChoice::Redis(_) => "redis",
    };
    tracing::info!(file, rules, limits = limit_count, store, "the policy is in force");
    reload::warn_of_shadow(policy);
    reload::warn_of_words(policy);
    reload::warn_of_findings(policy);
}

/// Serves until a signal comes and all requests under way are answered; a second signal ends it at once.
///
/// SIGHUP reloads the policy; where `watches`, a change of its files does so as well.
pub(crate) async fn serve(app: App, mut signals: Signals, watches: bool) -> Exit {
    let reloader = app.reloader();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut served = std::pin::pin!(app.run(async {
        // An error is the sender's end, and that is the end as well.
        let _ = stopped.await;
    }));
    notify(&[NotifyState::Ready]);
    let signal = tokio::select! {
        signal = signals.next(&reloader) => signal,
        // Dropped with this step: while all is drained nothing is reloaded any more.
        never = watch(&reloader, watches) => match never {},
        // It only returns once it was told to.
        report = &mut served => return tell(&report),
    };
    tracing::info!(signal, "draining: requests under way are finished; a second signal ends them at once");
    notify(&[NotifyState::Stopping]);
    let _ = stop.send(());
    tokio::select! {
        report = served => tell(&report),
        signal = signals.next(&reloader) => {
            tracing::warn!(signal, "ended at once: requests under way were cut off");
            Exit::Failed
        }
    }
}

/// Watches the policy's files, if they are to be.
async fn watch(reloader: &Reloader, watches: bool) -> Infallible {
    if watches {
        reloader.watch().await;
    }
    std::future::pending().await
}

/// Logs what became of each face's connections.
fn tell(report: &Report) -> Exit {
    let faces: [(&str, Option<DrainReport>); 4] =
        [("gateway", report.gateway), ("api", report.api), ("envoy", report.envoy), ("resp", report.resp)];
    let mut exit = Exit::Fine;
    for (face, report) in faces {
        let Some(report) = report else { continue };
        if report.tunnels_closed > 0 {
            tracing::info!(face, tunnels = report.tunnels_closed, "closed tunnels that were still open");
        }
        if report.connections_cut > 0 {
            let (connections, requests) = (report.connections_cut, report.requests_cut);
            tracing::warn!(face, connections, requests, "the drain timeout cut off requests under way");
            exit = Exit::Failed;
        }
        tracing::info!(face, accepted = report.accepted, "drained");
    }
    tracing::info!("stopped");
    exit
}

/// Tells a service manager, if one asked to be told (systemd's `Type=notify`).
fn notify(state: &[NotifyState<'_>]) {
    let told: io::Result<()> = sd_notify::notify(state);
    if let Err(error) = told {
        tracing::warn!(%error, "cannot tell the service manager");
    }
}
