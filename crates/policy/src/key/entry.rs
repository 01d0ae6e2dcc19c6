//! Keys that read an entry of one of Envoy's descriptors.

use super::{Origin, Part, Source, SourceKind};

/// Entries that hold the client's address, as Envoy has resolved it.
const ADDRESSES: [&str; 2] = ["remote_address", "masked_remote_address"];
/// Entries that Envoy's configuration decides, whoever asks.
const CONFIGURED: [&str; 3] = ["generic_key", "source_cluster", "destination_cluster"];

/// Which entry a key reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Its key, or the name that a rule's match gives it.
    pub(crate) name: String,
    /// Whether the file says that Envoy found its value out itself: clients cannot write it.
    pub(crate) vouched: bool,
    /// Its key, in the key of a limit whose rule names it otherwise.
    pub(crate) renamed: Renamed,
}

/// The key of an entry that goes by another name. It says nothing that the rule does not: keys are the same without it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renamed(pub(crate) Option<String>);

impl PartialEq for Renamed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Who writes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Envoy, from its configuration.
    Configuration,
    /// Envoy, from the connection: the client's address.
    Connection,
    /// Envoy, from what it has verified, as the file says.
    Verified,
    /// Most often the client: Envoy copies a header field or a parameter of the query.
    Client,
}

impl Entry {
    pub(crate) fn new(name: &str, vouched: bool) -> Self {
        Self { name: name.to_owned(), vouched, renamed: Renamed::default() }
    }

    /// Returns its key, as far as that is known; else the name it goes by.
    pub(crate) fn key(&self) -> &str {
        self.renamed.0.as_deref().unwrap_or(&self.name)
    }

    /// Returns who writes it, as far as a policy can tell.
    pub(crate) fn writer(&self) -> Writer {
        let key = self.key();
        match () {
            () if ADDRESSES.contains(&key) => Writer::Connection,
            () if CONFIGURED.contains(&key) => Writer::Configuration,
            () if self.vouched => Writer::Verified,
            () => Writer::Client,
        }
    }
}

impl Part {
    /// Tells each entry that it reads what its key is, where `key` knows another one than its name.
    pub(crate) fn rename(&mut self, key: &impl Fn(&str) -> Option<String>) {
        match &mut self.from {
            Origin::One(Source { kind: SourceKind::Descriptor(entry), .. }) => {
                entry.renamed = Renamed(key(&entry.name));
            }
            Origin::FirstOf(parts) => parts.iter_mut().for_each(|part| part.rename(key)),
            Origin::Derived(derived) => derived.of.rename(key),
            Origin::One(_) | Origin::Global => {}
        }
    }
}
