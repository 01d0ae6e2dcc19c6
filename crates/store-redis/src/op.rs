//! What is asked of the script and what comes back, owned, so that it can wait in a queue.

use tidegate_algorithms::{Ask, Quota, Receipt, State};
use tidegate_store::{Decided, Give, LimitId, Refund};

use crate::counter::{Tally, Told};

/// The bytes of a name: with a prefix of two and a colon Redis keeps it in 16 bytes, where one more would take 32. Among a
/// thousand million keys two share a name with a chance of one in 600 million.
pub(crate) const NAME_BYTES: usize = 11;

/// The name of a (limit, key) outside this process: the front of a keyed SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Digest(pub(crate) [u8; NAME_BYTES]);

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One question.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Decides a batch, all or nothing; a peek writes nothing.
    Decide { checks: Vec<OwnCheck>, peek: bool },
    /// Gives charges back.
    Refund(Vec<OwnRefund>),
    /// Forgets a key.
    Reset(Digest),
    /// Reads the current state of a key.
    Inspect(Digest),
    /// Asks a counter that other programs count as well.
    Counter(Tally),
}

/// A check without what it was borrowed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCheck {
    pub(crate) limit: LimitId,
    pub(crate) digest: Digest,
    pub(crate) quota: Quota,
    pub(crate) ask: Ask,
    pub(crate) shadow: bool,
}

/// A refund whose receipt is of its quota's algorithm, or that forgets everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRefund {
    pub(crate) digest: Digest,
    pub(crate) quota: Quota,
    pub(crate) receipt: Receipt,
    pub(crate) give: Give,
}

/// The answer to an [`Op`].
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "nearly every answer is the large one, and each is moved once")]
pub(crate) enum Answer {
    /// To a decision or a peek.
    Decided(Decided),
    /// To a refund or a reset.
    Done,
    /// To an inspection.
    State(Option<State>),
    /// Of a counter.
    Told(Told),
}

impl OwnRefund {
    /// Returns a refund that means something: a charge made under another algorithm than the quota's is given back by
    /// nothing but forgetting all.
    pub(crate) fn of(refund: &Refund<'_>) -> Option<Self> {
        let means = refund.give == Give::All || refund.receipt.is_of(refund.quota);
        means.then(|| Self {
            digest: Digest::of_key(refund.receipt.key()),
            quota: *refund.quota,
            receipt: *refund.receipt.receipt(),
            give: refund.give,
        })
    }
}
