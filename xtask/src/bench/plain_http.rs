//! One request at a time, to see that a server answers as it should before and after it is measured.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::process::loopback;

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

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
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    read(&String::from_utf8_lossy(&answer)).context("what was answered is not HTTP/1.1")
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

/// Returns the value of a metric in the text that Prometheus reads; 0 where there is none yet.
pub(super) fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.split(' ').next()?.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let answer = read("HTTP/1.1 429 Too Many Requests\r\na: b\r\n\r\n{}").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (429, "{}"));
        assert!(read("SSH-2.0").is_none());
    }

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na_total{b=\"c\"} 12\na_total{b=\"cd\"} 3\na_total 15 1700000000\n";
        let seen = ["a_total{b=\"c\"}", "a_total", "a"].map(|name| metric(text, name));
        assert!((seen[0] - 12.0).abs() < 1e-9 && (seen[1] - 15.0).abs() < 1e-9 && seen[2] == 0.0);
    }
}
