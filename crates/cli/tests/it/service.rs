//! A service behind what is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Says with which status the `nth` request of all, for this path, is answered; it may take its time.
pub(crate) type Answers = fn(path: &str, nth: u64) -> &'static str;

/// A service that answers request after request.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    served: Arc<AtomicU64>,
}

impl Service {
    pub(crate) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&served);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, count) = (stream.unwrap(), Arc::clone(&count));
                // Whoever is gone has nobody to be told.
                thread::spawn(move || drop(serve(&stream, &count, answers)));
            }
        });
        Self { address, served }
    }

    pub(crate) fn at_once() -> Self {
        Self::start(|_, _| "200 OK")
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}

fn serve(mut stream: &TcpStream, served: &AtomicU64, answers: Answers) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head)? > 2 {
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            length = line.strip_prefix("content-length: ").map_or(length, |value| value.parse().unwrap());
        }
        let Some(path) = head.split(' ').nth(1) else { return Ok(()) };
        reader.read_exact(&mut vec![0; length])?;
        let status = answers(path, served.fetch_add(1, Ordering::Relaxed));
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok")?;
    }
}
