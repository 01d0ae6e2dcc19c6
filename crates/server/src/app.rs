//! The application: every face a policy names, bound, then run until told to stop.
//!
//! Binding is a step of its own, so that an occupied port is an error before anything is served, and tests run the
//! real thing on port 0.

mod error;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tidegate::files::Loaded;
use tidegate::{Limiter, Store};
use tidegate_policy::Policy;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::alerts::{AlertOptions, Alerts};
use crate::gateway::{self, Gateway};
use crate::net::tls::Shown;
use crate::net::{DrainReport, Networks, ServeOptions, serve};
use crate::overrides::Overrides;
use crate::reload::{InForce, Load, Reloader, Shared, Status};
use crate::snapshot::Keeper;
use crate::store;
use crate::tokens::Tokens;
use crate::watch::Watched;
use crate::watchman::Watchman;
use crate::{admin, api, envoy, health, resp};

pub use error::StartError;

/// A limiter with every face its policy names, bound and ready to run.
pub struct App {
    gateway: Option<(TcpListener, Gateway, ServeOptions)>,
    api: Option<TcpListener>,
    envoy: Option<TcpListener>,
    resp: Option<TcpListener>,
    admin: Option<TcpListener>,
    health: Option<TcpListener>,
    reloader: Reloader,
}

/// Where an application listens; `None` for a face it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// The gateway's address.
    pub gateway: Option<SocketAddr>,
    /// The decision API's address.
    pub api: Option<SocketAddr>,
    /// The address of Envoy's rate-limit service.
    pub envoy: Option<SocketAddr>,
    /// The address of the listener for `CL.THROTTLE`.
    pub resp: Option<SocketAddr>,
    /// The operator's endpoint's address.
    pub admin: Option<SocketAddr>,
    /// The health endpoint's address.
    pub health: Option<SocketAddr>,
}

/// What became of each face's connections; `None` for a face the application does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// The gateway's.
    pub gateway: Option<DrainReport>,
    /// The decision API's.
    pub api: Option<DrainReport>,
    /// That of Envoy's rate-limit service.
    pub envoy: Option<DrainReport>,
    /// That of the listener for `CL.THROTTLE`.
    pub resp: Option<DrainReport>,
}

/// What an application is given rather than reads from its policy.
#[derive(Default)]
struct Given {
    store: Option<Arc<dyn Store>>,
    alerts: Option<AlertOptions>,
}

impl App {
    /// Binds every face of a policy that stays as it is.
    ///
    /// # Errors
    /// When a port is taken, or a file the policy names cannot be used; nothing is served then.
    pub async fn bind(policy: Policy) -> Result<Self, StartError> {
        Self::bind_with(Loaded { policy, sources: Vec::new() }, None, Given::default()).await
    }

    /// Binds every face of a policy that stays as it is, over a store of the caller's and with alerts of the caller's,
    /// whatever the policy says of these.
    ///
    /// # Errors
    /// As [`App::bind`], and when a webhook can never be told anything.
    pub async fn bind_on(
        policy: Policy,
        store: Arc<dyn Store>,
        alerts: Option<AlertOptions>,
    ) -> Result<Self, StartError> {
        let given = Given { store: Some(store), alerts };
        Self::bind_with(Loaded { policy, sources: Vec::new() }, None, given).await
    }

    /// Binds every face of a policy that `load` has read, and reads anew when a reload is asked for.
    ///
    /// # Errors
    /// As [`App::bind`].
    pub async fn bind_loaded(loaded: Loaded, load: Box<Load>) -> Result<Self, StartError> {
        Self::bind_with(loaded, Some(load), Given::default()).await
    }

