//! The bodies on either side of the gateway: streamed frame by frame, never gathered.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Empty, Full};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::error::ClientBodyError;
use super::headers;
use super::pool::Lease;
use crate::net::BoxError;

/// The body of the gateway's answer: the upstream's, streamed, or one of our own.
#[derive(Debug)]
pub struct ProxyBody {
    body: Either<Incoming, Full<Bytes>>,
    /// The upstream's connection with the request's place, taken up again by others once the answer has ended. It comes after
    /// the body, which is dropped first.
    _lease: Option<Lease>,
    /// The request's place among those under way, free again from then on, where the connection is shared by many.
    _place: Option<OwnedSemaphorePermit>,
}

impl ProxyBody {
    /// A body of these bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self::from(Full::new(bytes.into()))
    }

    /// The upstream's body, of a request that holds this place.
    pub(crate) fn passed(body: Incoming, place: OwnedSemaphorePermit, lease: Option<Lease>) -> Self {
        let body = Either::Left(body);
        match lease {
            Some(lease) => Self { body, _place: None, _lease: Some(lease.holding(place)) },
            None => Self { body, _place: Some(place), _lease: None },
        }
    }

    /// A body of no bytes.
    pub fn empty() -> Self {
        Self::full(Bytes::new())
    }
}

impl From<Full<Bytes>> for ProxyBody {
    fn from(body: Full<Bytes>) -> Self {
        Self { body: Either::Right(body), _place: None, _lease: None }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of the request sent on: the client's, whatever it is made of.
pub(crate) type UpstreamBody = Either<Empty<Bytes>, FromClient>;

/// Returns the body to send on, and the progress to watch if there is anything to wait for.
pub(crate) fn from_client<B>(body: B) -> (UpstreamBody, Option<Arc<Progress>>)
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return (Either::Left(Empty::new()), None);
    }
    let progress = Arc::new(Progress::new());
    let inner = body.map_err(|error| BoxError::from(ClientBodyError(error.into()))).boxed_unsync();
    (Either::Right(FromClient { inner, progress: Arc::clone(&progress) }), Some(progress))
}

/// A client's body on its way to the upstream, telling how far it has come.
#[derive(Debug)]
pub(crate) struct FromClient {
    inner: UnsyncBoxBody<Bytes, BoxError>,
    progress: Arc<Progress>,
}

impl Body for FromClient {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.progress.waiting.store(true, Ordering::Release);
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        self.progress.step();
        if frame.is_none() || self.inner.is_end_stream() {
            self.progress.ended.store(true, Ordering::Release);
        }
        Poll::Ready(frame.map(|frame| frame.map(clean_trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Takes out of a client's trailers what it may not say in its header either.
fn clean_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            headers::clean_trailers(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// How far a body has come, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    /// Milliseconds after `start` of the last frame.
    last: AtomicU64,
    /// True while the upstream would take more and the client has sent none.
    waiting: AtomicBool,
    /// True once the whole body has been taken from the client.
    ended: AtomicBool,
}

impl Progress {
    fn new() -> Self {
        let (waiting, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { start: Instant::now(), last: AtomicU64::new(0), waiting, ended }
    }

    /// Tells whether the client has sent the whole body.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn step(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Release);
        self.waiting.store(false, Ordering::Release);
    }

    /// Returns when the last frame went through.
    pub(crate) fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.last.load(Ordering::Acquire))
    }

    /// Tells whether it is the client that is awaited.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }
}
