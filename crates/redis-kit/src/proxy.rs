//! A way to a server that can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A proxy on a free port that passes bytes on until it is told to cut.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// So many bytes of replies more are passed on, when that is bounded.
    replies_left: AtomicU64,
    is_bounded: AtomicBool,
    /// Connections made before the last of these are lost without a word.
    losses: AtomicU64,
    streams: Mutex<Vec<TcpStream>>,
    ended: AtomicBool,
}

impl Proxy {
    /// Starts a proxy before a port of 127.0.0.1.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ours.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                ours.join(client, upstream);
            }
        });
        Self { port, shared }
    }

    /// Returns the port, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts every connection once so many bytes of replies more have been passed on.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.replies_left.store(bytes, Ordering::SeqCst);
        self.shared.is_bounded.store(true, Ordering::SeqCst);
    }

    /// Passes everything on again, for connections made from now on.
    pub fn mend(&self) {
        self.shared.is_bounded.store(false, Ordering::SeqCst);
    }

    /// Takes what every connection of this moment sends from now on, and passes nothing of it on: they stay open, as when a
    /// network forgets them without telling the ends. New ones are passed on.
    pub fn swallow(&self) {
        self.shared.losses.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for stream in self.shared.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the one that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn join(self: &Arc<Self>, client: TcpStream, upstream: TcpStream) {
        let clone = |stream: &TcpStream| stream.try_clone().unwrap();
        self.streams.lock().unwrap().extend([clone(&client), clone(&upstream)]);
        let losses = self.losses.load(Ordering::SeqCst);
        let (ours, from, to) = (Arc::clone(self), clone(&client), clone(&upstream));
        thread::spawn(move || ours.pass((from, to), false, losses));
        let ours = Arc::clone(self);
        thread::spawn(move || ours.pass((upstream, client), true, losses));
    }

    fn pass(&self, (mut from, mut to): (TcpStream, TcpStream), replies: bool, losses: u64) {
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if self.losses.load(Ordering::SeqCst) != losses {
                continue;
            }
            let mut count = count;
            let mut cut = false;
            if replies && self.is_bounded.load(Ordering::SeqCst) {
                let left = self.replies_left.load(Ordering::SeqCst);
                let passed = left.min(count as u64);
                self.replies_left.store(left - passed, Ordering::SeqCst);
                cut = passed < count as u64;
                count = usize::try_from(passed).unwrap_or(0);
            }
            if to.write_all(&bytes[..count]).is_err() || cut {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
