//! The application: every face a policy names, bound, then run until told to stop.
//!
//! Binding is a step of its own, so that an occupied port is an error before anything is served, and tests run the
//! real thing on port 0.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tidegate::Limiter;
use tidegate_policy::Policy;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::{self, Token, TokenError};
use crate::gateway::{self, Gateway};
use crate::health;
use crate::net::tls::TlsError;
use crate::net::{DrainReport, ServeOptions, serve};
use crate::proxy::UpstreamError;

/// A limiter with every face its policy names, bound and ready to run.
pub struct App {
    limiter: Limiter,
    gateway: Option<(TcpListener, Gateway, ServeOptions)>,
    api: Option<(TcpListener, Option<Token>)>,
    health: Option<TcpListener>,
}

/// Where an application listens; `None` for a face it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// The gateway's address.
    pub gateway: Option<SocketAddr>,
    /// The decision API's address.
    pub api: Option<SocketAddr>,
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
}

/// Why an application cannot start; the words say what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A listener could not be bound.
    #[error("{face}: {}", cannot_listen(*.address, .source))]
    Bind {
        /// The face.
        face: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A certificate or its key cannot be used.
    #[error("gateway: {0}")]
    Tls(#[source] TlsError),
    /// The upstream cannot be forwarded to.
    #[error("gateway: {0}")]
    Upstream(#[source] UpstreamError),
    /// The decision API's token cannot be read.
    #[error("api: {0}")]
    Token(#[source] TokenError),
    /// The policy does not make a limiter.
    #[error("{0}")]
    Limiter(#[source] tidegate::BuildError),
}

impl StartError {
    /// Returns whether an address cannot be listened on, for whatever reason.
    pub fn is_bind(&self) -> bool {
        matches!(self, Self::Bind { .. })
    }

    /// Returns whether somebody else listens on the address.
    pub fn is_address_in_use(&self) -> bool {
        matches!(self, Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
    }
}

/// Says why an address cannot be listened on, and what to do about it.
fn cannot_listen(address: SocketAddr, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => {
            return format!("{address} is in use; stop what listens there, or choose another `listen`");
        }
        io::ErrorKind::PermissionDenied => {
            "choose a port from 1024 up, or give the process the right to lower ones (CAP_NET_BIND_SERVICE)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "`listen` has to be an address of this machine: 127.0.0.1 for itself alone, 0.0.0.0 for all of its own"
        }
        _ => "choose another `listen`",
    };
    format!("cannot listen on {address}: {error}; {remedy}")
}

impl App {
    /// Binds every face of a policy.
    ///
    /// # Errors
    /// When a port is taken, or a file the policy names cannot be used; nothing is served then.
    pub async fn bind(policy: Policy) -> Result<Self, StartError> {
        let mut app = Self {
            limiter: Limiter::from_policy(policy.clone()).map_err(StartError::Limiter)?,
            gateway: None,
            api: None,
            health: None,
        };
        if let Some(face) = &policy.gateway {
            let service = gateway::service(&app.limiter, face, &policy.trusted);
            let service = service.map_err(StartError::Upstream)?;
            let options = gateway::options(face, &policy.trusted).map_err(StartError::Tls)?;
            app.gateway = Some((listen("gateway", face.listen).await?, service, options));
        }
        if let Some(face) = &policy.api {
            let token = face.token_file.as_deref().map(Token::read).transpose().map_err(StartError::Token)?;
            app.api = Some((listen("api", face.listen).await?, token));
        }
        if let Some(face) = &policy.health {
            app.health = Some(listen("health", face.listen).await?);
        }
        Ok(app)
    }

    /// Returns where the application listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn addresses(&self) -> io::Result<Addresses> {
        let address = |listener: Option<&TcpListener>| listener.map(TcpListener::local_addr).transpose();
        Ok(Addresses {
            gateway: address(self.gateway.as_ref().map(|(listener, ..)| listener))?,
            api: address(self.api.as_ref().map(|(listener, _)| listener))?,
            health: address(self.health.as_ref())?,
        })
    }

    /// Returns the limiter all faces share.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Serves until `shutdown` completes and every request under way has been answered.
    ///
    /// Health says "not ready" from then on, and is the last to go: whoever watches can see the draining.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Report {
        let (draining, drained) = (CancellationToken::new(), CancellationToken::new());
        let stop = || draining.clone().cancelled_owned();
        let gateway = async {
            let (listener, service, options) = self.gateway?;
            Some(serve(listener, service, options, stop()).await)
        };
        let api = async {
            let (listener, token) = self.api?;
            let router = api::router(self.limiter.clone(), token);
            Some(serve(listener, router, ServeOptions::default(), stop()).await)
        };
        let faces = async {
            // Without a gateway or an API nothing drains, and health must still wait for the stop.
            let (gateway, api, ()) = tokio::join!(gateway, api, draining.cancelled());
            drained.cancel();
            Report { gateway, api }
        };
        let health = async {
            let Some(listener) = self.health else { return };
            let router = health::router(self.limiter.clone(), draining.clone());
            serve(listener, router, ServeOptions::default(), drained.clone().cancelled_owned()).await;
        };
        let told = async {
            shutdown.await;
            draining.cancel();
        };
        let (report, (), ()) = tokio::join!(faces, health, told);
        report
    }
}

async fn listen(face: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Bind { face, address, source })
}
