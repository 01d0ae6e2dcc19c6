//! Who decides what a key's value is: what a reviewer asks of every limit.

use std::fmt;

use super::entry::Writer;
use super::{Key, Origin, Part, Source, SourceKind};

/// Who decides what a part's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chooser {
    /// Nobody: it is everyone together, or said by the policy (`global`, the route, the method).
    Nobody,
    /// Whoever issues verified tokens (a claim): each caller has one, and cannot write another.
    Issuer,
    /// What stands in front: a header field that only a trusted peer can send, what Envoy has found out.
    Edge,
    /// The network: an address. Who has many addresses has many keys, and who shares one shares the key.
    Network,
    /// The caller, about himself: a header field or a cookie. He may leave it out or write another.
    Caller,
    /// Whoever calls, about anybody: the path, the query, the body, what Envoy copies of these. A stranger can name his victim
    /// there.
    Stranger,
}

impl fmt::Display for Chooser {
    /// Writes who it is: `a stranger`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody",
            Self::Issuer => "the issuer of tokens",
            Self::Edge => "what stands in front",
            Self::Network => "the network",
            Self::Caller => "the caller",
            Self::Stranger => "a stranger",
        })
    }
}

/// One value that a key may be read from, and who decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen<'k> {
    /// The name of the part, or of the alternative of a `first_of`.
    pub name: &'k str,
    /// What people call it, the first name first; none where the file says nothing.
    pub called: &'k [String],
    /// Who decides it.
    pub by: Chooser,
}

impl Key {
    /// Returns what each part is read from, with who decides it: one value, or as many as a `first_of` has alternatives.
    pub fn chosen(&self) -> Vec<Vec<Chosen<'_>>> {
        let parts = self.parts.iter().map(|part| match &part.from {
            Origin::FirstOf(parts) => parts.iter().map(Part::chosen).collect(),
            _ => vec![part.chosen()],
        });
        parts.collect()
    }

    /// Returns who decides the key: each of those who decide a part of it, once, those with the least say first.
    pub fn choosers(&self) -> Vec<Chooser> {
        let mut choosers: Vec<Chooser> = self.chosen().iter().flatten().map(|chosen| chosen.by).collect();
        choosers.sort_unstable();
        choosers.dedup();
        if choosers.len() > 1 {
            // Beside somebody, nobody decides nothing.
            choosers.retain(|chooser| *chooser != Chooser::Nobody);
        }
        choosers
    }
}

impl Part {
    fn chosen(&self) -> Chosen<'_> {
        Chosen { name: &self.name, called: &self.called, by: self.chooser() }
    }

    fn chooser(&self) -> Chooser {
        match &self.from {
            Origin::Global => Chooser::Nobody,
            Origin::One(Source { kind, .. }) => kind.chooser(),
            Origin::Derived(derived) => derived.of.chooser(),
            Origin::FirstOf(parts) => parts.iter().map(Self::chooser).max().unwrap_or(Chooser::Nobody),
        }
    }
}

impl From<Writer> for Chooser {
    fn from(writer: Writer) -> Self {
        match writer {
            Writer::Configuration => Self::Nobody,
            Writer::Connection => Self::Network,
            Writer::Verified => Self::Edge,
            // A header field may be about the caller alone, but a policy does not say what is copied.
            Writer::Client => Self::Stranger,
        }
    }
}

