//! What is laid over one limit, and which of it a request meets.

use crate::key::Presence;
use crate::limit::{Limit, Terms, Whose};
use crate::overlay::Overlay;
use crate::policy::Mode;
use crate::request::{Ambiguous, Facts};
use crate::secret::Identities;

/// What is laid over a limit at run time; nothing unless an operator made an exception.
#[derive(Debug, Clone, Default)]
pub struct Overlays {
    /// The exceptions, that for everybody first.
    pub(super) list: Vec<Overlay>,
    /// Whether the limit looks at nobody but the keys that have terms of their own.
    pub(super) off: bool,
    /// The keys with exceptions of their own.
    pub(super) keys: Vec<Keyed>,
    /// Their terms, behind all others of the limit.
    pub(super) terms: Vec<KeyTerms>,
    /// What names keys, where there are any.
    pub(super) identities: Option<Identities>,
}

/// A key with an exception of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keyed {
    pub(super) identity: String,
    /// Where its terms begin.
    pub(super) first: usize,
    /// How many it has: one, or one for each plan; none where the limit does not look at it.
    pub(super) count: usize,
}

/// Terms of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyTerms {
    pub(super) identity: String,
    pub(super) terms: Terms,
    pub(super) mode: Mode,
}

/// Everything but the secret under which keys have their names.
impl PartialEq for Overlays {
    fn eq(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.list.clone(), one.off, one.keys.clone(), one.terms.clone());
        of(self) == of(other)
    }
}

impl Overlays {
    /// Returns the exceptions, that for everybody first.
    pub fn list(&self) -> &[Overlay] {
        &self.list
    }

    pub(crate) fn variants(&self) -> impl Iterator<Item = (Whose<'_>, &Terms)> {
        self.terms.iter().map(|one| (Whose::Key(one.identity.as_str()), &one.terms))
    }
}

/// What an exception for a key comes to in a request.
pub(crate) enum Found {
    /// Terms that begin there among those of keys; whether there is one for each plan.
    Terms { first: usize, by_plan: bool },
    /// The limit does not look.
    Off,
}

impl Limit {
    /// Returns whether the limit looks at nobody for a while, but at keys with an exception of their own.
    pub fn is_off(&self) -> bool {
        self.overlays.off
    }

    /// Returns whether refusals under some of its terms are carried out; the index is one of [`Limit::variants`].
    pub fn mode_of(&self, variant: usize) -> Mode {
        let own = variant.checked_sub(self.own_variants()).and_then(|index| self.overlays.terms.get(index));
        own.map_or(self.mode, |own| own.mode)
    }

    /// Returns how many terms the limit has by the file.
    pub(crate) fn own_variants(&self) -> usize {
        let plans = self.plans.as_ref().map_or(1, |plans| plans.list.len());
        plans.saturating_add(self.overrides.len())
    }

    /// Returns the exception for a request's key, if there is one.
    pub(crate) fn exception_for(&self, facts: &Facts<'_>) -> Result<Option<Found>, Ambiguous> {
        let Some(identities) = self.overlays.identities.as_ref().filter(|_| !self.overlays.keys.is_empty())
        else {
            return Ok(None);
        };
        let mut key = Vec::new();
        if let Presence::Missing { .. } = self.key.read(facts, &mut key)? {
            return Ok(None);
        }
        self.name_key(&mut key, 0);
        let identity = identities.identity(self.storage_name(), &key);
        let found = self.overlays.keys.iter().find(|one| one.identity == identity);
        Ok(found.map(|one| match one.count {
            0 => Found::Off,
            count => Found::Terms { first: one.first, by_plan: count > 1 },
        }))
    }

    /// Returns what an operator's exception does with a request, each in a sentence.
    pub fn exceptions(&self, facts: &Facts<'_>) -> Vec<&Overlay> {
        let names = self.overlays.identities.as_ref();
        let mut key = Vec::new();
        let has_key = self.key.read(facts, &mut key).is_ok_and(|presence| presence == Presence::Present);
        self.name_key(&mut key, 0);
        let identity = names.filter(|_| has_key).map(|names| names.identity(self.storage_name(), &key));
        let list = self.overlays.list.iter();
        list.filter(|one| one.key.is_none() || one.key == identity).collect()
    }
}

/// Returns whether a text is the name of a key outside the process: `hmac:` and 32 hexadecimal digits.
pub fn is_identity(text: &str) -> bool {
    let digits = text.strip_prefix("hmac:").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
