//! The streams of an HTTP/2 connection, and who polls them.
//!
//! A stream usually has a task of its own. Where answers are made without waiting, that costs about as much as the answer,
//! and more: the first stream to end wakes its connection, which writes that one answer before the others are polled. So
//! there the connection polls the streams that it has read together once by itself, and writes all their answers
//! together. A stream that waits for something gets its task then.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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
            Some(begun) => begun.lock().push(Box::pin(stream)),
            None => {
                tokio::spawn(stream);
            }
        }
    }
}

pin_project! {
    /// A connection that polls its new streams once.
    pub(crate) struct Together<C> {
        #[pin]
        connection: C,
        streams: Streams,
    }
}

impl<C> Together<C> {
    pub(crate) fn new(connection: C, streams: Streams) -> Self {
        Self { connection, streams }
    }

    pub(crate) fn connection(self: Pin<&mut Self>) -> Pin<&mut C> {
        self.project().connection
    }
}

impl<C: Future> Future for Together<C> {
    type Output = C::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let this = self.project();
        let polled = this.connection.poll(cx);
        let begun = this.streams.take_begun();
        if polled.is_ready() {
            begun.into_iter().for_each(spawn);
            return polled;
        }
        if !begun.is_empty() {
            // For their answers to be written.
            cx.waker().wake_by_ref();
        }
        for mut stream in begun {
            // A stream that panics ends by itself, as a task does.
            if let Ok(Poll::Pending) = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll(cx))) {
                spawn(stream);
            }
        }
        Poll::Pending
    }
}

fn spawn(stream: Stream) {
    tokio::spawn(stream);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::poll_fn;
    use hyper::rt::Executor as _;

    use super::*;

    /// Guards against a stream that is forgotten because it waits, and against one that takes its connection along.
    #[tokio::test]
    async fn new_streams_are_polled_by_their_connection_and_those_that_wait_or_panic_go_on_alone() {
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
}
