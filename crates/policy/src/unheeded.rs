//! What a request says, or a limit once said, and what is not heeded: for whoever wonders at the terms it got.

use crate::cost::Cost;
use crate::key::Part;
use crate::limit::Limit;
use crate::plan::{Override, PlanBy};
use crate::request::Facts;

/// The most characters that are shown of what somebody sent.
const MOST: usize = 64;

impl Limit {
    /// Says what of a request is not heeded when its terms and its cost are chosen, each in a sentence: terms of its own
    /// that have ended, and a plan or a cost named by somebody who is not believed.
    pub fn unheeded(&self, facts: &Facts<'_>) -> Vec<String> {
        let ended = self.ended_override(facts).and_then(Override::last_day);
        let ended = ended.map(|day| format!("its own terms for this key ended {day}"));
        let plan = self.plans.as_ref().and_then(|plans| match &plans.by {
            PlanBy::Header(part) => disbelieved(part, facts),
            PlanBy::Claim(_) | PlanBy::Table(..) => None,
        });
        let cost = match &self.cost {
            Cost::Header(header) => disbelieved(&header.part, facts),
            Cost::Units(_) | Cost::Table(_) | Cost::Items(_) => None,
        };
        ended.into_iter().chain(plan).chain(cost).collect()
    }
}

/// Says that a header field is not believed, if there is one and it is not.
fn disbelieved(part: &Part, facts: &Facts<'_>) -> Option<String> {
    let client = facts.client();
    if client.is_some_and(|client| client.peer_trusted) {
        return None;
    }
    let value = part.text(facts).ok().flatten()?;
    let shown: String = value.chars().take(MOST).flat_map(char::escape_debug).collect();
    let name = &part.name;
    Some(match client {
        Some(client) => {
            format!("{name} = \"{shown}\" is not believed, since {} is no trusted proxy", client.address)
        }
        None => format!("{name} = \"{shown}\" is not believed, since its peer is not known"),
    })
}
