//! Random questions, for the script and for the naive store.

use tidegate_algorithms::{Ask, Quota, Span, Timestamp};
use tidegate_store::{ChargeReceipt, Give, LimitId, Refund};

use super::numbers::{KINDS, Numbers};
use crate::op::{Digest, NAME_BYTES, Op, OwnCheck, OwnRefund};

/// How many keys a run knows.
pub(super) const KEYS: usize = 6;

/// A charge, as the script's store and the naive one remember it.
pub(super) struct Charge {
    pub(super) key: usize,
    pub(super) quota: Quota,
    pub(super) receipts: [ChargeReceipt; 2],
}

/// A question to the script, and what the naive store needs besides.
pub(super) struct Question {
    pub(super) op: Op,
    pub(super) keys: Vec<usize>,
    /// The naive store's receipt of what is given back, with the quota that is said to be it.
    pub(super) refund: Option<(ChargeReceipt, Quota, Give)>,
}

/// What a run mostly asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Anything,
    /// Logs that get long: of little at a time, on few keys, and hardly anything ends them.
    Logs,
    /// One bucket or window at a time, on few keys: what the script decides without a batch.
    Singles,
}

/// What questions are made of.
pub(super) struct Questions {
    pub(super) numbers: Numbers,
    pub(super) quotas: Vec<Quota>,
    pub(super) digests: [Digest; KEYS],
    pub(super) charges: Vec<Charge>,
    pub(super) limit: LimitId,
    pub(super) subject: Subject,
}

impl Questions {
    /// Picks what a run asks about.
    pub(super) fn new(mut numbers: Numbers, subject: Subject, limit: LimitId) -> Result<Self, String> {
        let mut quotas = Vec::new();
        let window = numbers.span().max(Span::from_secs(1));
        let first = numbers.index(KINDS);
        for place in 0..=KINDS {
            let quota = match subject {
                Subject::Logs if place < 3 => Quota::sliding_log(200 + numbers.below(1_800), window),
                Subject::Singles if place % 2 == 0 => numbers.unit_bucket(),
                Subject::Singles => numbers.quota(if place % 4 == 1 { 0 } else { 5 }),
                _ => numbers.quota((first + place) % KINDS),
            };
            quotas.push(quota.map_err(|error| error.to_string())?);
        }
        let digests = std::array::from_fn(|_| {
            let halves = [numbers.below(u64::MAX), numbers.below(u64::MAX)];
            Digest::of_key(tidegate_store::KeyDigest::from_halves(halves))
        });
        Ok(Self { numbers, quotas, digests, charges: Vec::new(), limit, subject })
    }

    /// Asks one question.
    pub(super) fn ask(&mut self) -> Question {
        match self.numbers.below(24) {
            0..3 if !self.charges.is_empty() => self.refund(),
            3 if self.rarely() => {
                let key = self.numbers.index(KEYS);
                // What came after a reset holds none of the charges before it.
                self.charges.retain(|charge| charge.key != key);
                self.alone(key, Op::Reset)
            }
            4 => {
                let key = self.numbers.index(KEYS);
                self.alone(key, Op::Inspect)
            }
            what => self.batch(what < 8),
        }
    }

    /// Returns whether something happens that makes an end of a log.
    fn rarely(&mut self) -> bool {
        self.subject == Subject::Anything || self.numbers.one_in(40)
    }

    fn alone(&self, key: usize, op: impl Fn(Digest) -> Op) -> Question {
        Question { op: op(self.digest(key)), keys: vec![key], refund: None }
    }

    fn digest(&self, key: usize) -> Digest {
        self.digests.get(key).copied().unwrap_or(Digest([0; NAME_BYTES]))
    }

    fn refund(&mut self) -> Question {
        // The newest half of the time: for many of the others it is too late.
        let newest = self.charges.len().saturating_sub(1);
        let place = if self.numbers.one_in(2) { newest } else { self.numbers.index(self.charges.len()) };
        let Charge { key, quota, receipts: [ours, naive] } = self.charges.swap_remove(place);
        let give = if self.numbers.one_in(6) && self.rarely() { Give::All } else { Give::Charge };
        let quota = if self.numbers.one_in(12) { self.any_quota() } else { quota };
        let refunds = OwnRefund::of(&Refund { receipt: ours, quota: &quota, give });
        if give == Give::All {
            self.charges.retain(|charge| charge.key != key);
        }
        Question {
            op: Op::Refund(refunds.into_iter().collect()),
            keys: vec![key],
            refund: Some((naive, quota, give)),
        }
    }

    fn batch(&mut self, peek: bool) -> Question {
        let (mut checks, mut keys) = (Vec::new(), Vec::new());
        let more = if self.subject == Subject::Singles { 0 } else { self.numbers.below(4) };
        for _ in 0..=more {
            let key = self.numbers.index(if self.subject == Subject::Anything { KEYS } else { 3 });
            // Each key has a plan of its own that it mostly stays on.
            let strays = self.numbers.one_in(6) && self.rarely();
            let own = self.quotas.get(key).copied().filter(|_| !strays);
            let quota = own.unwrap_or_else(|| self.any_quota());
            let shadow = self.numbers.one_in(5) && self.rarely();
            let ask = self.units(&quota);
            keys.push(key);
            checks.push(OwnCheck { limit: self.limit, digest: self.digest(key), quota, ask, shadow });
        }
        Question { op: Op::Decide { checks, peek }, keys, refund: None }
    }

    /// Picks a quota that time shall mean something to.
    pub(super) fn timely_quota(&mut self) -> Quota {
        let first = self.quotas.first().copied().filter(|_| self.subject != Subject::Anything);
        first.unwrap_or_else(|| self.any_quota())
    }

    fn any_quota(&mut self) -> Quota {
        let place = self.numbers.index(self.quotas.len());
        *self.quotas.get(place).unwrap_or_else(|| unreachable!("there is no quota {place}"))
    }

    /// Asks for units: a few, or about what the quota has, or any number of them.
    fn units(&mut self, quota: &Quota) -> Ask {
        let all = u64::from(quota.nominal());
        let cost = match self.numbers.below(16) {
            0 => 0,
            1 => self.numbers.any_size(1 << 31),
            2 if self.rarely() => all + self.numbers.below(2),
            3 if self.rarely() => self.numbers.below(all + 1),
            4..10 if self.subject == Subject::Logs => 1 + self.numbers.below(6),
            4..10 => all / (2 + self.numbers.below(4)),
            _ => 1,
        };
        let ask = Ask::units(u32::try_from(cost).unwrap_or(u32::MAX));
        let window = quota.window().as_micros().min(Timestamp::MAX.as_micros());
        match self.numbers.below(6) {
            0 => ask.within(Span::ZERO),
            1 => ask.within(Span::from_micros(self.numbers.any_size(u64::MAX / 2))),
            2 => ask.within(Span::from_micros(self.numbers.below(window))),
            _ => ask,
        }
    }
}