    async fn bind_with(loaded: Loaded, load: Option<Box<Load>>, given: Given) -> Result<Self, StartError> {
        let Loaded { policy, sources } = loaded;
        // Before certificates and tokens are read: what changes in between is seen by the first look.
        let watched = load.as_ref().map(|_| Watched::of(&policy, &sources)).unwrap_or_default();
        let alerts = given.alerts.or_else(|| alert_options(&policy));
        let alerts = alerts.map(Alerts::new).transpose().map_err(StartError::Alerts)?;
        let (limiter, snapshot) = limiter(&policy, given.store)?;
        let in_force = in_force(limiter, &policy)?;
        let mut gateway = None;
        if let (Some(face), Some(service)) = (&policy.gateway, &in_force.gateway) {
            let options = gateway::options(face, &in_force.balancers, in_force.certificate.as_ref());
            let options = options.map_err(StartError::Tls)?;
            gateway = Some((listen("gateway", face.listen).await?, service.clone(), options));
        }
        let status = Status::new(&sources).into();
        if let Some(alerts) = alerts.clone() {
            in_force.limiter.on_nearing(move |nearing| alerts.limit_nearing(&nearing));
        }
        Ok(Self {
            gateway,
            api: face("api", policy.api.as_ref().map(|face| face.listen)).await?,
            envoy: face("envoy", policy.envoy.as_ref().map(|face| face.listen)).await?,
            resp: face("resp", policy.resp.as_ref().map(|face| face.listen)).await?,
            admin: face("admin", policy.admin.as_ref().map(|face| face.listen)).await?,
            health: face("health", policy.health.as_ref().map(|face| face.listen)).await?,
            reloader: Reloader {
                shared: Shared { in_force, load, status, snapshot, alerts, watched: watched.into() }.into(),
            },
        })
    }

    /// Returns where the application listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn addresses(&self) -> io::Result<Addresses> {
        let address = |listener: Option<&TcpListener>| listener.map(TcpListener::local_addr).transpose();
        Ok(Addresses {
            gateway: address(self.gateway.as_ref().map(|(listener, ..)| listener))?,
            api: address(self.api.as_ref())?,
            envoy: address(self.envoy.as_ref())?,
            resp: address(self.resp.as_ref())?,
            admin: address(self.admin.as_ref())?,
            health: address(self.health.as_ref())?,
        })
    }

    /// Returns the limiter all faces share.
    pub fn limiter(&self) -> &Limiter {
        &self.reloader.shared.in_force.limiter
    }

    /// Returns what reloads the application's policy, also while it runs.
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// Serves until `shutdown` completes and every request under way has been answered.
    ///
    /// Health says "not ready" from then on, and is the last to go, with the operator's endpoint: whoever watches can see
    /// the draining.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Report {
        let in_force = &self.reloader.shared.in_force;
        in_force.overrides.begin().await;
        let (draining, drained) = (CancellationToken::new(), CancellationToken::new());
        let stop = || draining.clone().cancelled_owned();
        let gateway = async {
            let (listener, service, options) = self.gateway?;
            Some(serve(listener, service, options, stop()).await)
        };
        let api = async {
            let service = api::service(in_force.limiter.clone(), in_force.tokens.api.clone());
            Some(serve(self.api?, service, ServeOptions::for_decisions(), stop()).await)
        };
        let envoy = async {
            let (limiter, token) = (in_force.limiter.clone(), in_force.tokens.envoy.clone());
            let service = envoy::service_with(limiter, token, draining.clone(), in_force.envoy_hits.clone());
            Some(serve(self.envoy?, service, ServeOptions::for_decisions(), stop()).await)
        };
        let resp = async {
            Some(
                resp::serve(self.resp?, in_force.limiter.clone(), in_force.tokens.resp.clone(), stop()).await,
            )
        };
        let faces = async {
            // Where none of these faces is, nothing drains, and health must still wait for the stop.
            let (gateway, api, envoy, resp, ()) =
                tokio::join!(gateway, api, envoy, resp, draining.cancelled());
            drained.cancel();
            Report { gateway, api, envoy, resp }
        };
        let last = || drained.clone().cancelled_owned();
        let admin = async {
            let Some(listener) = self.admin else { return };
            let router = admin::router(self.reloader.clone(), in_force.tokens.admin.clone());
            serve(listener, router, ServeOptions::default(), last()).await;
        };
        let health = async {
            let Some(listener) = self.health else { return };
            let status = self.reloader.status().clone();
            let router = health::router_watched(in_force.limiter.clone(), draining.clone(), status);
            serve(listener, router, ServeOptions::default(), last()).await;
        };
        let told = async {
            shutdown.await;
            draining.cancel();
        };
        let kept = keep(&self.reloader.shared, &drained);
        let alerts = &self.reloader.shared.alerts;
        let watchman = Watchman::new(in_force.limiter.clone());
        let watched = watchman.run(alerts.as_ref(), last());
        let alerted = alert(alerts.as_ref(), last());
        let (report, ..) = tokio::join!(faces, admin, health, told, kept, watched, alerted);
        in_force.limiter.look_back();
        report
    }
}

