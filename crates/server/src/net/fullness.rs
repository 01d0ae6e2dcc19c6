//! A stream that tells when its other end takes no bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stall::Stalls;

pin_project! {
    /// A connection's stream, telling [`Stalls`] whether it is full.
    #[derive(Debug)]
    pub(crate) struct Fullness<T> {
        #[pin]
        inner: T,
        stalls: Arc<Stalls>,
        is_vectored: bool,
    }
}

impl<T> Fullness<T> {
    pub(crate) fn new(inner: T, stalls: Arc<Stalls>) -> Self {
        Self { inner, stalls, is_vectored: true }
    }

    /// Says that it takes one piece of bytes at a time. To such a stream HTTP/2 copies an answer of less than a kilobyte behind the
    /// others, where it would write one of 256 bytes by itself.
    pub(crate) fn in_one_piece(self) -> Self {
        Self { is_vectored: false, ..self }
    }
}

impl<T: AsyncRead> AsyncRead for Fullness<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<T: AsyncWrite> AsyncWrite for Fullness<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.project();
        let written = this.inner.poll_write(cx, buf);
        this.stalls.set_full(written.is_pending());
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.project();
        let written = this.inner.poll_write_vectored(cx, bufs);
        this.stalls.set_full(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.is_vectored && self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        let flushed = this.inner.poll_flush(cx);
        // TLS takes bytes into a buffer of its own, and only here shows that they go no further.
        this.stalls.set_full(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_shutdown(cx)
    }
}
