//! A second pair of eyes on HTTP/1.1 framing.
//!
//! hyper is forgiving in two places where a gateway must not be: of a request with both `Content-Length` and
//! `Transfer-Encoding` it drops the length without a word, and it takes a bare LF for a line end. Whoever stands
//! before us may have read either the other way, and then two parties disagree where a request ends. So the bytes are
//! watched on their way into hyper; what is found is noted under the request's number on its connection, and that
//! request is refused before anybody else sees it. The watcher only ever refuses: the framing used is hyper's, and
//! when the watcher cannot follow, nothing more is taken from the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;

use super::header_time::HeaderTime;

/// The most of a line that is kept: room for the two header fields of interest with any sane value.
const KEPT: usize = 128;
/// No request of the connection was found faulty.
const NONE: u64 = u64::MAX;

/// What was seen on a connection, shared between its stream and its request handler.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The number of the first faulty request, from 0; the connection is closed after it, so no other matters.
    first_faulty: AtomicU64,
    /// The number of the next request to be handled.
    next: AtomicU64,
    /// How many whole headers have passed.
    seen: AtomicU64,
    /// True between requests, when nothing more of one is expected.
    between: AtomicBool,
    /// True once a request was refused for what it is; what follows it is not read.
    refused: AtomicBool,
    /// True once the connection has become a tunnel, and is no longer our business.
    tunnel: AtomicBool,
    /// Since when a header has been arriving.
    pub(crate) header_time: HeaderTime,
}

impl Findings {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            first_faulty: AtomicU64::new(NONE),
            next: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            between: AtomicBool::new(true),
            refused: AtomicBool::new(false),
            tunnel: AtomicBool::new(false),
            header_time: HeaderTime::new(),
        })
    }

    /// Tells whether the next request is sound; to be asked exactly once for each.
    pub(crate) fn next_is_sound(&self) -> bool {
        self.next.fetch_add(1, Ordering::Relaxed) < self.first_faulty.load(Ordering::Acquire)
    }

    /// Notes that a request was refused and the connection is to end.
    pub(crate) fn refused(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// Notes that the connection has left HTTP.
    pub(crate) fn became_tunnel(&self) {
        self.tunnel.store(true, Ordering::Release);
    }

    /// Tells whether the connection can be closed without the client still being busy sending.
    pub(crate) fn at_rest(&self) -> bool {
        let all_handled = self.seen.load(Ordering::Acquire) == self.next.load(Ordering::Acquire);
        let between = self.between.load(Ordering::Acquire) && !self.refused.load(Ordering::Acquire);
        self.tunnel.load(Ordering::Acquire) || (between && all_handled)
    }
}

/// Where in the stream the watcher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    RequestLine,
    Header,
    Fixed(u64),
    ChunkSize,
    Chunk(u64),
    Trailer,
    /// The stream no longer makes sense, or hyper is about to refuse it.
    Lost,
}

#[derive(Debug)]
struct Watcher {
    place: Place,
    line: Vec<u8>,
    length: Option<u64>,
    chunked: bool,
    /// The number of the request whose header is being read.
    number: u64,
    findings: Arc<Findings>,
}

impl Watcher {
    fn new(findings: Arc<Findings>) -> Self {
        let line = Vec::with_capacity(KEPT);
        Self { place: Place::RequestLine, line, length: None, chunked: false, number: 0, findings }
    }

    fn watch(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.findings.tunnel.load(Ordering::Relaxed) {
            return;
        }
        let before = (self.number, self.in_header());
        self.see(bytes);
        self.findings.seen.store(self.number, Ordering::Release);
        let between = self.place == Place::RequestLine && self.line.is_empty();
        self.findings.between.store(between, Ordering::Release);
        match (self.in_header(), before) {
            (true, before) if before != (self.number, true) => self.findings.header_time.begin(),
            (false, (_, true)) => self.findings.header_time.end(),
            _ => {}
        }
    }

