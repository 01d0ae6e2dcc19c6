//! What happens to a limit's requests when the store is gone.

use tidegate_algorithms::Quota;
use tidegate_policy::{Limit, OnDeny, OnStoreFailure, Policy, Rule, StoreChoice, Terms};

use super::canonical;
use crate::figures::{spoken_count, written};

/// What happens when the store does not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Gone {
    /// What the rule chose.
    pub choice: OnStoreFailure,
    /// Whether the store is memory of the process, which cannot be gone without it.
    pub in_process: bool,
    /// Each instance's share, where each goes on by itself.
    pub share: Option<Share>,
    /// What Envoy is answered where the rule denies, if the rule is for descriptors.
    pub envoy: Option<OnDeny>,
}

/// The share of a limit that one instance enforces by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// How many instances there are.
    pub instances: u32,
    /// What each allows.
    pub quota: Quota,
    /// The share in words.
    pub words: String,
    /// The most that all instances together admit in any span of the limit's window.
    pub in_window_together: u128,
}

impl Gone {
    pub(super) fn of(policy: &Policy, rule: &Rule, limit: &Limit, terms: &Terms) -> Self {
        let instances = policy.instances;
        let share = (rule.on_store_failure == OnStoreFailure::Local).then(|| {
            let quota = terms.quota.share_of(instances);
            let own =
                Terms { says: String::new(), note: None, quota, numbers: written(&quota), at: terms.at };
            Share {
                instances,
                quota,
                words: canonical(limit, &own),
                in_window_together: quota
                    .most_in_half_open(terms.quota.window())
                    .saturating_mul(instances.into()),
            }
        });
        let in_process = matches!(policy.store, StoreChoice::Memory(_));
        let of_descriptors = rule.matches.iter().any(|matcher| matcher.descriptor.is_some());
        let on_deny = policy.envoy.as_ref().map_or(OnDeny::OverLimit, |face| face.on_deny);
        let envoy = of_descriptors.then_some(on_deny);
        Self { choice: rule.on_store_failure, in_process, share, envoy }
    }

    /// Returns the choice as the policy file writes it.
    pub fn word(&self) -> &'static str {
        match self.choice {
            OnStoreFailure::Deny => "deny",
            OnStoreFailure::Allow => "allow",
            OnStoreFailure::Local => "local",
        }
    }

    /// Returns in a sentence what happens.
    pub fn says(&self) -> String {
        let happens = match (self.choice, &self.share) {
            (OnStoreFailure::Deny, _) => match self.envoy {
                None => "requests are refused with 503 and Retry-After until it answers".to_owned(),
                Some(OnDeny::OverLimit) => "Envoy is answered OVER_LIMIT until it answers".to_owned(),
                Some(OnDeny::Unavailable) => {
                    "Envoy is answered UNAVAILABLE until it answers, and refuses where its filter says \
                     `failure_mode_deny: true`"
                        .to_owned()
                }
            },
            (OnStoreFailure::Allow, _) => "requests pass, and nobody counts them".to_owned(),
            (OnStoreFailure::Local, None) => "each instance goes on by itself".to_owned(),
            (OnStoreFailure::Local, Some(share)) => format!(
                "each of {} goes on by itself with its share, {}: at most {} in any of the limit's windows together",
                instances(share.instances),
                written(&share.quota),
                spoken_count(share.in_window_together)
            ),
        };
        if self.in_process {
            format!(
                "the store is memory of the process and goes only with it; were it shared and gone, {happens}"
            )
        } else {
            happens
        }
    }
}

fn instances(count: u32) -> String {
    if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") }
}
