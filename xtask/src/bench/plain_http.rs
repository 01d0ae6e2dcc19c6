//! One request at a time, to see that a server answers as it should before and after it is measured.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::computed::told::{Answer, answer};
use super::process::loopback;

/// Asks by GET, with one header field, on a connection of its own.
///
/// # Errors
/// When no answer comes.
pub(super) fn get(port: u16, path: &str, field: &str) -> Result<Answer> {
    ask(port, &format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n{field}\r\n\r\n"))
}

fn ask(port: u16, request: &str) -> Result<Answer> {
    let mut stream = TcpStream::connect(loopback(port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    answer(&String::from_utf8_lossy(&bytes)).context("what was answered is not HTTP/1.1")
}
