//! An override as the store keeps it: a name for its limit and key, and JSON.

use serde::{Deserialize, Serialize};
use tidegate::policy_file::Identities;
use tidegate::policy_file::overlay::{Overlay, Set, SetMode};
use tidegate::{Note, Timestamp};

/// What is written down of an override; its end stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Text {
    pub(super) limit: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) key: Option<String>,
    pub(super) set: SetText,
    pub(super) because: String,
    /// When it was made, in microseconds since the epoch by the store's clock.
    pub(super) since: u64,
    /// The address of whoever made it.
    pub(super) by: String,
    /// What tells the secret under which the key has its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) names: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SetText {
    Number(u64),
    Terms(String),
    Mode(ModeText),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModeText {
    Shadow,
    Off,
    Refuse,
}

impl From<&Set> for SetText {
    fn from(set: &Set) -> Self {
        match set {
            Set::Number(number) => Self::Number(*number),
            Set::Terms(terms) => Self::Terms(terms.clone()),
            Set::Mode(SetMode::Shadow) => Self::Mode(ModeText::Shadow),
            Set::Mode(SetMode::Off) => Self::Mode(ModeText::Off),
            Set::Mode(SetMode::Refuse) => Self::Mode(ModeText::Refuse),
        }
    }
}

impl From<&SetText> for Set {
    fn from(set: &SetText) -> Self {
        match set {
            SetText::Number(number) => Self::Number(*number),
            SetText::Terms(terms) => Self::Terms(terms.clone()),
            SetText::Mode(ModeText::Shadow) => Self::Mode(SetMode::Shadow),
            SetText::Mode(ModeText::Off) => Self::Mode(SetMode::Off),
            SetText::Mode(ModeText::Refuse) => Self::Mode(SetMode::Refuse),
        }
    }
}

impl Text {
    /// Returns the override until an instant.
    pub(super) fn overlay(&self, until: Timestamp) -> Overlay {
        Overlay {
            limit: self.limit.clone(),
            key: self.key.clone(),
            set: (&self.set).into(),
            because: self.because.clone(),
            until,
        }
    }

    /// Returns the note that says it.
    pub(super) fn note(&self, until: Timestamp) -> Result<Note, serde_json::Error> {
        let name = name(&self.limit, self.key.as_deref());
        Ok(Note { name, text: serde_json::to_string(self)?, until })
    }
}

/// Returns the name of the note of a limit and key: a limit's name has no space.
pub(super) fn name(limit: &str, key: Option<&str>) -> String {
    key.map_or_else(|| limit.to_owned(), |key| format!("{limit} {key}"))
}

/// Returns what tells a secret from another, and nothing else.
pub(super) fn fingerprint(identities: &Identities) -> String {
    // No limit has such a name.
    identities.identity("", b"overrides")
}
