//! What holds for one key, whatever its requests are like besides.

use std::ops::Range;

use tidegate_algorithms::Timestamp;

use super::{Found, Overlay, Set};
use crate::limit::Limit;
use crate::request::{Ambiguous, Facts, ReadyKeys, of_ready};

/// What holds for one key of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'l> {
    /// The terms that may hold, as indices among [`Limit::variants`]: one, or one for each plan, which a request chooses; none
    /// where the limit does not look at the key.
    pub variants: Range<usize>,
    /// The exception of an operator's that these are by, if one is.
    pub exception: Option<&'l Overlay>,
}

impl Limit {
    /// Tells what holds at an instant for a key that is given by ready-made values. Overrides that end do not hold where the
    /// instant is not known.
    ///
    /// # Errors
    /// When a value breaks the form that its key has to have.
    pub fn standing(&self, ready: &ReadyKeys, now: Option<Timestamp>) -> Result<Standing<'_>, Ambiguous> {
        of_ready(ready, now, |facts| self.standing_of(facts))
    }

    fn standing_of(&self, facts: &Facts<'_>) -> Result<Standing<'_>, Ambiguous> {
        let exceptions = self.exceptions(facts);
        let of = |is_of_key: bool| exceptions.iter().copied().find(|one| one.key.is_some() == is_of_key);
        let plans = self.plans.as_ref().map_or(1, |plans| plans.list.len());
        let some = |first: usize, count: usize| first..first.saturating_add(count);
        let (variants, exception) = match self.exception_for(facts)? {
            Some(Found::Off) => (0..0, of(true)),
            Some(Found::Terms { first, by_plan }) => {
                let first = self.own_variants().saturating_add(first);
                (some(first, if by_plan { plans } else { 1 }), of(true))
            }
            None if self.is_off() => (0..0, of(false)),
            None => match self.override_for(facts)? {
                // Numbers for everybody are for everybody else.
                Some(index) => {
                    let exception = of(false).filter(|one| matches!(one.set, Set::Mode(_)));
                    (some(plans.saturating_add(index), 1), exception)
                }
                None => (0..plans, of(false)),
            },
        };
        Ok(Standing { variants, exception })
    }
}
