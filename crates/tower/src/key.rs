//! What a limit built in code is counted on.
//!
//! A key is read from a request's head alone: no body is touched, so none has to be of any type.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use http::HeaderName;
use http::request::Parts;

/// What a limit counts on: a client's address, a header's value, whatever a closure reads.
///
/// A key is taken as it is, in the space of its limit's name: two limits never share a count, and what a key's text means
/// to one says nothing to another. [`tidegate::Limiter::check_key`] on the same limit and key meets the same count.
#[derive(Clone)]
pub struct Key {
    read: Arc<Read>,
    missing: Missing,
    reads_client: bool,
}

type Read = dyn Fn(&Seen<'_>, &mut Vec<u8>) -> Found + Send + Sync;

/// What becomes of a request that has not got a limit's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnMissing {
    /// The limit lets it be. Whoever can leave the key out is then limited by the other limits alone.
    Skip,
    /// It is a bad request: 400.
    Refuse,
    /// All such requests are counted together, on an empty key.
    Share,
}

/// The same, for a key that only the service itself can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Chosen(OnMissing),
    /// The service's fault: 500.
    Ours,
}

/// A request, as far as a key is read from it.
pub(crate) struct Seen<'a> {
    pub(crate) head: &'a Parts,
    /// The client's address, when a key is of it and it is known who is connected.
    pub(crate) client: Option<IpAddr>,
}

/// What came of reading a key.
enum Found {
    Key,
    Nothing,
    Ambiguous,
}

/// What becomes of a limit's check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keyed {
    /// The key has been written.
    On,
    /// The limit is not asked.
    Skipped,
    /// The request has no key, or more than one.
    Bad(&'static str),
    /// Nobody has told the service who is connected.
    NoPeer,
}

impl Key {
    /// Counts all requests together.
    pub fn global() -> Self {
        Self::reading(Missing::Chosen(OnMissing::Share), |_, _| Found::Key)
    }

    /// Counts on the client's address: the connection's other end, or whom a trusted proxy names
    /// ([`KeyedLayer::trusting`]). Of an IPv6 address the first 64 bits count, since whoever has one has the whole /64.
    ///
    /// The key is the address in text, `192.0.2.7`, or the network, `2001:db8:1:2::/64`; an IPv4 address that comes in an
    /// IPv6 one is an IPv4 address.
    ///
    /// When nobody has said who is connected, every request is answered 500 and an error is logged, which tells how to mend
    /// it: a limit that does not know its clients would limit nobody, or all of them as one. [`Key::on_missing`] chooses one
    /// of these all the same.
    ///
    /// [`KeyedLayer::trusting`]: crate::KeyedLayer::trusting
    pub fn client() -> Self {
        Self::client_within(32, 64)
    }

    /// Counts on the first bits of the client's address, so many of an IPv4 and of an IPv6 one; more than it has are all of
    /// them. See [`Key::client`].
    pub fn client_within(ipv4: u8, ipv6: u8) -> Self {
        let read = Self::reading(Missing::Ours, move |seen, out| {
            let Some(client) = seen.client else { return Found::Nothing };
            write_network(client.to_canonical(), ipv4, ipv6, out);
            Found::Key
        });
        Self { reads_client: true, ..read }
    }

    /// Counts on a header's value, whole and as it is. An empty one is none. A header that comes twice has no one value, and
    /// the request is refused (400).
    ///
    /// A client writes its headers itself. Limit on one whose value has been verified in front, or beside a limit on the
    /// client's address: otherwise a new value is a new quota.
    pub fn header(name: HeaderName, missing: OnMissing) -> Self {
        Self::reading(Missing::Chosen(missing), move |seen, out| {
            let mut values = seen.head.headers.get_all(&name).iter();
            match (values.next(), values.next()) {
                (_, Some(_)) => Found::Ambiguous,
                (Some(value), None) if !value.is_empty() => {
                    out.extend_from_slice(value.as_bytes());
                    Found::Key
                }
                _ => Found::Nothing,
            }
        })
    }

    /// Counts on what a closure reads from every request's head.
    ///
    /// ```
    /// # use tidegate_tower::Key;
    /// let by_method = Key::by(|head| head.method.to_string());
    /// ```
    ///
    /// Beware of what can be written in two ways: `/a` and `/%61` are two keys and, to most routers, one path.
    pub fn by<K: AsRef<[u8]>>(read: impl Fn(&Parts) -> K + Send + Sync + 'static) -> Self {
        Self::reading(Missing::Chosen(OnMissing::Refuse), move |seen, out| {
            out.extend_from_slice(read(seen.head).as_ref());
            Found::Key
        })
    }

    /// Counts on what a closure reads from a request's head, where it finds something. An empty key is none.
    ///
    /// ```
    /// # use tidegate_tower::{Key, OnMissing};
    /// #[derive(Clone)]
    /// struct Account(String);
    ///
    /// // What a layer outside of the limit has found out about the request.
    /// let by_account = Key::if_any(
    ///     |head| head.extensions.get::<Account>().map(|account| account.0.to_lowercase()),
    ///     OnMissing::Refuse,
    /// );
    /// ```
    pub fn if_any<K: AsRef<[u8]>>(
        read: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
        missing: OnMissing,
    ) -> Self {
        Self::reading(Missing::Chosen(missing), move |seen, out| match read(seen.head) {
            Some(key) if !key.as_ref().is_empty() => {
                out.extend_from_slice(key.as_ref());
                Found::Key
            }
            _ => Found::Nothing,
        })
    }

