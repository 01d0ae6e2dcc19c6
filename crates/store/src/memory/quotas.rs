//! The quotas that states were last written under, each kept once.
//!
//! When a state can be forgotten depends on its quota, and keys of one limit may have different ones (plans,
//! overrides, a reload). A slot has 14 bits for a number that stands for its quota here.

use std::collections::HashMap;

use tidegate_algorithms::Quota;

/// A number that stands for a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct QuotaId(pub(super) u16);

impl QuotaId {
    pub(super) const BITS: u32 = 14;
    /// Stands for a quota for which no number was left: its state is never forgotten.
    pub(super) const UNKNOWN: Self = Self((1 << Self::BITS) - 1);
}

#[derive(Debug, Default)]
pub(super) struct Quotas {
    list: Vec<Quota>,
    /// Built when there are more than a glance takes in.
    index: HashMap<Quota, QuotaId>,
}

/// A list of so many is searched faster than hashed.
const GLANCE: usize = 8;

impl Quotas {
    #[inline]
    pub(super) fn get(&self, id: QuotaId) -> Option<&Quota> {
        self.list.get(usize::from(id.0))
    }

    /// Returns the quotas that have a number.
    pub(super) fn all(&self) -> &[Quota] {
        &self.list
    }

    /// Returns whether every number is given out.
    pub(super) fn is_exhausted(&self) -> bool {
        self.list.len() >= usize::from(QuotaId::UNKNOWN.0)
    }

    /// Forgets all numbers; the caller holds none.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.index.clear();
    }

    /// Returns the number of a quota, which is likely to be `hint`.
    #[inline]
    pub(super) fn id(&mut self, quota: &Quota, hint: QuotaId) -> QuotaId {
        if self.get(hint) == Some(quota) { hint } else { self.search(quota) }
    }

    fn search(&mut self, quota: &Quota) -> QuotaId {
        let glance = self.list.iter().take(GLANCE).position(|held| held == quota);
        let found = glance.and_then(|at| u16::try_from(at).ok()).map(QuotaId);
        if let Some(id) = found.or_else(|| self.index.get(quota).copied()) {
            return id;
        }
        let Some(id) = u16::try_from(self.list.len()).ok().map(QuotaId).filter(|_| !self.is_exhausted())
        else {
            return QuotaId::UNKNOWN;
        };
        self.list.push(*quota);
        if self.list.len() > GLANCE {
            self.index.insert(*quota, id);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_algorithms::Span;

    fn quota(limit: u64) -> Quota {
        Quota::sliding_log(limit, Span::from_secs(1)).unwrap()
    }

    #[test]
    fn each_quota_has_one_number_until_none_is_left() {
        let mut quotas = Quotas::default();
        let most = QuotaId::UNKNOWN.0;
        for round in 0..2 {
            for limit in 0..most {
                assert_eq!(quotas.id(&quota(limit.into()), QuotaId(0)), QuotaId(limit), "round {round}");
            }
        }
        assert!(quotas.is_exhausted());
        assert_eq!(quotas.id(&quota(u64::from(most)), QuotaId(3)), QuotaId::UNKNOWN);
        assert_eq!(quotas.get(QuotaId::UNKNOWN), None);
        assert_eq!(quotas.get(QuotaId(7)), Some(&quota(7)));
    }
}
