//! What a store is asked and what it answers: checks in, outcomes and receipts out.

use smallvec::SmallVec;
use tidegate_algorithms::{Anchor, Ask, Decision, Quota, Receipt, Span, Timestamp};

/// A limit as a store knows it: an index it gave out for a name, stable for the life of that store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitId(u32);

impl LimitId {
    /// Builds the id of the `index`-th limit a store was told of; only a store gives these out.
    pub fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// Returns the index.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// One question to one limit.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// The limit.
    pub limit: LimitId,
    /// What is counted on; any bytes.
    pub key: &'a [u8],
    /// The numbers to hold the state against.
    pub quota: &'a Quota,
    /// What is asked.
    pub ask: Ask,
    /// Whether the check is only watched: it never blocks.
    pub shadow: bool,
}

/// A charge to give back.
#[derive(Debug, Clone, Copy)]
pub struct Refund<'a> {
    /// The receipt of the charge; good for one refund.
    pub receipt: ChargeReceipt,
    /// The numbers that the charge was made under. While the state is written under others, the charge cannot be told
    /// apart, and none is given.
    pub quota: &'a Quota,
    /// What is given back.
    pub give: Give,
}

/// What a refund gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Give {
    /// The charge.
    #[default]
    Charge,
    /// All that the charged limit remembers about the charged key, whatever the quota: a success that sets a count of
    /// failures back to nothing. Charges of requests still under way are forgotten with the rest.
    ///
    /// Where the charge went to a state that others share, only the charge is given back there, as far as the quota's
    /// algorithm is still the charge's, and a state that the key has got of its own since is forgotten.
    All,
}

/// The outcomes of a batch, in the order of its checks; no allocation up to four.
pub type Outcomes = SmallVec<[CheckOutcome; 4]>;

/// The answer to a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Whether every enforced check admits, and the batch was therefore charged.
    pub admitted: bool,
    /// The instant the batch was decided at.
    pub at: Timestamp,
    /// One outcome a check, in the order of the checks.
    pub outcomes: Outcomes,
}

impl Decided {
    /// Returns how long until the whole batch would be admitted, the longest wait of its checks that refuse:
    /// `None` when one never will. `enforced` tells which checks count, in the order of the checks.
    pub fn retry_after(&self, enforced: impl IntoIterator<Item = bool>) -> Option<Span> {
        let mut longest = Span::ZERO;
        for (outcome, enforced) in self.outcomes.iter().zip(enforced) {
            if let tidegate_algorithms::Answer::Refuse(retry) = outcome.decision.answer
                && enforced
            {
                longest = longest.max(retry.wait()?);
            }
        }
        Some(longest)
    }
}

/// The answer to one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Its own answer, with the numbers after the charge if there was one, else those of the untouched state.
    pub decision: Decision,
    /// What a refund needs, when the check was charged.
    pub receipt: Option<ChargeReceipt>,
}

/// A key as a store keeps it: 128 bits of a keyed hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyDigest(pub(crate) [u64; 2]);

impl KeyDigest {
    /// Builds a digest from its two halves.
    pub fn from_halves(halves: [u64; 2]) -> Self {
        Self(halves)
    }

    /// Returns the two halves.
    pub fn halves(self) -> [u64; 2] {
        self.0
    }
}

/// What was charged, where and when. Good for one refund at the store that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeReceipt {
    limit: LimitId,
    algorithm: Algorithm,
    shared: bool,
    key: KeyDigest,
    receipt: Receipt,
}

impl ChargeReceipt {
    /// Builds the receipt of a charge under `quota` to the own state of a key.
    pub fn new(limit: LimitId, key: KeyDigest, quota: &Quota, receipt: Receipt) -> Self {
        Self { limit, algorithm: Algorithm::of(quota), shared: false, key, receipt }
    }

    /// Returns the same for a charge to the state that newcomers share when there is no room.
    pub(crate) fn to_shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Returns the limit that was charged.
    pub fn limit(&self) -> LimitId {
        self.limit
    }

    /// Returns the key that was charged.
    pub fn key(&self) -> KeyDigest {
        self.key
    }

    /// Returns the units charged.
    pub fn units(&self) -> u32 {
        self.receipt.units()
    }

    /// Returns the instant of the charge.
    pub fn charged_at(&self) -> Timestamp {
        self.receipt.charged_at()
    }

    /// Returns what the algorithm needs for a refund.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Returns whether the charge went to the state that newcomers share when there is no room.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Returns whether the charge was made under the algorithm of `quota`; under another, a refund means nothing.
    pub fn is_of(&self, quota: &Quota) -> bool {
        self.algorithm == Algorithm::of(quota)
    }
}

/// Which kind of state a quota reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Algorithm {
    ClockWindow,
    HitWindow,
    Log,
    Counter,
    Credit,
    Backlog,
    Lock,
}

impl Algorithm {
    pub(crate) fn of(quota: &Quota) -> Self {
        match quota {
            Quota::FixedWindow(quota) => match quota.anchor() {
                Anchor::Clock | Anchor::Calendar(_) => Self::ClockWindow,
                Anchor::FirstHit => Self::HitWindow,
            },
            Quota::SlidingLog(_) => Self::Log,
            Quota::SlidingCounter(_) => Self::Counter,
            Quota::TokenBucket(_) => Self::Credit,
            Quota::LeakyBucket(_) => Self::Backlog,
            Quota::Lockout(_) => Self::Lock,
        }
    }
}