    /// Chooses what becomes of a request without the key.
    #[must_use]
    pub fn on_missing(self, missing: OnMissing) -> Self {
        Self { missing: Missing::Chosen(missing), ..self }
    }

    fn reading(
        missing: Missing,
        read: impl Fn(&Seen<'_>, &mut Vec<u8>) -> Found + Send + Sync + 'static,
    ) -> Self {
        Self { read: Arc::new(read), missing, reads_client: false }
    }

    /// Returns whether the key is of the client's address.
    pub(crate) fn reads_client(&self) -> bool {
        self.reads_client
    }

    /// Appends a request's key to `out`, or says why there is none.
    pub(crate) fn write(&self, seen: &Seen<'_>, out: &mut Vec<u8>) -> Keyed {
        match ((self.read)(seen, out), self.missing) {
            (Found::Key, _) | (Found::Nothing, Missing::Chosen(OnMissing::Share)) => Keyed::On,
            (Found::Nothing, Missing::Chosen(OnMissing::Skip)) => Keyed::Skipped,
            (Found::Nothing, Missing::Chosen(OnMissing::Refuse)) => Keyed::Bad("it is missing"),
            (Found::Nothing, Missing::Ours) => Keyed::NoPeer,
            (Found::Ambiguous, _) => Keyed::Bad("it is there more than once"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("missing", &self.missing).finish_non_exhaustive()
    }
}

/// Writes the network of an address.
fn write_network(address: IpAddr, ipv4: u8, ipv6: u8, out: &mut Vec<u8>) {
    let (network, prefix, bits) = match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(ipv4.into())).unwrap_or(0);
            (IpAddr::from(Ipv4Addr::from_bits(v4.to_bits() & mask)), ipv4, 32)
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(ipv6.into())).unwrap_or(0);
            (IpAddr::from(Ipv6Addr::from_bits(v6.to_bits() & mask)), ipv6, 128)
        }
    };
    let text = if prefix < bits { format!("{network}/{prefix}") } else { network.to_string() };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn read(key: &Key, headers: &[(&str, &str)], client: Option<&str>) -> (Keyed, String) {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let mut out = Vec::new();
        let client = client.map(|text| text.parse().unwrap());
        let keyed = key.write(&Seen { head: &head, client }, &mut out);
        (keyed, String::from_utf8(out).unwrap())
    }

    /// Guards against as many quotas as a client has addresses, and against one client with two.
    #[test]
    fn an_address_counts_by_its_network_and_in_one_form() {
        for (key, address, text) in [
            (Key::client(), "192.0.2.7", "192.0.2.7"),
            (Key::client(), "::ffff:192.0.2.7", "192.0.2.7"),
            (Key::client(), "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            // Only a mapped address stands for an IPv4 one.
            (Key::client(), "2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::/64"),
            (Key::client_within(24, 56), "192.0.2.7", "192.0.2.0/24"),
            (Key::client_within(24, 56), "2001:db8:1234:5678::1", "2001:db8:1234:5600::/56"),
            (Key::client_within(0, 0), "192.0.2.7", "0.0.0.0/0"),
            (Key::client_within(0, 0), "2001:db8::1", "::/0"),
            (Key::client_within(99, 200), "2001:db8::1", "2001:db8::1"),
        ] {
            assert_eq!(read(&key, &[], Some(address)), (Keyed::On, text.to_owned()), "{address}");
        }
    }

    /// Guards against a request without a key that no limit sees, unless somebody chose that.
    #[test]
    fn a_missing_key_is_what_was_chosen() {
        let header = |missing| Key::header(HeaderName::from_static("x-api-key"), missing);
        let none = || (Keyed::Bad("it is missing"), String::new());
        for headers in [&[][..], &[("x-api-key", "")][..]] {
            assert_eq!(read(&header(OnMissing::Skip), headers, None), (Keyed::Skipped, String::new()));
            assert_eq!(read(&header(OnMissing::Refuse), headers, None), none());
            assert_eq!(read(&header(OnMissing::Share), headers, None), (Keyed::On, String::new()));
        }
        assert_eq!(read(&Key::if_any(|_| None::<&str>, OnMissing::Refuse), &[], None), none());
        assert_eq!(read(&Key::if_any(|_| Some(""), OnMissing::Refuse), &[], None), none());
        assert_eq!(read(&Key::client(), &[], None), (Keyed::NoPeer, String::new()));
        let shared = Key::client().on_missing(OnMissing::Share);
        assert_eq!(read(&shared, &[], None), (Keyed::On, String::new()));
    }

    /// Guards against a client that has two keys to choose from.
    #[test]
    fn a_header_that_comes_twice_is_no_key() {
        let key = Key::header(HeaderName::from_static("x-api-key"), OnMissing::Skip);
        let twice = [("x-api-key", "a"), ("x-api-key", "b")];
        assert_eq!(read(&key, &twice, None).0, Keyed::Bad("it is there more than once"));
        assert_eq!(read(&key, &twice[..1], None), (Keyed::On, "a".to_owned()));
    }
}
