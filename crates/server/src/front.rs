//! A face whose busiest call does not go through a router.
//!
//! A router finds the way of any call, and pays for it with layers, boxed bodies and boxed futures: about as much as a decision
//! itself. The one call that comes thousands of times a second is told from the others by its method and path.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::{BoxError, Router};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Either;
use tower_service::Service;

/// What answers the busiest call of a face.
pub trait Busiest: Clone + Send + Sync + 'static {
    /// The body of its answers.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Returns whether a call is that one, and its caller may make it. Any other goes to the router, which knows all of them.
    fn takes<B>(&self, request: &Request<B>) -> bool;

    /// Answers it.
    fn answer<B>(
        self,
        request: Request<B>,
    ) -> impl Future<Output = Response<Either<Self::Body, Body>>> + Send
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;
}

/// A face: a router, and its busiest call before it.
#[derive(Debug, Clone)]
pub struct Face<C> {
    busiest: C,
    router: Router,
}

impl<C: Busiest> Face<C> {
    pub(crate) fn new(busiest: C, router: Router) -> Self {
        Self { busiest, router }
    }

    /// Returns the router, which takes the busiest call as well.
    pub(crate) fn into_router(self) -> Router {
        self.router
    }
}

impl<C, B> Service<Request<B>> for Face<C>
where
    C: Busiest,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Response = Response<Either<C::Body, Body>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A router is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.busiest.takes(&request) {
            let busiest = self.busiest.clone();
            return Box::pin(async move { Ok(busiest.answer(request).await) });
        }
        let answering = self.router.call(request);
        Box::pin(async move { Ok(answering.await?.map(Either::Right)) })
    }
}
