//! Spoofed addresses: the address that a request itself claims, in the field that proxies write.
//!
//! Where it is believed whoever sends it, each request has an address of its own and limits by address hold nothing. It works
//! the other way as well: whoever claims another's address uses up what that one may do, and shuts him out of everything from
//! home. Where nobody is believed both come to what one address may do; that is played too.

use tidegate_algorithms::Span;
use tidegate_review::spoken_count;

use super::exposed::counted;
use super::schedule::books::{Books, reading};
use super::schedule::rotation::{
    Order, Rotation, Vary, around_accounts, at_full_rate, most_beside, until_accounts_run_out,
};
use super::{Adversary, Aim, Beside, Exposed, Guard, Need, Play, VICTIM, at_victim, home};
use crate::act::{Seat, Who};
use crate::people::People;
use crate::target::Reading;

/// The victim comes this often at most.
const VISITS: Span = Span::from_secs(600);

/// One client claims a fresh address with each request.
#[derive(Debug)]
pub(super) struct Spoof;

impl Adversary for Spoof {
    fn name(&self) -> &'static str {
        "forwarded-spoof"
    }

    fn what(&self) -> &'static str {
        "One client claims to come from another address with each request."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn most_requests(&self, aim: &Aim, play: &Play) -> u64 {
        until_accounts_run_out(aim, play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.tells_addresses_apart()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::knowing(hopeful(aim), aim, play, at_victim());
        let rotation = rotation.over(Vary::Claimed, u32::MAX, Order::InTurn);
        vec![Seat::adversary(around_accounts(rotation, aim, play)).with_jitter(play.jitter)]
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let one = most_beside(aim, beside, Guard::is_by_address)?;
        let admitted = beside.attack.admitted;
        if !aim.believes_anybody || u128::from(admitted) < one.saturating_mul(2) {
            return None;
        }
        Some(Exposed {
            finding: Some(aim.why_believed),
            says: format!(
                "one client that claimed another address each time made {} in {}, where the limits let one address make {}: \
                 whatever address a request names is believed",
                counted(admitted, "request"),
                beside.went_on(),
                spoken_count(one),
            ),
        })
    }
}

/// One client claims the victim's address, and uses up what he may do.
#[derive(Debug)]
pub(super) struct Poison;

impl Adversary for Poison {
    fn name(&self) -> &'static str {
        "forwarded-poisoning"
    }

    fn what(&self) -> &'static str {
        "One client claims a victim's address and uses up what may be done from there."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn most_requests(&self, _aim: &Aim, play: &Play) -> u64 {
        at_full_rate(play)
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.tells_addresses_apart()
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let claims = Who { forwarded: Some(home(VICTIM)), ..at_victim() };
        // They guess nothing.
        let rotation = Rotation::knowing(hopeful(aim), aim, play, claims).guessing(0);
        // About accounts of his own, since those of limits by account are not what he is after, unless they are one key.
        let of_pairs = |guard: &Guard| guard.is_by_address() && guard.keyed.subject;
        let rotation = if aim.guards.iter().any(of_pairs) {
            rotation
        } else {
            rotation.over(Vary::Own, play.means.subjects, Order::InTurn)
        };
        let mut seats = vec![Seat::adversary(rotation).with_jitter(play.jitter)];
        seats.extend(visitor(aim, play).seats());
        seats
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let people = &beside.attack.people;
        if !aim.believes_anybody || people.denied == 0 || people.denied.saturating_mul(2) < people.tries {
            return None;
        }
        Some(Exposed {
            finding: Some(aim.why_believed),
            says: format!(
                "a person at home was refused at {} of {} in {}, since another client claimed his address: whatever address a \
                 request names is believed",
                spoken_count(people.denied.into()),
                counted(people.tries, "try"),
                beside.went_on(),
            ),
        })
    }
}

/// Returns the books of somebody who expects that what he claims is believed: only trying shows whether it is.
fn hopeful(aim: &Aim) -> Books {
    Books::of(&aim.guards, Reading { believes_anybody: true, ..reading(aim) })
}

/// Returns the person whose home it is, who comes less often than any limit would mind.
fn visitor(aim: &Aim, play: &Play) -> People {
    let slowest = Guard::slowest(&aim.guards).as_micros().saturating_mul(4);
    People {
        count: 1,
        first: VICTIM,
        every: Span::from_micros(slowest).max(VISITS),
        typo: 0.0,
        tries: 1,
        think: Span::from_secs(1),
        share: 1,
        start: play.start,
        end: play.end(),
    }
}

#[cfg(test)]
mod tests {
    use tidegate::Limit;

    use super::super::testing::testbed::{ACCOUNT, ADDRESS, DAY, HOUR, Testbed, bucket, log};
    use super::*;
    use crate::target::KeyedLimits;

    fn limits() -> KeyedLimits {
        KeyedLimits::new([
            (Limit::new("per-day", log(9, DAY)), ACCOUNT),
            (Limit::new("per-client", log(30, HOUR)), ADDRESS),
        ])
    }

    fn testbed(target: KeyedLimits) -> Testbed {
        let mut testbed = Testbed::limits(target);
        (testbed.play.means.rate, testbed.play.means.subjects) = (100, 400);
        testbed
    }

    /// Guards against claims that repeat, or that are heeded where nobody is believed.
    #[test]
    fn a_fresh_claim_each_time_leads_around_limits_by_address_only_where_anybody_is_believed() {
        let open = testbed(limits().believing_anybody()).met(&Spoof);
        assert_eq!((open.admitted, open.refused()), (400 * 9, 0), "all that accounts may");
        let closed = testbed(limits()).lasting(HOUR).met(&Spoof);
        assert_eq!(closed.admitted, 30, "what his own address may do");
        assert!(closed.refused() > 3_000, "he did not try");
    }

    /// Guards against a victim who is held by what he does himself, or by nothing: his home is used up by claims alone.
    #[test]
    fn whoever_claims_a_victims_address_shuts_him_out_only_where_anybody_is_believed() {
        let quick =
            || KeyedLimits::new([(Limit::new("per-client", bucket(4, 1, Span::from_secs(10))), ADDRESS)]);
        let open = testbed(quick().believing_anybody()).met(&Poison);
        assert!(open.people.tries > 100, "{:?}", open.people);
        assert_eq!(open.people.denied, open.people.tries);
        let closed = testbed(quick()).lasting(HOUR).met(&Poison);
        assert_eq!(closed.people.denied, 0, "{:?}", closed.people);
    }

    /// Guards against findings that rest on nothing seen.
    #[test]
    fn both_ways_are_exposed_where_anybody_is_believed_and_neither_where_not() {
        let open = testbed(limits().believing_anybody());
        let spoofed = open.exposed(&Spoof).unwrap();
        assert_eq!(spoofed.finding, Some("trusts-everybody"));
        assert!(spoofed.says.starts_with(
            "one client that claimed another address each time made 3,600 requests in 1d, where"
        ));
        let poisoned = open.exposed(&Poison).unwrap();
        assert_eq!(poisoned.finding, Some("trusts-everybody"));
        assert!(poisoned.says.starts_with("a person at home was refused"), "{}", poisoned.says);
        for adversary in [&Spoof as &dyn Adversary, &Poison] {
            assert_eq!(testbed(limits()).lasting(HOUR).exposed(adversary), None);
        }
    }
}
