//! The streams of an HTTP/2 connection, and who polls them.
//!
//! A stream usually has a task of its own. Where an answer takes as little as a decision does, that costs about as much as
//! the answer, and more: the first stream to end wakes its connection, which writes that one answer before the others are
//! polled. So there the connection polls its streams itself, and writes all their answers together: those of what it has
//! read together, and those that have waited for one answer of a store. All of a connection's streams share a core, then.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::Mutex;
use pin_project_lite::pin_project;

use super::stall::endable;

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a connection hands its streams to.
#[derive(Clone, Default)]
pub(crate) struct Streams {
    /// The streams that nobody has polled; `None` where each gets a task.
    begun: Option<Arc<Mutex<Vec<Stream>>>>,
}

impl Streams {
    /// Those of a connection whose answers are made at once, or those that wait.
    pub(crate) fn new(at_once: bool) -> Self {
        Self { begun: at_once.then(Arc::default) }
    }

    fn take_begun(&self) -> Vec<Stream> {
        self.begun.as_ref().map(|begun| std::mem::take(&mut *begun.lock())).unwrap_or_default()
    }
}

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let stream = endable(stream);
        match &self.begun {
            // A stream that panics ends by itself, as a task does.
            Some(begun) => begun.lock().push(Box::pin(AssertUnwindSafe(stream).catch_unwind().map(drop))),
            None => {
                tokio::spawn(stream);
            }
        }
    }
}

pin_project! {
    /// A connection that polls its streams, those that were handed to it.
    pub(crate) struct Together<C> {
        #[pin]
        connection: C,
        streams: Streams,
        waiting: FuturesUnordered<Stream>,
    }
}

impl<C> Together<C> {
    pub(crate) fn new(connection: C, streams: Streams) -> Self {
        Self { connection, streams, waiting: FuturesUnordered::new() }
    }

    pub(crate) fn connection(self: Pin<&mut Self>) -> Pin<&mut C> {
        self.project().connection
    }
}

impl<C: Future> Future for Together<C> {
    type Output = C::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let this = self.project();
        // Before the connection, which then writes the answers of all that have ended.
        while let Poll::Ready(Some(())) = this.waiting.poll_next_unpin(cx) {}
        let polled = this.connection.poll(cx);
        let begun = this.streams.take_begun();
        if polled.is_ready() {
            begun
                .into_iter()
                .chain(std::mem::take(this.waiting))
                .for_each(|stream| drop(tokio::spawn(stream)));
            return polled;
        }
        if !begun.is_empty() {
            // For their answers to be written, and for those that wait to be polled where their wake-ups are told apart.
            cx.waker().wake_by_ref();
        }
        for mut stream in begun {
            if stream.as_mut().poll(cx).is_pending() {
                this.waiting.push(stream);
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::poll_fn;
    use hyper::rt::Executor as _;

    use super::*;

    /// Guards against a stream that is forgotten because it waits, and against one that takes its connection along.
    #[tokio::test]
    async fn a_stream_that_waits_or_panics_takes_neither_its_connection_nor_the_others_along() {
        let streams = Streams::new(true);
        let (ended, begin) = (Arc::new(AtomicUsize::new(0)), streams.clone());
        let count = Arc::clone(&ended);
        let mut polls = 0;
        let connection = poll_fn(move |_| {
            polls += 1;
            if polls == 1 {
                begin.execute(async { panic!("this one fails, as is wanted") });
                let at_once = Arc::clone(&count);
                begin.execute(async move {
                    at_once.fetch_add(1, Ordering::Relaxed);
                });
                let later = Arc::clone(&count);
                begin.execute(async move {
                    tokio::task::yield_now().await;
                    later.fetch_add(10, Ordering::Relaxed);
                });
                return Poll::Pending;
            }
            // What ended at once did so before the connection was polled again, whatever became of the other.
            assert_eq!(count.load(Ordering::Relaxed) % 10, 1);
            Poll::Ready(())
        });
        Together::new(connection, streams).await;
        while ended.load(Ordering::Relaxed) < 11 {
            tokio::task::yield_now().await;
        }
    }

    /// Guards against answers that are written one by one, since the first to be there wakes the connection.
    #[tokio::test]
    async fn streams_that_waited_for_one_thing_have_all_ended_when_their_connection_is_polled() {
        let (streams, ended) = (Streams::new(true), Arc::new(AtomicUsize::new(0)));
        let (tell, told) = tokio::sync::watch::channel(false);
        let (begin, count) = (streams.clone(), Arc::clone(&ended));
        let mut is_begun = false;
        let mut seen = Vec::new();
        let connection = poll_fn(|_| {
            if !std::mem::replace(&mut is_begun, true) {
                for _ in 0..100 {
                    let (mut told, count) = (told.clone(), Arc::clone(&count));
                    begin.execute(async move {
                        told.wait_for(|told| *told).await.unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            }
            seen.push(count.load(Ordering::Relaxed));
            if seen.last() == Some(&100) { Poll::Ready(()) } else { Poll::Pending }
        });
        let tells = async {
            // So that all of them wait.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            tell.send(true).unwrap();
        };
        tokio::join!(Together::new(connection, streams), tells);
        seen.dedup();
        assert_eq!(seen, [0, 100]);
    }
}
