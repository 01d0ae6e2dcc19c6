//! A call's message that does not arrive: what waits for it costs memory, and a client could let it wait for ever.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::Sleep;
use tonic::Status;

use crate::api::BODY_TIMEOUT;

/// Returns what a caller is told whose message did not arrive.
pub(super) fn late() -> Status {
    let seconds = BODY_TIMEOUT.as_secs();
    Status::deadline_exceeded(format!(
        "the call's message did not arrive within {seconds} seconds; send it faster"
    ))
}

/// A body that ends in an error when it takes too long, however often something of it comes.
#[derive(Debug)]
pub(super) struct InTime<B> {
    body: B,
    ends: Pin<Box<Sleep>>,
}

impl<B> InTime<B> {
    /// The time begins now.
    pub(super) fn new(body: B) -> Self {
        Self { body, ends: Box::pin(tokio::time::sleep(BODY_TIMEOUT)) }
    }
}

impl<B> Body for InTime<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ends.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(late().into())));
        }
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
