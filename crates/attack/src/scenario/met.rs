//! What people met in a scenario: all of them, and the one whose account is attacked.

use std::collections::HashMap;

use serde::Serialize;
use tidegate_review::float;

use crate::act::Outcome;
use crate::adversary::VICTIM;
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
    pub everybody: Seen,
    /// The one whose account is attacked: the first of them.
    pub victim: Seen,
}

/// What some people met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Seen {
    /// How many of them wanted something.
    pub people: u64,
    /// How many of them never got it.
    pub shut_out: u64,
    /// How often they came for it.
    pub visits: u64,
    /// How many visits ended without it: refused, or mistyped too often. A visit that the end of the scenario cuts short
    /// is one.
    pub in_vain: u64,
    /// How many requests they made for it.
    pub tries: u64,
    /// How many of those were refused.
    pub denied: u64,
}

impl Seen {
    /// Returns the share of visits that ended without what they were for, in percent; nothing without a visit.
    pub fn percent_in_vain(&self) -> Option<f64> {
        (self.visits > 0).then(|| 100.0 * float(self.in_vain) / float(self.visits))
    }
}

/// Counts what people meet.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    met: Met,
    /// Everybody who has come, by the seat.
    people: HashMap<usize, Person>,
}

/// How it goes for one of them.
#[derive(Debug)]
struct Person {
    is_victim: bool,
    /// The session of the visit that he is at.
    session: u32,
    /// Whether that visit came to what he wanted.
    is_served: bool,
    /// How often he came, and how many of the visits before this one were in vain.
    visits: u64,
    in_vain: u64,
}

impl Meeting {
    pub(super) fn tried(&mut self, event: &Event) {
        let is_victim = event.who.subject == VICTIM;
        let session = event.who.session;
        let new = || Person { is_victim, session, is_served: false, visits: 1, in_vain: 0 };
        let person = self.people.entry(event.seat).or_insert_with(new);
        if person.session != session {
            person.in_vain = person.in_vain.saturating_add((!person.is_served).into());
            person.visits = person.visits.saturating_add(1);
            (person.session, person.is_served) = (session, false);
        }
        person.is_served |= event.admitted && event.outcome == Outcome::Success;
        let met = &mut self.met;
        for seen in [Some(&mut met.everybody), is_victim.then_some(&mut met.victim)].into_iter().flatten() {
            seen.tries = seen.tries.saturating_add(1);
            seen.denied = seen.denied.saturating_add((!event.admitted).into());
        }
    }

    pub(super) fn finish(self) -> Met {
        let Self { mut met, people } = self;
        for person in people.into_values() {
            let in_vain = person.in_vain.saturating_add((!person.is_served).into());
            let both = [Some(&mut met.everybody), person.is_victim.then_some(&mut met.victim)];
            for seen in both.into_iter().flatten() {
                seen.people = seen.people.saturating_add(1);
                seen.shut_out = seen.shut_out.saturating_add((in_vain == person.visits).into());
                seen.visits = seen.visits.saturating_add(person.visits);
                seen.in_vain = seen.in_vain.saturating_add(in_vain);
            }
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Span, Timestamp};

    use super::*;
    use crate::act::{Role, Who};
    use crate::adversary::home;

    fn event(subject: u32, session: u32, outcome: Outcome, admitted: bool) -> Event {
        let who = Who { session, ..Who::new(subject, home(subject)) };
        let at = Timestamp::EPOCH;
        let seat = usize::try_from(subject).unwrap();
        let role = Role::Person;
        Event { at, seat, role, who, guesses: 0, outcome, admitted, degraded: false, delay: Span::ZERO }
    }

    /// Guards the visits: a right code that is refused is no success, a wrong one that passes is none either, and the last
    /// visit counts like the others.
    #[test]
    fn a_visit_is_served_by_a_right_code_that_passes() {
        use Outcome::{Failure, Success};
        let mut meeting = Meeting::default();
        let events = [
            (0, 1, Failure, true),
            (0, 1, Success, true),
            (0, 2, Success, false),
            (0, 3, Success, false),
            (1, 1, Failure, true),
            (1, 1, Failure, true),
        ];
        for (subject, session, outcome, admitted) in events {
            meeting.tried(&event(subject, session, outcome, admitted));
        }
        let met = meeting.finish();
        let victim = Seen { people: 1, shut_out: 0, visits: 3, in_vain: 2, tries: 4, denied: 2 };
        assert_eq!(met.victim, victim);
        assert_eq!(
            met.everybody,
            Seen { people: 2, shut_out: 1, visits: 4, in_vain: 3, tries: 6, denied: 2 }
        );
        assert!(victim.percent_in_vain().is_some_and(|percent| (percent - 66.67).abs() < 0.01));
        assert_eq!(Seen::default().percent_in_vain(), None);
    }
}
