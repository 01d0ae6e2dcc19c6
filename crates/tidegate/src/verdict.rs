//! The answer for a request: one ruling, and every decision behind it.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_algorithms::{Decision, Quota, Retry, Span, Timestamp};
use tidegate_store::ChargeReceipt;

use crate::decisions::Decisions;
use crate::denial::Name;
use crate::limit::Limit;
use crate::outage::Degraded;
use crate::settle::Charge;

/// The answer for a request.
///
/// A clone says the same and holds no receipts: what was charged is given back once.
#[derive(Debug, Clone)]
#[must_use = "a verdict that nobody looks at limits nothing"]
pub struct Verdict {
    pub(crate) ruling: Ruling,
    pub(crate) decisions: Decisions,
    pub(crate) at: Option<Timestamp>,
    pub(crate) skipped: SmallVec<[Limit; 2]>,
    pub(crate) degraded: Option<Degraded>,
    /// Whether a limit that the store was to decide tells clients nothing.
    pub(crate) discreet: bool,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It passes, after `delay` (zero but for a leaky bucket).
    Allow {
        /// How long it must be held before it starts.
        delay: Span,
    },
    /// It is one too many: 429.
    Refuse {
        /// When it would pass if nothing else happened: the largest wait of the limits that refuse it.
        retry: Retry,
    },
    /// A key cannot be read from it in one way only, or is missing and required: 400.
    BadRequest(BadKey),
    /// A rule lets nothing through: its status.
    Denied(Denial),
    /// The store did not answer, and a limit denies then: 503.
    StoreDown,
    /// The store did not answer, and every limit allows then: it passes, uncounted.
    Uncounted,
}

/// Why a key could not be taken from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadKey {
    pub(crate) part: String,
    pub(crate) why: String,
}

impl BadKey {
    /// Returns what could not be read: a key's name, or `path`.
    pub fn part(&self) -> &str {
        &self.part
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.part, self.why)
    }
}

impl std::error::Error for BadKey {}

/// Why a request is let through by no limit at all: a rule that refuses what it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The status of the answer, 400 to 599.
    pub status: u16,
    /// Why, in words for the client.
    pub because: Arc<str>,
}

/// The decision of one limit.
#[derive(Debug)]
pub struct LimitDecision {
    /// The limit.
    pub limit: Limit,
    /// Its answer.
    pub decision: Decision,
    pub(crate) receipt: Option<ChargeReceipt>,
    /// Which of the plan's checks it is about.
    pub(crate) place: usize,
    /// This process's share of the limit, when it was decided here.
    pub(crate) share: Option<Box<Quota>>,
    /// By what name a refusal of it is remembered, if refusals are.
    pub(crate) name: Option<Name>,
    /// Whether it refuses for itself and does not count towards the ruling.
    pub(crate) excused: bool,
}

impl Clone for LimitDecision {
    fn clone(&self) -> Self {
        let Self { limit, decision, place, share, name, excused, .. } = self;
        let (limit, decision, place, share) = (limit.clone(), *decision, *place, share.clone());
        Self { limit, decision, receipt: None, place, share, name: *name, excused: *excused }
    }
}

impl LimitDecision {
    pub(crate) fn new(
        limit: Limit,
        decision: Decision,
        receipt: Option<ChargeReceipt>,
        place: usize,
    ) -> Self {
        Self { limit, decision, receipt, place, share: None, name: None, excused: false }
    }

    /// Returns whether this decision counts towards the ruling.
    pub fn is_enforced(&self) -> bool {
        !self.limit.is_shadow() && !self.excused
    }
}

impl Verdict {
    /// Returns the verdict on a request that no limit has been asked about.
    pub(crate) fn passing() -> Self {
        Self::without_decisions(Ruling::Allow { delay: Span::ZERO })
    }

    pub(crate) fn without_decisions(ruling: Ruling) -> Self {
        Self {
            ruling,
            decisions: Decisions::default(),
            at: None,
            skipped: SmallVec::new(),
            degraded: None,
            discreet: false,
        }
    }

    /// Returns what becomes of the request.
    pub fn ruling(&self) -> &Ruling {
        &self.ruling
    }

    /// Returns whether the request may pass.
    pub fn is_allowed(&self) -> bool {
        matches!(self.ruling, Ruling::Allow { .. } | Ruling::Uncounted)
    }

    /// Returns how the request was decided when its store did not decide it, else `None`.
    pub fn degraded(&self) -> Option<Degraded> {
        self.degraded
    }

    /// Returns as much of that as a client may know: nothing where one of the limits that apply tells clients nothing, since
    /// that one counts no more, or not as it did.
    pub fn degraded_for_client(&self) -> Option<Degraded> {
        self.degraded.filter(|_| !self.discreet)
    }

