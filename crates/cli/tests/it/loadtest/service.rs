//! A service behind what is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A service that answers request after request, and may take its time for some.
pub(super) struct Service {
    pub(super) address: SocketAddr,
    served: Arc<AtomicU64>,
}

impl Service {
    /// `pause` says how long the `nth` request of all takes.
    pub(super) fn start(pause: fn(u64) -> Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&served);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, count) = (stream.unwrap(), Arc::clone(&count));
                // Whoever is gone has nobody to be told.
                thread::spawn(move || drop(answer(&stream, &count, pause)));
            }
        });
        Self { address, served }
    }

    pub(super) fn at_once() -> Self {
        Self::start(|_| Duration::ZERO)
    }

    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: &TcpStream, served: &AtomicU64, pause: fn(u64) -> Duration) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head)? > 2 {
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            length = line.strip_prefix("content-length: ").map_or(length, |value| value.parse().unwrap());
        }
        if head.is_empty() {
            return Ok(());
        }
        reader.read_exact(&mut vec![0; length])?;
        let pause = pause(served.fetch_add(1, Ordering::Relaxed));
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    }
}
