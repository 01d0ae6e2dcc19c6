//! What keys are made of, for whoever judges a policy instead of a request.

use crate::cost::{CostHeader, CostTable};
use crate::key::{DerivedKind, Entry, Key, Normalizer, Origin, Part, Source, SourceKind};

/// Where a value of a key comes from; names are those in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reads<'k> {
    /// Nowhere: everyone is counted together.
    Everyone,
    /// The client's address, cut to prefixes of so many bits.
    Address {
        /// Of IPv4.
        ipv4: u8,
        /// Of IPv6.
        ipv6: u8,
    },
    /// A header field that anybody can send.
    Header(&'k str),
    /// A header field that is taken from trusted proxies only.
    TrustedHeader(&'k str),
    /// A parameter of the query.
    Query(&'k str),
    /// A parameter of the path.
    Path(&'k str),
    /// A value in a JSON body, by its pointer.
    Json(String),
    /// A field of a form.
    Form(&'k str),
    /// A cookie.
    Cookie(&'k str),
    /// An entry of Envoy's descriptors, by its key or by the name that a rule gives it.
    Descriptor(&'k str),
    /// A claim of a verified token.
    Claim(&'k str),
    /// The method.
    Method,
    /// The pattern of the rule that matched.
    Route,
    /// The path that was asked for: whoever asks chooses it.
    RequestPath,
    /// The country of another key's phone number.
    PhoneCountry,
    /// Another key's phone number without its last four digits.
    PhonePrefix,
}

/// One place that a part of a key is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySource<'k> {
    /// The key's name in the file, or what an inline key reads.
    pub name: &'k str,
    /// Where its value comes from.
    pub reads: Reads<'k>,
    /// The key of the entry of Envoy's descriptors, where the rule of its limit gives it another name.
    pub entry: Option<&'k str>,
    /// Whether spellings in upper and lower case are one value.
    pub lowercased: bool,
    /// Whether a phone number is brought into its international form.
    pub international: bool,
}

impl<'k> KeySource<'k> {
    /// Returns the key of the entry of Envoy's descriptors that it reads, if it reads one.
    pub fn entry_key(&self) -> Option<&'k str> {
        match self.reads {
            Reads::Descriptor(name) => Some(self.entry.unwrap_or(name)),
            _ => None,
        }
    }
}

impl Key {
    /// Returns, for each part of the key, the places it is read from: one, or those of a `first_of` in their order.
    pub fn parts(&self) -> impl Iterator<Item = Vec<KeySource<'_>>> {
        self.parts.iter().map(|part| {
            let mut places = Vec::new();
            part.places(&mut places);
            places
        })
    }

    /// Returns, for each part of the key, the places of a request that have to be filled for it: as [`Key::parts`] has
    /// them, but of what a phone number tells those of the number itself.
    pub fn origins(&self) -> impl Iterator<Item = Vec<KeySource<'_>>> {
        self.parts.iter().map(Part::origins)
    }
}

impl CostTable {
    /// Returns the places that the key is read from: one, or those of a `first_of` in their order.
    pub fn places(&self) -> Vec<KeySource<'_>> {
        let mut places = Vec::new();
        self.by.places(&mut places);
        places
    }

    /// Returns the places of a request that have to be filled for the key, as [`Key::origins`] does.
    pub fn origins(&self) -> Vec<KeySource<'_>> {
        self.by.origins()
    }
}

impl CostHeader {
    /// Returns the name of the header field.
    pub fn field(&self) -> &str {
        match &self.part.from {
            Origin::One(Source { kind: SourceKind::Header(name), .. }) => name.as_str(),
            _ => &self.part.name,
        }
    }
}

impl Part {
    fn places<'k>(&'k self, places: &mut Vec<KeySource<'k>>) {
        let (reads, steps): (_, &[Normalizer]) = match &self.from {
            Origin::FirstOf(parts) => return parts.iter().for_each(|part| part.places(places)),
            Origin::Global => (Reads::Everyone, &[]),
            Origin::One(source) => (source.reads(), &source.normalize),
            Origin::Derived(derived) => match derived.kind {
                DerivedKind::Country => (Reads::PhoneCountry, &[]),
                DerivedKind::Prefix => (Reads::PhonePrefix, &[]),
            },
        };
        places.push(KeySource {
            name: &self.name,
            reads,
            entry: self.entry().and_then(|entry| entry.renamed.0.as_deref()),
            lowercased: steps.contains(&Normalizer::Lowercase),
            international: steps.iter().any(|step| matches!(step, Normalizer::E164(_))),
        });
    }

    /// Returns the entry of Envoy's descriptors that it reads, if it reads one.
    fn entry(&self) -> Option<&Entry> {
        match &self.from {
            Origin::One(Source { kind: SourceKind::Descriptor(entry), .. }) => Some(entry),
            _ => None,
        }
    }

    fn origins(&self) -> Vec<KeySource<'_>> {
        let mut places = Vec::new();
        match &self.from {
            Origin::Derived(derived) => return derived.of.origins(),
            Origin::FirstOf(parts) => parts.iter().for_each(|part| places.extend(part.origins())),
            Origin::One(_) | Origin::Global => self.places(&mut places),
        }
        places
    }

    /// Adds the names of the part and of all it is read from.
    pub(crate) fn names_within<'k>(&'k self, names: &mut Vec<&'k str>) {
        names.push(&self.name);
        match &self.from {
            Origin::FirstOf(parts) => parts.iter().for_each(|part| part.names_within(names)),
            Origin::Derived(derived) => derived.of.names_within(names),
            Origin::Global | Origin::One(_) => {}
        }
    }
}

impl Source {
    fn reads(&self) -> Reads<'_> {
        match &self.kind {
            SourceKind::ClientIp { ipv4, ipv6 } => Reads::Address { ipv4: *ipv4, ipv6: *ipv6 },
            SourceKind::Header(name) => Reads::Header(name.as_str()),
            SourceKind::TrustedHeader(name) => Reads::TrustedHeader(name.as_str()),
            SourceKind::Query(name) => Reads::Query(name),
            SourceKind::Path(name) => Reads::Path(name),
            SourceKind::Json(pointer) => Reads::Json(pointer.to_string()),
            SourceKind::Form(name) => Reads::Form(name),
            SourceKind::Cookie(name) => Reads::Cookie(name),
            SourceKind::Descriptor(entry) => Reads::Descriptor(&entry.name),
            SourceKind::Claim(claim) => Reads::Claim(&claim.name),
            SourceKind::Method => Reads::Method,
            SourceKind::Route => Reads::Route,
            SourceKind::RequestPath => Reads::RequestPath,
        }
    }
}
