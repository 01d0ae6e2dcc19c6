//! A close that lets the last answer arrive.
//!
//! A socket closed with bytes unread makes the kernel reset the connection, and the reset destroys the answer on its
//! way: a client refused in the middle of an upload would see a broken connection instead of its 429. So where more of
//! a request may still come, the writing side is closed first and what arrives is thrown away, until the client closes
//! or [`PATIENCE`] is over.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::framing::Findings;

/// Long enough for a client to notice an answer, short enough not to hold up a shutdown.
const PATIENCE: Duration = Duration::from_secs(3);

pin_project! {
    /// A server's HTTP/1.1 stream that closes gently.
    #[derive(Debug)]
    pub(crate) struct Lingering<T> {
        #[pin]
        inner: T,
        findings: Arc<Findings>,
        until: Option<Pin<Box<Sleep>>>,
    }
}

impl<T> Lingering<T> {
    pub(crate) fn new(inner: T, findings: Arc<Findings>) -> Self {
        Self { inner, findings, until: None }
    }
}

impl<T: AsyncRead> AsyncRead for Lingering<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite> AsyncWrite for Lingering<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        if this.until.is_none() {
            ready!(this.inner.as_mut().poll_shutdown(cx))?;
            if this.findings.at_rest() {
                return Poll::Ready(Ok(()));
            }
        }
        let until = this.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        let mut scrap = [0; 4096];
        loop {
            if until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scrap);
            match ready!(this.inner.as_mut().poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}
