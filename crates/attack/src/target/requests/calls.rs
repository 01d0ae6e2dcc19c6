//! Looking for the call about a descriptor that a rule applies to and that meets the fewest other limits.

use tidegate_policy::{Counting, Matched, Rule};

use super::call::Call;
use super::entries::descriptors;
use super::fill::{self, Applying};
use super::search::{Aimed, Score, refusal};
use super::unreachable::Why;
use crate::adversary::at_victim;

impl Aimed<'_> {
    /// Returns the best of the calls that the rule applies to.
    ///
    /// # Errors
    /// With what stood in the way, when there is none.
    pub(super) fn search_calls(self) -> Result<Call, Why> {
        let phones = fill::phones(&[Applying { rule: self.rule, route: "*" }]);
        let counting = self.policy.envoy.as_ref().map_or(Counting::AllOrNothing, |envoy| envoy.counting);
        let mut best: Option<(Score, Call)> = None;
        let mut why = Why::Elsewhere;
        for described in descriptors(self.policy, self.rule, &phones) {
            let (domain, entries) = (described.domain, described.entries);
            let call = Call { domain, entries, phones: phones.clone(), counting };
            match self.attempt_call(&call) {
                Ok(score) if best.as_ref().is_none_or(|(least, _)| score < *least) => {
                    best = Some((score, call));
                }
                Ok(_) => {}
                Err(reason) => why = why.max(reason),
            }
        }
        best.map(|(_, call)| call).ok_or(why)
    }

    fn attempt_call(self, call: &Call) -> Result<Score, Why> {
        call.seen(self.policy, &at_victim(), |seen| {
            let matched: Vec<Matched<'_>> = self.policy.matching(seen).collect();
            self.check_applies(&matched).map_err(|why| self.excepted(seen).unwrap_or(why))?;
            let takes_its_place =
                |other: &Rule| other.name != self.rule.name && other.envoy.replaces.contains(&self.rule.name);
            match matched.iter().find(|other| takes_its_place(other.rule)) {
                Some(other) => Err(Why::Replaced(other.rule.name.clone())),
                None => Ok(()),
            }
        })?;
        let prepared = call.prepare(self.snapshot, &at_victim()).map_err(|ruling| refusal(&ruling))?;
        self.score(&prepared)
    }
}
