//! Whom a key tells apart: whether it holds for one account, whatever whoever guesses at it does.

use tidegate_policy::{Key, KeySource, Reads, Rule};

/// What a place of a key tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One whom somebody can name: an account, a phone number.
    Somebody,
    /// What the caller gets anew when he likes: a session, a challenge, a cookie, a header field of his own.
    Renewable,
    /// A network.
    Address,
    /// Nobody, or a few: everyone together, a route, a country, a block of numbers.
    Few,
}

/// What things that are given out anew are called.
const RENEWABLE: [&str; 9] =
    ["session", "challenge", "csrf", "nonce", "device", "ticket", "transaction", "request_id", "fingerprint"];
/// What people and their accounts are called.
const PEOPLE: [&str; 7] = ["mail", "user", "account", "login", "handle", "member", "customer"];
/// What phone numbers are called.
const PHONES: [&str; 5] = ["phone", "msisdn", "mobile", "tel", "destination"];

/// Entries of Envoy's descriptors that hold the client's address.
const ADDRESSES: [&str; 2] = ["remote_address", "masked_remote_address"];
/// Entries of which there are a few, whoever asks.
const FEW: [&str; 3] = ["generic_key", "source_cluster", "destination_cluster"];

/// Returns what a place of a key tells apart.
pub fn kind(place: &KeySource<'_>) -> Kind {
    match place.reads {
        Reads::Everyone | Reads::Method | Reads::Route | Reads::PhoneCountry | Reads::PhonePrefix => {
            Kind::Few
        }
        Reads::Descriptor(_) if is_entry(place, &FEW) => Kind::Few,
        Reads::Address { .. } => Kind::Address,
        _ if is_address(place) => Kind::Address,
        // Where a pattern applies, there is always another path.
        Reads::Cookie(_) | Reads::Header(_) | Reads::RequestPath => Kind::Renewable,
        Reads::Descriptor(_) if place.entry_key().is_some_and(|key| key.ends_with("path")) => Kind::Renewable,
        _ if is_called(place, &RENEWABLE) => Kind::Renewable,
        _ => Kind::Somebody,
    }
}

/// Returns whether a key counts all that is tried at one account on one key: no part of it can be changed by going
/// elsewhere or by beginning anew.
pub(crate) fn holds_for_one(key: &Key) -> bool {
    key.parts().flatten().all(|place| matches!(kind(&place), Kind::Somebody | Kind::Few))
}

/// Returns whether some place of a key is of a kind.
pub(super) fn has(key: &Key, wanted: Kind) -> bool {
    key.parts().flatten().any(|place| kind(&place) == wanted)
}

/// Returns whether a key counts all that one address does, or more than that.
pub(super) fn holds_for_address(key: &Key) -> bool {
    key.parts().flatten().all(|place| matches!(kind(&place), Kind::Address | Kind::Few))
}

/// Returns whether a key counts everyone together.
pub(super) fn is_everyone(key: &Key) -> bool {
    key.parts().flatten().all(|place| place.reads == Reads::Everyone)
}

/// Returns whether a place reads the client's address, or the entry of a descriptor that holds it.
pub(super) fn is_address(place: &KeySource<'_>) -> bool {
    match place.reads {
        Reads::Address { .. } => true,
        _ => is_entry(place, &ADDRESSES),
    }
}

/// Returns whether a place reads one of these entries of Envoy's descriptors, whatever the rule calls it.
fn is_entry(place: &KeySource<'_>, keys: &[&str]) -> bool {
    place.entry_key().is_some_and(|key| keys.contains(&key))
}

/// Returns whether a rule is for Envoy's descriptors.
pub(super) fn is_for_descriptors(rule: &Rule) -> bool {
    rule.matches.iter().any(|matcher| matcher.descriptor.is_some())
}

/// Returns whether a place reads the name of a person or of an account.
pub(super) fn is_person(place: &KeySource<'_>) -> bool {
    is_called(place, &PEOPLE)
}

/// Returns whether a place reads a phone number, or is meant to.
pub fn is_phone(place: &KeySource<'_>) -> bool {
    place.international || is_called(place, &PHONES)
}

/// Returns the name in the request of what anybody writes there; `None` for everything else.
pub(super) fn field<'k>(place: &'k KeySource<'k>) -> Option<&'k str> {
    match &place.reads {
        Reads::Query(name) | Reads::Path(name) | Reads::Form(name) => Some(name),
        Reads::Json(pointer) => Some(pointer),
        _ => None,
    }
}

fn is_called(place: &KeySource<'_>, words: &[&str]) -> bool {
    let says = |text: &str| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    says(place.name) || field(place).is_some_and(says) || place.entry_key().is_some_and(says)
}