    fn in_header(&self) -> bool {
        self.place == Place::Header || (self.place == Place::RequestLine && !self.line.is_empty())
    }

    fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.place {
                Place::Lost => return,
                Place::Fixed(left) => self.skip(bytes, left, Place::Fixed, Place::RequestLine),
                // The data is followed by CRLF, read as an empty line before the next size.
                Place::Chunk(left) => self.skip(bytes, left, Place::Chunk, Place::ChunkSize),
                Place::RequestLine | Place::Header | Place::ChunkSize | Place::Trailer => {
                    self.read_line(bytes)
                }
            };
        }
    }

    fn skip<'a>(&mut self, bytes: &'a [u8], left: u64, within: fn(u64) -> Place, after: Place) -> &'a [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let left = left - here as u64;
        self.place = if left == 0 { after } else { within(left) };
        &bytes[here..]
    }

    fn read_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        // Of a long line only the start is kept, and its last byte, which must be the CR.
        let room = KEPT.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        if part.len() > room
            && let (Some(kept), Some(&last)) = (self.line.last_mut(), part.last())
        {
            *kept = last;
        }
        let Some(end) = end else {
            return &[];
        };
        let mut line = std::mem::take(&mut self.line);
        if line.pop() != Some(b'\r') {
            self.fault();
        }
        self.end_line(&line);
        line.clear();
        self.line = line;
        &bytes[end + 1..]
    }

    fn end_line(&mut self, line: &[u8]) {
        match self.place {
            // Empty lines before a request line are skipped, as hyper does; one ends each chunk.
            Place::RequestLine | Place::ChunkSize if line.is_empty() => {}
            Place::RequestLine => {
                (self.length, self.chunked) = (None, false);
                self.place = Place::Header;
            }
            Place::Header if line.is_empty() => self.end_header(),
            Place::Header => self.header(line),
            Place::ChunkSize => {
                self.place = chunk(line);
                if self.place == Place::Lost {
                    self.fault();
                }
            }
            Place::Trailer if line.is_empty() => self.place = Place::RequestLine,
            Place::Trailer | Place::Fixed(_) | Place::Chunk(_) | Place::Lost => {}
        }
    }

    fn header(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            return;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            match number(value, 10) {
                Some(length) => self.length = Some(length),
                // hyper refuses it; were it ever to learn not to, the request would still stop here.
                None => self.fault(),
            }
        }
    }

    fn end_header(&mut self) {
        if self.chunked && self.length.is_some() {
            self.fault();
        }
        self.number += 1;
        self.place = match (self.chunked, self.length) {
            (true, _) => Place::ChunkSize,
            (false, Some(length)) if length > 0 => Place::Fixed(length),
            (false, _) => Place::RequestLine,
        };
    }

    /// Notes a fault of the request at hand. In a body it comes too late for that one, so it is the next one's: where
    /// hyper went on, it and the watcher may no longer agree on where that begins.
    fn fault(&self) {
        self.findings.first_faulty.fetch_min(self.number, Ordering::AcqRel);
    }
}

/// Returns what follows a chunk-size line, of which only the start was kept.
fn chunk(line: &[u8]) -> Place {
    if line.len() >= KEPT - 1 && !line.contains(&b';') {
        return Place::Lost;
    }
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    match number(digits, 16) {
        Some(0) => Place::Trailer,
        Some(size) => Place::Chunk(size),
        None => Place::Lost,
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, radix).ok()
}

/// Puts the watcher on the reading side of a server's HTTP/1.1 stream.
pub(crate) fn watched<T: AsyncRead>(
    stream: T,
    findings: Arc<Findings>,
) -> InspectReader<T, impl FnMut(&[u8])> {
    let mut watcher = Watcher::new(findings);
    InspectReader::new(stream, move |bytes: &[u8]| watcher.watch(bytes))
}

#[cfg(test)]
mod tests;
