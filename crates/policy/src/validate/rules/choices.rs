//! What a rule says or leaves to its class.

use super::Head;
use crate::file::{Fields, Report};
use crate::rule::{Class, ClientSees, OnMissingKey, OnStoreFailure};
use crate::validate::limits;

/// Returns the class; one that is not known is read on as `api`, which asks the least.
pub(super) fn class(fields: &mut Fields<'_>, report: &mut Report) -> Class {
    let said = fields.get("class").and_then(|node| node.choice("class", &Class::ALL, report));
    said.unwrap_or(Class::Api)
}

pub(super) fn missing_key(fields: &mut Fields<'_>, class: Class, report: &mut Report) -> OnMissingKey {
    let said =
        fields.get("on_missing_key").and_then(|node| node.choice("on_missing_key", &limits::MISSING, report));
    said.unwrap_or(if class.is_guarded() { OnMissingKey::Refuse } else { OnMissingKey::Skip })
}

/// A guarded endpoint has to say what a dead store means: no answer is right for all of them.
pub(super) fn store_failure(fields: &mut Fields<'_>, head: Head<'_>, report: &mut Report) -> OnStoreFailure {
    const WORDS: [(OnStoreFailure, &str); 3] =
        [(OnStoreFailure::Deny, "deny"), (OnStoreFailure::Allow, "allow"), (OnStoreFailure::Local, "local")];
    let Some(node) = fields.get("on_store_failure") else {
        if !head.class.is_guarded() {
            return OnStoreFailure::Allow;
        }
        let message = format!("the rule {} does not say what happens when the store fails", head.name);
        let remedy = "write `on_store_failure: deny`, allow or local; a rule of its class has to choose";
        fields.lack(&["on_store_failure"], message, remedy);
        return OnStoreFailure::Deny;
    };
    node.choice("on_store_failure", &WORDS, report).unwrap_or(OnStoreFailure::Deny)
}

pub(super) fn client_sees(fields: &mut Fields<'_>, class: Class, report: &mut Report) -> ClientSees {
    let said = fields.get("client_sees").and_then(|node| node.choice("client_sees", &limits::SEES, report));
    let secret = matches!(class, Class::Verify | Class::Recovery | Class::Login);
    said.unwrap_or(if secret { ClientSees::RetryAfter } else { ClientSees::All })
}
