//! A client that knows no more of HTTP/1.1 than the tests need.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// An answer, read to the end of its connection.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A request that was sent and not answered yet.
pub(crate) struct Sent(TcpStream);

impl Sent {
    pub(crate) fn answer(mut self) -> Answer {
        let mut raw = String::new();
        self.0.read_to_string(&mut raw).unwrap();
        let (head, body) = raw.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {raw:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
        // Fewer bytes would be an answer that broke off.
        assert_eq!(body.len(), length, "{raw:?}");
        Answer { status, headers, body: body.to_owned() }
    }
}

pub(crate) fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Sent {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    Sent(stream)
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, "").answer()
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    send(address, "POST", path, body).answer()
}
