//! What people met in a scenario: all of them, and the one whose account is attacked.

use std::collections::HashMap;

use serde::Serialize;

use crate::adversary::VICTIM;
use crate::measure::PeopleSeen;
use crate::simulate::Event;

/// What people met without the attack and with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PeopleMet {
    /// Without the adversaries, by the same chance and through the same outages: what the limits deny anyway.
    pub alone: Met,
    /// With them; `None` where there are none.
    pub attacked: Option<Met>,
}

/// What people met in one play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Met {
    /// All of them.
    pub everybody: PeopleSeen,
    /// The one whose account is attacked: the first of them.
    pub victim: PeopleSeen,
}

/// Counts what people meet.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    met: Met,
    /// Whether a request of each ever passed, by his seat.
    passed: HashMap<usize, bool>,
    victim_passed: Option<bool>,
}

impl Meeting {
    pub(super) fn tried(&mut self, event: &Event) {
        count(&mut self.met.everybody, event.admitted);
        *self.passed.entry(event.seat).or_default() |= event.admitted;
        if event.who.subject == VICTIM {
            count(&mut self.met.victim, event.admitted);
            *self.victim_passed.get_or_insert(false) |= event.admitted;
        }
    }

    pub(super) fn finish(mut self) -> Met {
        let shut_out = self.passed.values().filter(|passed| !**passed).count();
        let many = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        (self.met.everybody.people, self.met.everybody.shut_out) = (many(self.passed.len()), many(shut_out));
        self.met.victim.people = self.victim_passed.is_some().into();
        self.met.victim.shut_out = (self.victim_passed == Some(false)).into();
        self.met
    }
}

fn count(seen: &mut PeopleSeen, admitted: bool) {
    seen.tries = seen.tries.saturating_add(1);
    seen.denied = seen.denied.saturating_add((!admitted).into());
}
