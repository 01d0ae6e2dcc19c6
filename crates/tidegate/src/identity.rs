//! The names of keys outside the process.
//!
//! A limiter has one secret for them, whoever tells of a key: a name in its log is the name in its answers.

use std::sync::OnceLock;

use tidegate_policy::Identities;

use crate::inner::{Inner, Registered};
use crate::limiter::Snapshot;

/// What names keys while the policy says no secret: a secret of the limiter's own, drawn when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct OwnIdentities(OnceLock<Option<Identities>>);

impl OwnIdentities {
    /// Returns them; `None` when the system gives no randomness, so that keys have no names.
    pub(crate) fn get(&self) -> Option<&Identities> {
        self.0.get_or_init(draw).as_ref()
    }
}

fn draw() -> Option<Identities> {
    let mut secret = [0; 32];
    match getrandom::fill(&mut secret) {
        Ok(()) => Some(Identities::with_secret(&secret)),
        Err(error) => {
            tracing::error!(%error, "the system gives no randomness; keys are told of without names");
            None
        }
    }
}

impl Inner {
    fn identities(&self) -> Option<&Identities> {
        let said = self.policy.as_ref().and_then(|compiled| compiled.policy.identities.as_ref());
        said.or_else(|| self.lasting.own_identities.get())
    }

    /// Returns the name by which a limit's key may be known outside.
    pub(crate) fn identity(&self, limit: &Registered, key: &[u8]) -> Option<String> {
        self.identities().map(|identities| identities.identity(&limit.storage_name, key))
    }
}

impl Snapshot {
    /// Returns what names keys outside the process: under the policy's secret, or else under one that the limiter drew
    /// and keeps over reloads. `None` when the system gives no randomness for that.
    pub fn identities(&self) -> Option<&Identities> {
        self.inner.identities()
    }
}
