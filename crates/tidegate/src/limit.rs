//! A limit as the limiter enforces it: a quota with a name, its words, and what happens around it.

use std::fmt;
use std::sync::Arc;

use tidegate_algorithms::Quota;

/// A named limit.
///
/// Cheap to clone; a verdict holds the limits it speaks of.
#[derive(Clone, PartialEq, Eq)]
pub struct Limit {
    // One pointer, since every decision of every verdict holds a limit.
    parts: Arc<Parts>,
}

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    name: Arc<str>,
    words: Arc<str>,
    quota: Quota,
    cost: u32,
    shadow: bool,
    disclosure: Disclosure,
    on_store_failure: OnStoreFailure,
    counts: Counts,
    plan: Option<Arc<str>>,
}

impl Limit {
    /// Builds a limit that counts one unit a request, is enforced, tells clients everything and denies when its
    /// store fails.
    pub fn new(name: impl Into<Arc<str>>, quota: Quota) -> Self {
        let parts = Parts {
            name: name.into(),
            words: Arc::from(""),
            quota,
            cost: 1,
            shadow: false,
            disclosure: Disclosure::All,
            on_store_failure: OnStoreFailure::Deny,
            counts: Counts::Every,
            plan: None,
        };
        Self { parts: Arc::new(parts) }
    }

    /// Returns the same with something changed.
    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.parts));
        self
    }

    /// Says the limit in words.
    #[must_use]
    pub fn with_words(self, words: impl Into<Arc<str>>) -> Self {
        self.with(|parts| parts.words = words.into())
    }

    /// Counts `units` for each request; zero looks without taking.
    #[must_use]
    pub fn with_cost(self, units: u32) -> Self {
        self.with(|parts| parts.cost = units)
    }

    /// Evaluates and charges the limit without ever refusing.
    #[must_use]
    pub fn with_shadow(self, shadow: bool) -> Self {
        self.with(|parts| parts.shadow = shadow)
    }

    /// Chooses what a client is told.
    #[must_use]
    pub fn with_disclosure(self, disclosure: Disclosure) -> Self {
        self.with(|parts| parts.disclosure = disclosure)
    }

    /// Chooses what happens when the store does not answer.
    #[must_use]
    pub fn with_store_failure(self, choice: OnStoreFailure) -> Self {
        self.with(|parts| parts.on_store_failure = choice)
    }

    /// Chooses which requests count.
    #[must_use]
    pub fn with_counts(self, counts: Counts) -> Self {
        self.with(|parts| parts.counts = counts)
    }

    /// Says whose terms these are, when others have others: a plan's name, or what may be shown of a key.
    #[must_use]
    pub fn with_plan(self, plan: impl Into<Arc<str>>) -> Self {
        self.with(|parts| parts.plan = Some(plan.into()))
    }

    /// Returns the name, `rule/limit` for one of a policy file.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.parts.name)
    }

    /// Returns the limit in words; empty when nobody said them.
    pub fn words(&self) -> &str {
        &self.parts.words
    }

    /// Returns the algorithm with its numbers.
    pub fn quota(&self) -> &Quota {
        &self.parts.quota
    }

    /// Returns the units a request takes unless the caller says otherwise.
    pub fn cost(&self) -> u32 {
        self.parts.cost
    }

    /// Returns whether the limit never refuses.
    pub fn is_shadow(&self) -> bool {
        self.parts.shadow
    }

    /// Returns what a client is told.
    pub fn disclosure(&self) -> Disclosure {
        self.parts.disclosure
    }

    /// Returns which requests count.
    pub fn counts(&self) -> &Counts {
        &self.parts.counts
    }

    /// Returns whose terms these are, when others have others: a plan's name, or of a policy's override the name of the key
    /// outside the process, or the digest that the policy writes.
    pub fn plan(&self) -> Option<&str> {
        self.parts.plan.as_deref()
    }

    /// Returns what happens when the store does not answer.
    pub fn store_failure(&self) -> OnStoreFailure {
        self.parts.on_store_failure
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit")
            .field("name", &self.parts.name)
            .field("quota", &self.parts.quota)
            .finish_non_exhaustive()
    }
}

/// Which requests a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counts {
    /// Every request.
    Every,
    /// Those that fail: charged before the request goes on, given back once its answer is known to be a success.
    Failures {
        /// What a success does to the count.
        on_success: OnSuccess,
        /// What a success looks like, when a policy says it.
        #[cfg(feature = "policy")]
        success: Option<Arc<tidegate_policy::Success>>,
    },
}

impl Counts {
    /// Counts failures, of a limit built in code.
    pub fn failures(on_success: OnSuccess) -> Self {
        Self::Failures {
            on_success,
            #[cfg(feature = "policy")]
            success: None,
        }
    }

    /// Returns whether only failures count.
    pub fn is_failures(&self) -> bool {
        matches!(self, Self::Failures { .. })
    }
}

/// What a success does to a count of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnSuccess {
    /// It gives back what its own request was charged with.
    Refund,
    /// It forgets all failures of its key.
    Reset,
}

/// What a client is told about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Disclosure {
    /// The numbers, on every answer, and the words on a refusal.
    All,
    /// When to come back, on a refusal.
    RetryAfter,
    /// That it was refused.
    Nothing,
}

/// What happens to a request when the store does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// It is refused: not as one too many, but because nobody can tell.
    Deny,
    /// It passes, and the verdict says that nobody counted.
    Allow,
    /// It is decided in this process alone, against this process's share of the limit ([`Quota::share_of`]).
    ///
    /// [`Quota::share_of`]: tidegate_algorithms::Quota::share_of
    Local,
}
