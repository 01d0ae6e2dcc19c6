//! The PROXY protocol, versions 1 and 2: who the client is, told by the load balancer before the first byte of HTTP.
//!
//! A listener either expects the header on every connection or never looks for one; guessing would let any client
//! name its own address. The header is parsed by a pure function over the bytes so far, so that it may arrive in any
//! pieces, and what follows it is handed back untouched.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest version 1 line the protocol allows, with its CRLF.
const V1_MAX: usize = 107;
/// The longest version 2 header accepted: room for any sensible set of extensions, and a cap on memory.
const V2_MAX: usize = 4096;
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED: usize = 16;
const TLV_CRC32C: u8 = 0x03;

/// Why a PROXY protocol header was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    /// The bytes are no header of version 1 or 2.
    #[error("no PROXY protocol header: {0}")]
    Malformed(&'static str),
    /// The peer is not among those who may speak the PROXY protocol here.
    #[error("{0} may not speak the PROXY protocol here")]
    Untrusted(IpAddr),
    /// The header did not come in time.
    #[error("no PROXY protocol header in time")]
    Timeout,
    /// The peer closed or the socket failed before the header was complete.
    #[error("the connection ended within the PROXY protocol header")]
    Io(#[from] io::Error),
}

/// What the bytes so far amount to.
#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    /// The start of a header; more is to come.
    Partial,
    /// A whole header of `length` bytes; `source` is `None` when the real peer is to be used.
    Complete { length: usize, source: Option<SocketAddr> },
}

/// Reads one header and returns the source it names (none: use the real peer) and the bytes read after it.
///
/// # Errors
/// Fails when the bytes are no header, the header is too long, or the stream ends. The caller sets the deadline.
pub(crate) async fn read_header<T: AsyncRead + Unpin>(
    stream: &mut T,
) -> Result<(Option<SocketAddr>, Bytes), HeaderError> {
    let mut buffer = BytesMut::with_capacity(512);
    loop {
        if stream.read_buf(&mut buffer).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if let Parsed::Complete { length, source } = parse(&buffer)? {
            let rest = buffer.split_off(length);
            return Ok((source, rest.freeze()));
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Parsed, HeaderError> {
    let signature = V2_SIGNATURE.len().min(bytes.len());
    if bytes[..signature] == V2_SIGNATURE[..signature] {
        return parse_v2(bytes);
    }
    let word = b"PROXY ".len().min(bytes.len());
    if bytes[..word] == b"PROXY "[..word] {
        return parse_v1(bytes);
    }
    Err(HeaderError::Malformed("the first bytes are of neither version"))
}

fn parse_v1(bytes: &[u8]) -> Result<Parsed, HeaderError> {
    let window = &bytes[..bytes.len().min(V1_MAX)];
    let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
        if bytes.len() >= V1_MAX {
            return Err(HeaderError::Malformed("a version 1 line longer than 107 bytes"));
        }
        return Ok(Parsed::Partial);
    };
    let line = window[..end]
        .strip_suffix(b"\r")
        .filter(|line| line.is_ascii() && !line.contains(&b'\r'))
        .and_then(|line| std::str::from_utf8(line).ok())
        .ok_or(HeaderError::Malformed("a version 1 line must be ASCII and end in CRLF"))?;
    Ok(Parsed::Complete { length: end + 1, source: v1_source(line)? })
}

/// Returns the source a version 1 line names; none for UNKNOWN, whatever follows it.
fn v1_source(line: &str) -> Result<Option<SocketAddr>, HeaderError> {
    let mut fields = line.split(' ').skip(1);
    let family = fields.next().unwrap_or_default();
    if family == "UNKNOWN" {
        return Ok(None);
    }
    let fields: Vec<&str> = fields.take(5).collect();
    let source = match fields[..] {
        [source, destination, from, to] => {
            v1_address(family, source, destination).zip(port(from)).zip(port(to))
        }
        _ => None,
    };
    let ((address, port), _) =
        source.ok_or(HeaderError::Malformed("a version 1 line with impossible fields"))?;
    Ok(Some(SocketAddr::new(address, port)))
}

fn v1_address(family: &str, source: &str, destination: &str) -> Option<IpAddr> {
    match family {
        "TCP4" => destination.parse::<Ipv4Addr>().and(source.parse::<Ipv4Addr>()).ok().map(IpAddr::from),
        "TCP6" => destination.parse::<Ipv6Addr>().and(source.parse::<Ipv6Addr>()).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Parses a port written in plain decimal, without sign or leading zero.
fn port(text: &str) -> Option<u16> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

fn parse_v2(bytes: &[u8]) -> Result<Parsed, HeaderError> {
    let Some(fixed) = bytes.get(..V2_FIXED) else {
        return Ok(Parsed::Partial);
    };
    let command = match fixed[12] {
        0x20 => Command::Local,
        0x21 => Command::Proxy,
        _ => return Err(HeaderError::Malformed("an unknown version or command")),
    };
    let length = V2_FIXED + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if length > V2_MAX {
        return Err(HeaderError::Malformed("a version 2 header longer than 4096 bytes"));
    }
    let Some(header) = bytes.get(..length) else {
        return Ok(Parsed::Partial);
    };
    let source = match command {
        Command::Local => None,
        Command::Proxy => v2_source(header)?,
    };
    Ok(Parsed::Complete { length, source })
}

enum Command {
    Local,
    Proxy,
}

fn v2_source(header: &[u8]) -> Result<Option<SocketAddr>, HeaderError> {
    const SHORT: HeaderError = HeaderError::Malformed("a version 2 header too short for its addresses");
    let block = &header[V2_FIXED..];
    let (source, used) = match header[13] {
        0x00 => return Ok(None),
        0x11 => {
            let fields: &[u8; 12] = block.first_chunk().ok_or(SHORT)?;
            let address = Ipv4Addr::new(fields[0], fields[1], fields[2], fields[3]);
            (SocketAddr::new(address.into(), u16::from_be_bytes([fields[8], fields[9]])), 12)
        }
        0x21 => {
            let fields: &[u8; 36] = block.first_chunk().ok_or(SHORT)?;
            let octets: &[u8; 16] = fields.first_chunk().ok_or(SHORT)?;
            let port = u16::from_be_bytes([fields[32], fields[33]]);
            (SocketAddr::new(Ipv6Addr::from(*octets).into(), port), 36)
        }
        _ => return Err(HeaderError::Malformed("a family that is not TCP over IPv4 or IPv6")),
    };
    check_extensions(header, V2_FIXED + used)?;
    Ok(Some(source))
}

/// Walks the extensions: they must fill the header exactly, and a checksum among them must be right.
fn check_extensions(header: &[u8], start: usize) -> Result<(), HeaderError> {
    const BROKEN: HeaderError = HeaderError::Malformed("extensions that do not fill the version 2 header");
    let mut at = start;
    while at < header.len() {
        let [kind, high, low] = *header[at..].first_chunk::<3>().ok_or(BROKEN)?;
        let value = at + 3;
        let end = value + usize::from(u16::from_be_bytes([high, low]));
        let bytes = header.get(value..end).ok_or(BROKEN)?;
        if kind == TLV_CRC32C {
            let sent: [u8; 4] = bytes.try_into().map_err(|_| BROKEN)?;
            let zeroed = [&header[..value], &[0; 4], &header[end..]].concat();
            if crc32c(&zeroed) != u32::from_be_bytes(sent) {
                return Err(HeaderError::Malformed("a wrong checksum"));
            }
        }
        at = end;
    }
    Ok(())
}

/// The Castagnoli CRC, bit by bit: a few hundred bytes once per connection need no table.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests;
