//! The answer of a store: there at once from memory, awaited from a network.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::StoreError;

/// A future of a store's answer that costs no allocation when the answer is already there.
///
/// Dropping one that waits gives up on the answer, not on the operation: it may have counted.
#[must_use = "a reply that waits does nothing unless awaited"]
pub struct Reply<'a, T>(Inner<'a, T>);

enum Inner<'a, T> {
    Ready(Result<T, StoreError>),
    Waiting(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>),
    Taken,
}

impl<'a, T> Reply<'a, T> {
    /// Returns an answer that is there.
    #[inline]
    pub fn ready(answer: Result<T, StoreError>) -> Self {
        Self(Inner::Ready(answer))
    }

    /// Returns an answer to wait for.
    pub fn waiting(answer: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Self {
        Self(Inner::Waiting(Box::pin(answer)))
    }

    /// Returns the answer where it lies, if it is there at once. It may be some hundred bytes, so that moving it out takes
    /// longer than reading it.
    #[inline]
    pub fn as_ready(&self) -> Option<Result<&T, &StoreError>> {
        match &self.0 {
            Inner::Ready(answer) => Some(answer.as_ref()),
            Inner::Waiting(_) | Inner::Taken => None,
        }
    }

    /// Returns the answer if it is there at once, as a memory store's always is.
    #[inline]
    pub fn now(self) -> Option<Result<T, StoreError>> {
        match self.0 {
            Inner::Ready(answer) => Some(answer),
            Inner::Waiting(_) | Inner::Taken => None,
        }
    }
}

impl<T> fmt::Debug for Reply<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            Inner::Ready(_) => "ready",
            Inner::Waiting(_) => "waiting",
            Inner::Taken => "taken",
        };
        f.debug_tuple("Reply").field(&state).finish()
    }
}

// A value that is ready is moved out, never polled in place.
impl<T> Unpin for Reply<'_, T> {}

impl<T> Future for Reply<'_, T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Inner::Waiting(answer) = &mut self.0 {
            let polled = answer.as_mut().poll(context);
            if polled.is_ready() {
                self.0 = Inner::Taken;
            }
            return polled;
        }
        match std::mem::replace(&mut self.0, Inner::Taken) {
            Inner::Ready(answer) => Poll::Ready(answer),
            // A future that has answered may stay silent; it must not panic here, and has nothing left to say.
            Inner::Taken | Inner::Waiting(_) => Poll::Pending,
        }
    }
}