    /// Returns how long an allowed request must be held before it starts.
    pub fn delay(&self) -> Span {
        match self.ruling {
            Ruling::Allow { delay } => delay,
            _ => Span::ZERO,
        }
    }

    /// Returns when a refused request would pass, if it was one too many.
    pub fn retry(&self) -> Option<Retry> {
        match self.ruling {
            Ruling::Refuse { retry } => Some(retry),
            _ => None,
        }
    }

    /// Returns every decision, shadow ones too, in the order of the rules and their limits.
    pub fn decisions(&self) -> &[LimitDecision] {
        &self.decisions
    }

    /// Returns the instant of the decision by the store's clock, when the store was asked.
    pub fn at(&self) -> Option<Timestamp> {
        self.at
    }

    /// Returns the decision that settled the matter: of a refusal, the one with the longest wait; else the tightest,
    /// the enforced one with the least remaining. `None` when no enforced limit was asked.
    pub fn deciding(&self) -> Option<&LimitDecision> {
        let by =
            tightest(|| self.decisions.iter().enumerate().filter(|(_, decision)| decision.is_enforced()));
        by.and_then(|by| self.decisions.get(by))
    }

    /// Returns the enforced limits that refuse the request.
    pub fn violated(&self) -> impl Iterator<Item = &LimitDecision> {
        self.decisions.iter().filter(|decision| decision.is_enforced() && !decision.decision.is_admitted())
    }

    /// Returns the limits that did not look at the request: because it lacks their key and their rule skips it then, or,
    /// of a shadow limit, because they could not read it.
    pub fn skipped(&self) -> &[Limit] {
        &self.skipped
    }

    /// Returns the shadow limits that would have refused the request.
    pub fn would_refuse(&self) -> impl Iterator<Item = &LimitDecision> {
        self.decisions.iter().filter(|decision| !decision.is_enforced() && !decision.decision.is_admitted())
    }
}

/// Returns which of some decisions settles the matter, of all that are given by their indices: of those that refuse the one
/// with the longest wait, else the one with the least remaining; the first of equals, as the policy file lists it first.
pub(crate) fn tightest<'d, I>(decisions: impl Fn() -> I) -> Option<usize>
where
    I: DoubleEndedIterator<Item = (usize, &'d LimitDecision)>,
{
    let refusing = decisions().filter_map(|(index, decision)| Some((decision.decision.retry()?, index)));
    // `max_by_key` keeps the last of equals.
    let longest = refusing.rev().max_by_key(|(retry, _)| *retry).map(|(_, index)| index);
    longest.or_else(|| {
        let least = |decision: &LimitDecision| {
            (decision.decision.remaining, std::cmp::Reverse(decision.decision.reset_after))
        };
        decisions().min_by_key(|(_, decision)| least(decision)).map(|(index, _)| index)
    })
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explain())
    }
}

/// The receipts of a verdict's charges, good for one refund.
#[derive(Debug, Default)]
#[must_use = "dropping a receipt keeps its charges"]
pub struct Receipt {
    // A box, not a small vector: whoever keeps many receipts pays for the charges that are there.
    pub(crate) charges: Box<[Charge]>,
}

impl Receipt {
    /// Returns whether there is nothing to give back.
    pub fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    /// Returns the instant from which neither a refund nor a settlement gives anything back, by the store's clock.
    pub fn refundable_until(&self) -> Timestamp {
        let until = self.charges.iter().map(|charge| {
            let quota = charge.quota();
            let lock = if let Quota::Lockout(quota) = quota { quota.lock() } else { Span::ZERO };
            // A sliding counter weighs a count for one window more, and a refund may put the end of a window that opened
            // with it off by one.
            let window = quota.window();
            charge.receipt.charged_at().saturating_add(window).saturating_add(window).saturating_add(lock)
        });
        until.max().unwrap_or_default()
    }
}

impl Verdict {
    /// Takes the receipts out of the verdict; a second call finds none.
    pub fn take_receipt(&mut self) -> Receipt {
        Receipt { charges: self.take_charges(|_| true) }
    }

    /// Takes out the charges of the limits that are wanted.
    pub(crate) fn take_charges(&mut self, wanted: impl Fn(&Limit) -> bool) -> Box<[Charge]> {
        self.take_charges_where(|decision| wanted(&decision.limit))
    }

    /// Takes out the charges of the decisions that are wanted.
    pub(crate) fn take_charges_where(&mut self, wanted: impl Fn(&LimitDecision) -> bool) -> Box<[Charge]> {
        let decisions = self.decisions.iter_mut().enumerate();
        let charges = decisions.filter(|(_, decision)| wanted(decision)).filter_map(|(place, decision)| {
            let receipt = decision.receipt.take()?;
            let (share, name) = (decision.share.clone(), decision.name);
            Some(Charge { place, limit: decision.limit.clone(), receipt, share, name })
        });
        charges.collect()
    }
}
