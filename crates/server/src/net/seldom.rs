//! A future that is polled when it has something to say, and not whenever its task is.
//!
//! A connection's task wakes for every piece of a request and of its answer. What could end the connection, timers and
//! signals, hardly ever changes, and asking all of it each time costs more than some requests do.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use pin_project_lite::pin_project;

pin_project! {
    /// Polls `inner` at first, and then only after it has been woken.
    pub(crate) struct Seldom<F> {
        #[pin]
        inner: F,
        bell: Arc<Bell>,
        waker: Waker,
    }
}

/// What `inner` wakes.
struct Bell {
    has_rung: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F> Seldom<F> {
    pub(crate) fn new(inner: F) -> Self {
        let bell = Arc::new(Bell { has_rung: AtomicBool::new(true), task: AtomicWaker::new() });
        Self { inner, waker: Waker::from(Arc::clone(&bell)), bell }
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Before the look, so that what rings between the two is heard.
        this.bell.task.register(cx.waker());
        if !this.bell.has_rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        this.inner.poll(&mut Context::from_waker(this.waker))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::sync::Notify;

    use super::*;

    /// Guards against a wake that is lost, and against polls that nobody asked for.
    #[tokio::test(start_paused = true)]
    async fn it_is_polled_when_woken_and_at_no_other_time() {
        let (polls, bell) = (AtomicUsize::new(0), Notify::new());
        let mut rings = std::pin::pin!(bell.notified());
        let mut seldom = std::pin::pin!(Seldom::new(std::future::poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            rings.as_mut().poll(cx)
        })));
        for _ in 0..5 {
            tokio::select! {
                biased;
                () = seldom.as_mut() => unreachable!("nobody has rung"),
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        bell.notify_waiters();
        seldom.await;
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }
}
