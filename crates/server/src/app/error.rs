//! Why an application cannot start.

use std::io;
use std::net::SocketAddr;

use crate::alerts::WebhookError;
use crate::api::TokenError;
use crate::net::tls::TlsError;
use crate::proxy::UpstreamError;
use crate::store::SharedStoreError;

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
    /// A face's token cannot be read.
    #[error("{face}: {source}")]
    Token {
        /// The face.
        face: &'static str,
        /// Why.
        source: TokenError,
    },
    /// The policy does not make a limiter.
    #[error("{0}")]
    Limiter(#[source] tidegate::BuildError),
    /// The store that the policy names cannot be made.
    #[error("store: {0}")]
    Store(#[source] SharedStoreError),
    /// A webhook can never be told anything.
    #[error("alerts: {0}")]
    Alerts(#[source] WebhookError),
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
