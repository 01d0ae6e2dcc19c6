//! A service behind the gateway that answers when the test says so.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    arrived: Receiver<()>,
    release: Sender<()>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (told, arrived) = channel();
        let (release, released) = channel::<()>();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
                while head.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                if told.send(()).is_err() || released.recv().is_err() {
                    return;
                }
                // The gateway may be gone by then, in the test that ends it at once.
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nfinished");
            }
        });
        Self { address, arrived, release }
    }

    /// Waits until a request is here.
    pub(crate) fn wait(&self) {
        self.arrived.recv().unwrap();
    }

    /// Answers the request that is here, or the next.
    pub(crate) fn release(&self) {
        self.release.send(()).unwrap();
    }
}