/// Keeps the memory store in its file, and the overrides as the store has them, until `stop`.
async fn keep(shared: &Shared, stop: &CancellationToken) {
    let last = || stop.clone().cancelled_owned();
    let snapshot = async {
        if let Some(snapshot) = &shared.snapshot {
            snapshot.keep(last()).await;
        }
    };
    tokio::join!(snapshot, shared.in_force.overrides.keep(last()));
}

/// Tells the webhooks until `stop` completes.
async fn alert(alerts: Option<&Alerts>, stop: impl Future<Output = ()>) {
    let Some(alerts) = alerts else { return };
    tokio::select! {
        () = alerts.run() => {}
        () = stop => {}
    }
}

/// Returns whom the policy wants told, and how.
fn alert_options(policy: &Policy) -> Option<AlertOptions> {
    let alerts = policy.alerts.as_ref()?;
    Some(AlertOptions {
        webhooks: alerts.webhooks.clone(),
        every: alerts.every.as_duration(),
        labels: vec![("instance".to_owned(), instance(policy))],
    })
}

/// Names this process as nobody else is named, by the machine and a port: of two on one machine, the end of one's alert
/// would else end the other's, whose store is lost still.
fn instance(policy: &Policy) -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let gateway = policy.gateway.as_ref().map(|face| face.listen);
    let api = policy.api.as_ref().map(|face| face.listen);
    let listens = gateway.or(api).or(policy.health.as_ref().map(|face| face.listen));
    match listens.map(|address| address.port()) {
        None | Some(0) => machine,
        Some(port) => format!("{machine}:{port}"),
    }
}

/// Builds the limiter on the store that it is given, or that the policy names, with what keeps that store in a file.
fn limiter(policy: &Policy, store: Option<Arc<dyn Store>>) -> Result<(Limiter, Option<Keeper>), StartError> {
    let shared = if store.is_none() { store::shared(policy).map_err(StartError::Store)? } else { None };
    if let Some(store) = store.or(shared) {
        let limiter = Limiter::from_policy_with(policy.clone(), store).map_err(StartError::Limiter)?;
        return Ok((limiter, None));
    }
    let snapshot =
        Keeper::of(policy).map_err(|error| StartError::Limiter(tidegate::BuildError::Store(error)))?;
    let limiter = match &snapshot {
        Some(snapshot) => Limiter::from_policy_on(policy.clone(), &snapshot.store()),
        None => Limiter::from_policy(policy.clone()),
    };
    Ok((limiter.map_err(StartError::Limiter)?, snapshot))
}

/// Builds what a reload replaces.
fn in_force(limiter: Limiter, policy: &Policy) -> Result<InForce, StartError> {
    let face = policy.gateway.as_ref();
    let service = face.map(|face| gateway::service(&limiter, face, &policy.trusted));
    let files = face.and_then(|face| face.tls.as_ref());
    let tokens = Tokens::read(policy).map_err(|(face, source)| StartError::Token { face, source })?;
    let certificate = files.map(|files| Shown::read(&files.certificate, &files.key));
    Ok(InForce {
        gateway: service.transpose().map_err(StartError::Upstream)?,
        certificate: certificate.transpose().map_err(StartError::Tls)?,
        balancers: Networks::from(policy.trusted.networks().to_vec()),
        tokens: tokens.into(),
        envoy_hits: envoy::hits::Hits::default(),
        overrides: Overrides::new(limiter.clone(), policy.clone()),
        limiter,
    })
}

async fn face(face: &'static str, address: Option<SocketAddr>) -> Result<Option<TcpListener>, StartError> {
    match address {
        Some(address) => listen(face, address).await.map(Some),
        None => Ok(None),
    }
}

async fn listen(face: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Bind { face, address, source })
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_processes_on_one_machine_are_told_apart_in_alerts() {
        let named = |port: u16| {
            let text = format!(
                "tidegate: 1\ngateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:1 }}\nrules: [{{ name: a, \
                 match: {{ path: /** }}, limits: [{{ name: a, says: One., key: global, sliding_log: {{ limit: 1, window: \
                 1s }} }}] }}]"
            );
            tidegate_policy::parse("test.yaml", &text)
                .map(|policy| super::instance(&policy))
                .unwrap_or_default()
        };
        assert!(named(8080).ends_with(":8080") && named(8081).ends_with(":8081"), "{}", named(8080));
    }
}
