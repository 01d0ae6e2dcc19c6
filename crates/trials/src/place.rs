//! Where a trial may go: to loopback, or to a host that its owner has named.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use http::Uri;
use http::uri::Authority;

/// A place that may be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    host: String,
    address: SocketAddr,
}

/// Why a place may not be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// It is no such URL.
    Url(String),
    /// It cannot be found.
    Unknown(String),
    /// It is on another machine, and nobody said whose.
    Anothers {
        /// Its host as written.
        host: String,
        /// The address it stands for.
        address: IpAddr,
    },
}

impl Place {
    /// Reads the URL of a gateway; `owned` is the host that whoever tries it says is his.
    ///
    /// # Errors
    /// When it is no http URL of a host alone, cannot be found, or is on another machine that is not `owned`.
    pub fn of(url: &str, owned: Option<&str>) -> Result<Self, PlaceError> {
        let wrong = |why: &str| PlaceError::Url(format!("{url}: {why}; write http://127.0.0.1:8080"));
        let uri: Uri = url.parse().map_err(|_| wrong("it is no URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong("only http is spoken"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("a host is wanted, without a path"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        Self::at(authority, 80, owned).map_err(|error| match error {
            PlaceError::Url(why) => wrong(&why),
            other => other,
        })
    }

    /// Finds a host with its port, or with the one that is meant without.
    ///
    /// # Errors
    /// When it names a user or no port that can be, cannot be found, or is on another machine that is not `owned`.
    pub fn at(authority: &Authority, port: u16, owned: Option<&str>) -> Result<Self, PlaceError> {
        let wrong = |why: &str| PlaceError::Url(why.to_owned());
        if authority.as_str().contains('@') {
            return Err(wrong("it has a user"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        // One that is no number, or too great a one, is not the default one.
        let port = match authority.as_str().strip_prefix(authority.host()).unwrap_or_default() {
            "" => port,
            _ => authority.port_u16().filter(|port| *port > 0).ok_or_else(|| wrong("its port is none"))?,
        };
        let unknown = || PlaceError::Unknown(format!("{host}: no address is known for it"));
        let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|_| unknown())?.collect();
        // A name that stands for both loopback addresses means the one that gateways listen on by default.
        let ipv4 = found.iter().find(|address| address.is_ipv4());
        let address = *ipv4.or(found.first()).ok_or_else(unknown)?;
        if !address.ip().is_loopback() && owned != Some(host) {
            return Err(PlaceError::Anothers { host: host.to_owned(), address: address.ip() });
        }
        Ok(Self { host: authority.as_str().to_owned(), address })
    }

    /// Returns the address to connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what requests name as their host, unless a rule asks for another.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.host)
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) | Self::Unknown(why) => f.write_str(why),
            Self::Anothers { host, address } => write!(
                f,
                "{host} ({address}) is another machine; try it only if it is yours, with --i-own-this {host}"
            ),
        }
    }
}

impl std::error::Error for PlaceError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a trial of a machine that is somebody else's.
    #[test]
    fn nothing_but_loopback_is_tried_unless_its_owner_says_so() {
        assert!(Place::of("http://127.0.0.1:8080", None).is_ok());
        assert!(Place::of("http://127.9.9.9", None).is_ok());
        assert!(Place::of("http://[::1]:80/", None).is_ok());
        let other = Place::of("http://192.0.2.1:8080", None);
        assert!(matches!(other, Err(PlaceError::Anothers { .. })), "{other:?}");
        assert!(Place::of("http://192.0.2.1:8080", Some("192.0.2.2")).is_err());
        assert!(
            Place::of("http://192.0.2.1:8080", Some("192.0.2.1"))
                .is_ok_and(|place| !place.address().ip().is_loopback())
        );
    }

    #[test]
    fn what_is_no_plain_gateway_is_refused_with_what_to_write() {
        for url in [
            "127.0.0.1:8080",
            "https://127.0.0.1",
            "http://127.0.0.1/a",
            "http://127.0.0.1/?a",
            "http://a@127.0.0.1",
            "http://127.0.0.1:99999",
            "http://127.0.0.1:0",
            "http://127.0.0.1:",
            "http://[::1]:65536",
            "",
        ] {
            let error = Place::of(url, None).unwrap_err();
            assert!(error.to_string().contains("http://127.0.0.1:8080"), "{url}: {error}");
        }
    }
}
