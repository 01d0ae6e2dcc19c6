//! Looking for the request that a rule applies to and that meets the fewest other limits.

use tidegate::{CheckOptions, Prepared, Ruling, Snapshot, Timestamp};
use tidegate_policy::{Fit, Limit, Matched, Mode, Policy, Rule, Seen};

use super::fill::{Applying, Filling};
use super::front::Front;
use super::made::{Made, is_for_calls, of_wire};
use super::route::{Start, starts};
use super::unreachable::Why;
use super::wire::{Shape, Wire};
use crate::adversary::at_victim;

/// A rule of a policy; the fallback stands behind the last.
#[derive(Clone, Copy)]
pub(super) struct Aimed<'p> {
    pub(super) policy: &'p Policy,
    pub(super) rule: &'p Rule,
    /// `None` for the fallback.
    pub(super) index: Option<usize>,
    /// The policy's limits as they are enforced.
    pub(super) snapshot: &'p Snapshot,
}

/// How much is in the way of a request: own limits that it does not meet, others' that it does, and the units it takes.
pub(super) type Score = (usize, usize, u64);

impl Aimed<'_> {
    /// Returns the best of what the rule applies to: a request, or a call about a descriptor.
    ///
    /// # Errors
    /// With what stood in the way, when there is none.
    pub(super) fn search(self) -> Result<Made, Why> {
        if is_for_calls(self.policy, self.rule) {
            return self.search_calls().map(Made::Call);
        }
        self.search_requests().map(|shape| Made::Request(Box::new(shape)))
    }

    fn search_requests(self) -> Result<Shape, Why> {
        let fronts = Front::all(self.policy);
        let mut best: Option<(Score, Shape)> = None;
        let mut why = Why::Elsewhere;
        for start in starts(self.policy, self.rule) {
            for front in &fronts {
                match self.attempt(start.clone(), front.clone()) {
                    Ok(found) if best.as_ref().is_none_or(|(score, _)| found.0 < *score) => {
                        best = Some(found);
                    }
                    Ok(_) => {}
                    Err(reason) => why = why.max(reason),
                }
            }
        }
        best.map(|(_, shape)| shape).ok_or(why)
    }

    fn attempt(self, start: Start, front: Front) -> Result<(Score, Shape), Why> {
        let mut shape = Shape { start, front, filling: None };
        let bare = shape.wire(&at_victim());
        shape.filling = Some(self.filling(&bare, &shape)?);
        let wire = shape.wire(&at_victim());
        let prepared = prepare(self.snapshot, &wire).map_err(|ruling| refusal(&ruling))?;
        // A name that was put into the path may have led to another rule's.
        self.seen(&wire, |_, matched| self.check_applies(matched))??;
        Ok((self.score(&prepared)?, shape))
    }

    /// Looks at a request as the policy does.
    fn seen<T>(self, wire: &Wire, look: impl FnOnce(&Seen<'_>, &[Matched<'_>]) -> T) -> Result<T, Why> {
        of_wire(self.policy, wire, |seen| {
            let matched: Vec<Matched<'_>> = self.policy.matching(seen).collect();
            look(seen, &matched)
        })
    }

    pub(super) fn check_applies(self, matched: &[Matched<'_>]) -> Result<(), Why> {
        let refuses = |rule: &Rule| rule.refuse.is_some() && rule.mode == Mode::Enforce;
        if let Some(other) = matched.iter().find(|other| refuses(other.rule)) {
            return Err(Why::Refused(other.rule.name.clone()));
        }
        let applies = self.index.is_none() || matched.iter().any(|matched| matched.index == self.index);
        applies.then_some(()).ok_or(Why::Elsewhere)
    }

    /// Finds out what a request has to hold for the rules that apply to it.
    fn filling(self, bare: &Wire, shape: &Shape) -> Result<Filling, Why> {
        self.seen(bare, |seen, matched| {
            self.check_applies(matched).map_err(|why| self.excepted(seen).unwrap_or(why))?;
            let fallback = self.policy.fallback_for(seen);
            let fallback = fallback.as_ref().map(applying);
            let all = if self.index.is_none() {
                // What other limits need is left out, so that they skip what the fallback is to look at.
                vec![fallback.ok_or(Why::Excepted(1))?]
            } else {
                let own = matched.iter().filter(|matched| matched.index == self.index);
                let others = matched.iter().filter(|matched| matched.index != self.index);
                let mut all: Vec<Applying<'_>> = own.chain(others).map(applying).collect();
                let enforced = |limit: &Limit| limit.mode == Mode::Enforce;
                if !all.iter().flat_map(|one| &one.rule.limits).any(enforced) {
                    all.extend(fallback);
                }
                all
            };
            let trusted = seen.client().is_some_and(|client| client.peer_trusted);
            Ok(Filling::of(&all, &shape.start.path, trusted))
        })?
    }

    /// Returns which exception leaves a request out, if it is one.
    pub(super) fn excepted(self, seen: &Seen<'_>) -> Option<Why> {
        let traces = self.policy.trace(seen);
        match &traces.get(self.index?)?.fit {
            Fit::Excepted { number, .. } => Some(Why::Excepted(*number)),
            Fit::Applies(_) | Fit::Differs(_) => None,
        }
    }

    pub(super) fn score(self, prepared: &Prepared) -> Result<Score, Why> {
        let is_own = |name: &str| self.rule.limits.iter().any(|limit| limit.name == name);
        let (mut own, mut others, mut units) = (0_usize, Vec::new(), 0_u64);
        for asked in prepared.asked() {
            if is_own(asked.limit.name()) {
                own = own.saturating_add(1);
                units = units.saturating_add(asked.cost.into());
            } else if !asked.limit.is_shadow() {
                others.push(asked.limit.name().to_owned());
            }
        }
        if own == 0 {
            // Of a team's file the rule's name has a slash as well.
            let other = others.first().and_then(|name| Some(name.rsplit_once('/')?.0.to_owned()));
            return Err(match other.filter(|_| self.index.is_none()) {
                Some(other) => Why::Covered(other),
                None => Why::Uncounted,
            });
        }
        Ok((self.rule.limits.len().saturating_sub(own), others.len(), units))
    }
}

fn applying<'a>(matched: &Matched<'a>) -> Applying<'a> {
    Applying { rule: matched.rule, route: matched.facts.route() }
}

/// Plans a request, at an instant at which no override holds that ends.
///
/// # Errors
/// With the ruling, when it is refused whatever the store says.
pub(super) fn prepare(snapshot: &Snapshot, wire: &Wire) -> Result<Prepared, Ruling> {
    let options = CheckOptions { at: Some(Timestamp::MAX), ..CheckOptions::default() };
    snapshot.prepare(&wire.request(), wire.ready(), options).map_err(|verdict| verdict.ruling().clone())
}

pub(super) fn refusal(ruling: &Ruling) -> Why {
    match ruling {
        Ruling::Denied(denial) => Why::Refused(denial.rule.to_string()),
        Ruling::BadRequest(bad) => Why::Bad(bad.to_string()),
        other => Why::Bad(format!("{other:?}")),
    }
}