impl SourceKind {
    fn chooser(&self) -> Chooser {
        match self {
            Self::Method | Self::Route => Chooser::Nobody,
            Self::Claim(_) => Chooser::Issuer,
            Self::TrustedHeader(_) => Chooser::Edge,
            Self::Descriptor(entry) => entry.writer().into(),
            Self::ClientIp { .. } => Chooser::Network,
            Self::Header(_) | Self::Cookie(_) => Chooser::Caller,
            Self::Query(_) | Self::Path(_) | Self::Json(_) | Self::Form(_) | Self::RequestPath => {
                Chooser::Stranger
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Chooser;
    use crate::parse_embedded;

    /// Guards the threat model against telling that nobody can aim at a key, where a body names it.
    #[test]
    fn each_source_has_somebody_who_decides_it() {
        let text = r"
tidegate: 1
trusted_proxies: [192.0.2.1]
keys:
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
  api_key: { header: x-api-key }
  edge: { header: x-user, from: trusted_proxies }
  account: { json: /account, called: [user] }
  destination: { json: /phone, normalize: [{ e164: US }] }
  country: { phone_country: destination }
  either: { first_of: [api_key, client] }
rules:
  - name: all
    match: { path: /** }
    limits:
      - { name: a, says: x, key: global, fixed_window: { limit: 1, window: 1m } }
      - { name: b, says: x, key: client, fixed_window: { limit: 1, window: 1m } }
      - { name: c, says: x, key: edge, fixed_window: { limit: 1, window: 1m } }
      - { name: d, says: x, key: account, fixed_window: { limit: 1, window: 1m } }
      - { name: e, says: x, key: country, fixed_window: { limit: 1, window: 1m } }
      - { name: f, says: x, key: either, fixed_window: { limit: 1, window: 1m } }
      - { name: g, says: x, key: [account, client, route], fixed_window: { limit: 1, window: 1m } }
";
        let policy = parse_embedded("policy.yaml", text).unwrap_or_else(|problems| panic!("{problems}"));
        let choosers: Vec<Vec<Chooser>> = policy.limits().map(|limit| limit.key.choosers()).collect();
        assert_eq!(
            choosers,
            [
                vec![Chooser::Nobody],
                vec![Chooser::Network],
                vec![Chooser::Edge],
                vec![Chooser::Stranger],
                vec![Chooser::Stranger],
                vec![Chooser::Network, Chooser::Caller],
                vec![Chooser::Network, Chooser::Stranger],
            ]
        );
        let account = policy.limits().nth(3).map(|limit| limit.key.chosen()[0][0].called.to_vec());
        assert_eq!(account, Some(vec!["user".to_owned()]));
    }

    /// Guards the threat model against an entry taken for Envoy's word that any client writes, and against one that goes by
    /// another name in its rule.
    #[test]
    fn an_entry_is_a_strangers_unless_envoy_writes_it_or_has_verified_it() {
        let text = r"
tidegate: 1
envoy: { listen: 127.0.0.1:0 }
keys:
  address: { descriptor: remote_address }
  caller: { descriptor: caller }
  network: { descriptor: masked_remote_address }
  cluster: { descriptor: source_cluster }
  account: { descriptor: account }
  verified: { descriptor: account, from: envoy }
rules:
  - name: all
    match:
      domain: shop
      descriptor: [{ key: remote_address, as: caller }, masked_remote_address, source_cluster, account, { key: x, as: remote_address }]
    limits:
      - { name: a, says: x, key: caller, fixed_window: { limit: 1, window: 1m } }
      - { name: b, says: x, key: network, fixed_window: { limit: 1, window: 1m } }
      - { name: c, says: x, key: cluster, fixed_window: { limit: 1, window: 1m } }
      - { name: d, says: x, key: account, fixed_window: { limit: 1, window: 1m } }
      - { name: e, says: x, key: verified, fixed_window: { limit: 1, window: 1m } }
      - { name: f, says: x, key: address, fixed_window: { limit: 1, window: 1m } }
      - { name: g, says: x, key: [account, caller], fixed_window: { limit: 1, window: 1m } }
";
        let policy = parse_embedded("policy.yaml", text).unwrap_or_else(|problems| panic!("{problems}"));
        let choosers: Vec<Vec<Chooser>> = policy.limits().map(|limit| limit.key.choosers()).collect();
        assert_eq!(
            choosers,
            [
                vec![Chooser::Network],
                vec![Chooser::Network],
                vec![Chooser::Nobody],
                vec![Chooser::Stranger],
                vec![Chooser::Edge],
                vec![Chooser::Stranger],
                vec![Chooser::Network, Chooser::Stranger],
            ]
        );
    }
}
