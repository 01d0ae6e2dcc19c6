//! Bodies that pass through the layer without being copied.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use pin_project_lite::pin_project;

use crate::settle::Outcome;

/// Marks, in a request's extensions, that its body has been read whole to take a key from it: whoever answers without reading it
/// leaves nothing of it on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRead;

pin_project! {
    /// A request body of which a first part may have been read to take a key from it.
    ///
    /// The service behind the layer sees the whole body all the same: first what was read, then the rest.
    #[derive(Debug)]
    pub struct ReplayedBody<B> {
        read: VecDeque<Frame<Bytes>>,
        #[pin]
        rest: B,
        done: bool,
    }
}

impl<B> ReplayedBody<B> {
    /// Wraps a body nothing was read of.
    pub(crate) fn untouched(rest: B) -> Self {
        Self { read: VecDeque::new(), rest, done: false }
    }
}

/// Why a body could not be read for its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It is longer than the policy allows for a body that holds a key.
    TooLong,
    /// It ended in an error.
    Broken,
}

impl<B> ReplayedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Reads a body to its end, at most `most` bytes of it, and returns it with its bytes.
    ///
    /// # Errors
    /// When it is longer or breaks off.
    pub(crate) async fn read_whole(mut rest: B, most: usize) -> Result<(Self, Bytes), ReadError> {
        if rest.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
            return Err(ReadError::TooLong);
        }
        let mut gathered = Gathered::default();
        let mut trailers = None;
        while let Some(frame) = rest.frame().await {
            match frame.map_err(|_| ReadError::Broken)?.into_data() {
                Ok(data) if data.len() > most.saturating_sub(gathered.len()) => {
                    return Err(ReadError::TooLong);
                }
                Ok(data) => gathered.add(data),
                Err(other) => trailers = Some(other),
            }
        }
        let bytes = gathered.into_bytes();
        let data = (!bytes.is_empty()).then(|| Frame::data(bytes.clone()));
        let read = data.into_iter().chain(trailers).collect();
        Ok((Self { read, rest, done: true }, bytes))
    }
}

impl<B> ReplayedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Reads what is left of a body that nobody wants, at most `most` bytes of it, and returns whether that was all.
    pub(crate) async fn throw_away(&mut self, most: usize) -> bool {
        let mut left = most;
        while !self.is_end_stream() {
            match self.frame().await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(frame)) => match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(rest) => left = rest,
                    None => return false,
                },
            }
        }
        true
    }
}

/// Data in one piece. What comes in one is not copied; pieces are, since each kept as it came would cost more than it
/// holds, and a client may send a byte in each.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.first.len().saturating_add(self.all.len())
    }

    fn add(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.first = data;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

impl<B> Body for ReplayedBody<B>
where
    B: Body<Data = Bytes>,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if let Some(frame) = this.read.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if *this.done {
            return Poll::Ready(None);
        }
        let next = ready!(this.rest.poll_frame(context));
        *this.done = next.is_none();
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && (self.done || self.rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let read: usize = self.read.iter().filter_map(Frame::data_ref).map(Buf::remaining).sum();
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        if self.done {
            return SizeHint::with_exact(read);
        }
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(read.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(read.saturating_add(upper));
        }
        hint
    }
}

pin_project! {
    /// A response body: the wrapped service's, or the layer's own answer.
    #[derive(Debug)]
    pub struct AnswerBody<R> {
        #[pin]
        passed: Option<R>,
        own: Bytes,
        outcome: Option<Box<Outcome>>,
    }
}

impl<R> AnswerBody<R> {
    /// Wraps the service's body.
    pub(crate) fn passed(body: R) -> Self {
        Self { passed: Some(body), own: Bytes::new(), outcome: None }
    }

    /// Wraps the service's body, whose trailers tell how its call went.
    pub(crate) fn watched(body: R, outcome: Outcome) -> Self {
        Self { outcome: Some(Box::new(outcome)), ..Self::passed(body) }
    }
}

impl<R> From<Bytes> for AnswerBody<R> {
    /// Builds a body of the layer's own, in one piece.
    fn from(own: Bytes) -> Self {
        Self { passed: None, own, outcome: None }
    }
}

impl<R> Body for AnswerBody<R>
where
    R: Body,
    R::Data: From<Bytes>,
{
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = self.project();
        let Some(body) = this.passed.as_pin_mut() else {
            let own = std::mem::take(this.own);
            return Poll::Ready((!own.is_empty()).then(|| Ok(Frame::data(own.into()))));
        };
        let polled = body.poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
            && let Some(outcome) = this.outcome.take()
        {
            outcome.told_by(trailers);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.passed.as_ref().map_or(self.own.is_empty(), Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let own = || SizeHint::with_exact(u64::try_from(self.own.len()).unwrap_or(u64::MAX));
        self.passed.as_ref().map_or_else(own, Body::size_hint)
    }
}
