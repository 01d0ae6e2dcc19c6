//! Limits: what is counted, on what, at which cost, and how much of it is allowed.

use std::borrow::Cow;
use std::fmt::Write as _;

use tidegate_algorithms::Quota;

use crate::cost::Cost;
use crate::count::Count;
use crate::key::{Key, digest, written_digest};
use crate::overlay::{Overlays, is_identity};
use crate::plan::{Override, Plans};
use crate::policy::Mode;
use crate::problem::At;
use crate::rule::{ClientSees, OnMissingKey};
use crate::secret::Identities;
use crate::shared_counter::SharedCounter;
use crate::values::Values;

/// One algorithm with its numbers on one key, in numbers and in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The name, `rule/limit`, unique in the file.
    pub name: String,
    /// What is counted on.
    pub key: Key,
    /// What it says and allows; of a limit with plans, the default plan's.
    pub terms: Terms,
    /// The plans it is sold in, if any.
    pub plans: Option<Plans>,
    /// Other terms for single keys, in the order of the file.
    pub overrides: Vec<Override>,
    /// The overrides by the key's value.
    pub(crate) overridden: Values<usize>,
    /// What happens to a request that lacks the key, where the limit says other than its rule.
    pub on_missing_key: Option<OnMissingKey>,
    /// What a client is told of the limit, where it says other than its rule.
    pub client_sees: Option<ClientSees>,
    /// How many units a request takes.
    pub cost: Cost,
    /// Which requests count.
    pub count: Count,
    /// Whether refusals of this limit are carried out: [`Mode::Shadow`] when the limit, its rule or the file
    /// says so.
    pub mode: Mode,
    /// What the units are, when they are not requests.
    pub unit: Option<String>,
    /// The share of the limit in percent, 1 to 100, from which its use raises an alert.
    pub alert_at: Option<u8>,
    /// The names it had before, `rule/limit`, the latest first; its counts are kept under the last of them.
    pub was: Vec<String>,
    /// Where other programs count as well, if they do.
    pub shared_counter: Option<SharedCounter>,
    /// What an operator has laid over it at run time; a file says nothing of it.
    pub overlays: Overlays,
    /// Where it stands.
    pub at: At,
}

/// What a limit says and allows, for everybody or for some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The limit in words.
    pub says: String,
    /// Free text that is never read.
    pub note: Option<String>,
    /// The algorithm with its numbers.
    pub quota: Quota,
    /// The numbers as the file writes them, to stand beside the words: `capacity 4, refill 1 per 10s`. The quota
    /// holds them reduced. An anchor that is not said is added, since it makes a difference.
    pub numbers: String,
    /// Where the words stand.
    pub at: At,
}

/// Whose terms some are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Everybody's.
    Everybody,
    /// Those of a plan.
    Plan(&'a str),
    /// Those of one key, as the file writes its value.
    Key(&'a str),
}

impl<'a> Whose<'a> {
    /// Returns what may be shown of them to whoever may read the file: a plan's name, or `sha256:` and the digest of a
    /// key's value as the file writes it.
    pub fn shown(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Everybody => None,
            Self::Plan(name) => Some(Cow::Borrowed(name)),
            Self::Key(value) if is_name(value) => Some(Cow::Borrowed(value)),
            Self::Key(value) => {
                let mut shown = String::from("sha256:");
                for byte in digest(value) {
                    // Writing to a string cannot fail.
                    let _ = write!(shown, "{byte:02x}");
                }
                Some(Cow::Owned(shown))
            }
        }
    }

    /// Returns the name by which they are known outside the process: a plan's, a digest that the file itself writes, or
    /// the name that the key has as one of the limit's.
    pub fn name_outside(self, limit: &Limit, identities: Option<&Identities>) -> Option<Cow<'a, str>> {
        match (self, identities) {
            (Self::Everybody, _) => None,
            (Self::Plan(name), _) => Some(Cow::Borrowed(name)),
            (Self::Key(value), _) if is_name(value) => Some(Cow::Borrowed(value)),
            (Self::Key(value), Some(identities)) => {
                let key = limit.key.written(value).unwrap_or_default();
                Some(Cow::Owned(identities.identity(limit.storage_name(), &key)))
            }
            (Self::Key(_), None) => Some(Cow::Borrowed("a key")),
        }
    }
}

/// Returns whether a value as it is written tells nobody which key is meant: a digest, or the name that the key has outside
/// the process, as exceptions made at run time have it.
fn is_name(value: &str) -> bool {
    written_digest(value).is_some() || is_identity(value)
}

impl Limit {
    /// Returns all terms of the limit with those they are for: everybody's or each plan's first, then the overrides, then
    /// those of keys for which an operator has made an exception at run time.
    /// [`Limit::choose`](crate::Limit::choose) gives an index into them.
    pub fn variants(&self) -> impl Iterator<Item = (Whose<'_>, &Terms)> {
        let base = self.plans.is_none().then_some((Whose::Everybody, &self.terms));
        let plans = self.plans.iter().flat_map(|plans| &plans.list);
        let plans = plans.map(|plan| (Whose::Plan(plan.name.as_str()), &plan.terms));
        let overrides = self.overrides.iter().map(|one| (Whose::Key(one.value.as_str()), &one.terms));
        base.into_iter().chain(plans).chain(overrides).chain(self.overlays.variants())
    }

    /// Returns the names of the keys the limit looks at, to count on them, for its cost or for its plan: ready-made keys
    /// go by these. A `first_of` stands there by its alternatives.
    pub fn sources(&self) -> Vec<&str> {
        let mut names = self.key.sources();
        self.cost.sources(&mut names);
        if let Some(plans) = &self.plans {
            plans.sources(&mut names);
        }
        names
    }

    /// Returns the name under which a store keeps the limit's counts: the oldest it had.
    pub fn storage_name(&self) -> &str {
        self.was.last().map_or(self.name.as_str(), String::as_str)
    }

    /// Returns whether the body has to be read to decide this limit: for its key, its cost or its plan.
    pub fn needs_body(&self) -> bool {
        self.key.needs_body() || self.cost.needs_body() || self.plans.as_ref().is_some_and(Plans::needs_body)
    }

    /// Returns whether it depends on the instant of the request: on a token's expiry, or on an override's end.
    pub fn needs_date(&self) -> bool {
        self.key.needs_date()
            || self.cost.needs_date()
            || self.plans.as_ref().is_some_and(Plans::needs_date)
            || self.overrides.iter().any(|one| one.until.is_some())
    }
}
