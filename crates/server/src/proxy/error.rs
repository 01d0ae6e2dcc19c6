//! Why the gateway cannot get an answer: each cause to one status and one sentence.

use std::error::Error as StdError;
use std::io;

use http::StatusCode;
use hyper_util::client::legacy;

use crate::net::BoxError;

/// Why there is no answer of the upstream to pass on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForwardError {
    #[error("the connection to the upstream could not be opened")]
    Connect(BoxError),
    #[error("the upstream did not take the connection in time")]
    ConnectTimeout(BoxError),
    #[error("the upstream gave no whole answer")]
    Exchange(BoxError),
    #[error("the client's body ended early or was malformed")]
    ClientBody(BoxError),
    #[error("no place among the requests under way became free in time")]
    NoPlace,
    #[error("the upstream did not answer in time")]
    UpstreamTimeout,
    #[error("the client stopped sending its body")]
    ClientTimeout,
    #[error("the upstream switched protocols without being asked to")]
    UnaskedUpgrade,
    #[error("the request cannot be sent on: {0}")]
    Target(http::Error),
    #[error("the request states a length and has no body")]
    Length,
}

impl ForwardError {
    /// Returns whether it is known that the upstream got not a byte of the request. A request that was begun on another
    /// connection is not tried again, so that one which could not be connected for was not sent before either.
    pub(crate) fn is_never_forwarded(&self) -> bool {
        match self {
            Self::Connect(_) | Self::ConnectTimeout(_) | Self::NoPlace | Self::Target(_) | Self::Length => {
                true
            }
            Self::Exchange(_)
            | Self::ClientBody(_)
            | Self::UpstreamTimeout
            | Self::ClientTimeout
            | Self::UnaskedUpgrade => false,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Connect(_) | Self::Exchange(_) | Self::UnaskedUpgrade => StatusCode::BAD_GATEWAY,
            Self::ConnectTimeout(_) | Self::NoPlace | Self::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::ClientBody(_) | Self::Target(_) | Self::Length => StatusCode::BAD_REQUEST,
            Self::ClientTimeout => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// Returns what led to it, for the log: every inner cause, the outermost first.
    pub(crate) fn cause(&self) -> Option<String> {
        let (Self::Connect(inner)
        | Self::ConnectTimeout(inner)
        | Self::Exchange(inner)
        | Self::ClientBody(inner)) = self
        else {
            return None;
        };
        // That client's own words only say at which step it was.
        let steps = usize::from(inner.is::<legacy::Error>());
        let causes: Vec<_> = causes(inner.as_ref()).skip(steps).map(ToString::to_string).collect();
        Some(if causes.is_empty() { inner.to_string() } else { causes.join(": ") })
    }

    /// Returns the words for the client, which name no address and no inner cause.
    pub(crate) fn detail(&self) -> &'static str {
        match self {
            Self::Connect(_) => "The service behind this gateway cannot be reached.",
            Self::Exchange(_) | Self::UnaskedUpgrade => {
                "The service behind this gateway gave no valid answer."
            }
            Self::ConnectTimeout(_) | Self::NoPlace | Self::UpstreamTimeout => {
                "The service behind this gateway did not answer in time."
            }
            Self::ClientBody(_) => "The request's body ended early or was malformed.",
            Self::ClientTimeout => "The request's body stopped arriving.",
            Self::Target(_) => "The request's target cannot be sent on.",
            Self::Length => "The request states a length and has no body.",
        }
    }
}

impl ForwardError {
    /// What became of a connection that was to be opened.
    pub(crate) fn connecting(error: BoxError) -> Self {
        let timed_out = causes(error.as_ref()).any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::TimedOut)
        });
        if timed_out { Self::ConnectTimeout(error) } else { Self::Connect(error) }
    }

    /// What became of a request on a connection.
    fn exchanging(error: BoxError) -> Self {
        if causes(error.as_ref()).any(<dyn StdError>::is::<ClientBodyError>) {
            return Self::ClientBody(error);
        }
        Self::Exchange(error)
    }
}

impl From<hyper::Error> for ForwardError {
    fn from(error: hyper::Error) -> Self {
        Self::exchanging(error.into())
    }
}

impl From<legacy::Error> for ForwardError {
    fn from(error: legacy::Error) -> Self {
        if error.is_connect() { Self::connecting(error.into()) } else { Self::exchanging(error.into()) }
    }
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn StdError + 'static) = *error;
        error.source()
    })
}

/// Marks a failure as the client's, so that it can be told from the upstream's on the far side of the HTTP client.
#[derive(Debug, thiserror::Error)]
#[error("the client's body failed")]
pub(crate) struct ClientBodyError(#[source] pub(crate) BoxError);
