//! Cardinality flood: new keys, as fast as he can make them, against a table that holds so many.
//!
//! A table of K keys that forgets the least recently used forgets a key that is refused as soon as K others came after it:
//! L guesses, K new keys, L guesses, at λ a second in all L · λ / (K + L) guesses a second. Ours forgets nobody who may
//! still be refused. When it is full, newcomers share what is left, and most of them are refused: people too, who are
//! measured here. Tables of more than 40,000 keys are not played; the review tells of those.

use tidegate_algorithms::{Span, Timestamp};
use tidegate_review::{float, spoken_count, spoken_time};

use super::exposed::counted;
use super::{Adversary, Aim, Beside, Exposed, Guard, Keyed, Means, Need, OWN, Play};
use super::{at_victim, home, ipv6_address};
use crate::act::{Act, Actor, Answer, Chance, Outcome, Seat, Who};
use crate::world::StoreKind;

/// The largest table that is played, so that a play has some 50,000 requests at most.
const MOST_KEYS: u64 = 40_000;
/// How many people come while the table is full.
const NEWCOMERS: u32 = 50;
/// The first of them, whom nobody else is.
const FIRST_NEWCOMER: u32 = 1 << 24;
/// How long a table is kept full, in a play that is long enough; one that evicts for longer, since that is when guesses pass.
const FULL: Span = Span::from_secs(5);
const EVICTING: Span = Span::from_secs(30);

/// New keys without end.
#[derive(Debug)]
pub(super) struct Flood;

impl Adversary for Flood {
    fn name(&self) -> &'static str {
        "flood"
    }

    fn what(&self) -> &'static str {
        "Requests about ever new keys fill the table of keys, between guesses at one account."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Subjects, Need::Ipv6Network]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} a second", counted(means.rate, "request")))
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn depends_on_phase(&self) -> bool {
        false
    }

    fn is_over_early(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        let Some(keys) = table(aim).filter(|keys| *keys <= MOST_KEYS) else { return false };
        // Limits share a table: the first whose keys fill it is enough.
        aim.burst() > 0 && aim.guards.iter().position(|guard| fills(guard, keys)) == Some(aim.focus)
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let (Some(keys), Some(guard)) = (table(aim), aim.guard()) else { return Vec::new() };
        let (means, burst) = (play.means, aim.burst().max(1));
        let [full, end] = course(aim, play);
        let prefix = guard.keyed.address.map_or(64, |(_, ipv6)| ipv6);
        let hand = Hand { start: play.start, end, means, burst, keys, sent: 0, invented: 0, prefix };
        let pause = end.saturating_since(full).as_micros() / u64::from(NEWCOMERS);
        let newcomer = |index: u32| {
            let at = full.saturating_add(Span::from_micros(pause.saturating_mul(index.into())));
            Seat::person(Newcomer(Some((at, index))))
        };
        let people = (0..NEWCOMERS).map(newcomer);
        std::iter::once(Seat::adversary(hand).with_jitter(play.jitter)).chain(people).collect()
    }

    fn exposes(&self, aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (guard, keys, play) = (aim.guard()?, table(aim)?, beside.play);
        let rate = counted(play.means.rate.max(1), "request");
        let [full, end] = course(aim, play);
        let keys_of = spoken_count(keys.into());
        if let StoreKind::Evicting { .. } = aim.setting.store {
            let time = end.saturating_since(play.start);
            let (passed, most) = (beside.attack.guesses, guard.quota.most_in_half_open(time));
            return (u128::from(passed) > most).then(|| Exposed {
                finding: Some("table-can-be-filled"),
                says: format!(
                    "{rate} a second about new keys had a table of {keys_of} forget the account that was guessed at: {} passed \
                     in {}, where {} can",
                    counted(passed, "guess"),
                    spoken_time(float(time.as_micros()) / 1e6),
                    spoken_count(most)
                ),
            });
        }
        let people = beside.attack.people;
        let of_all = aim.guards.iter().any(|guard| guard.keyed == Keyed::EVERYONE);
        // A tenth: fewer are refused by chance of what they share.
        (!of_all && people.tries > 0 && people.denied.saturating_mul(10) >= people.tries).then(|| Exposed {
            finding: aim.class.is_guarded().then_some("table-can-be-filled"),
            says: format!(
                "{rate} a second about new keys filled the table of {keys_of} in {}; people who came then were refused at {} of \
                 {}, since newcomers share what is left",
                spoken_time(float(full.saturating_since(play.start).as_micros()) / 1e6),
                spoken_count(people.denied.into()),
                counted(people.tries, "try"),
            ),
        })
    }
}

/// Returns how many keys are to be written until there is no room; `None` where there is room without end.
fn table(aim: &Aim) -> Option<u64> {
    let keys = match aim.setting.store {
        StoreKind::Evicting { keys } => keys,
        StoreKind::Right if !aim.setting.shared => aim.setting.keys,
        _ => return None,
    };
    u64::try_from(keys).ok()?.checked_mul(aim.setting.stores().into())
}

/// Returns whether so many keys of a limit can be made before the first of them means nothing any more, by the means that
/// adversaries have where nobody says otherwise.
fn fills(guard: &Guard, keys: u64) -> bool {
    let means = Means::default();
    let written = guard.quota.window().as_micros().saturating_mul(means.rate.into()) / 1_000_000;
    written.min(inventable(guard.keyed, &means)) >= keys
}

/// Returns how many keys of a limit he can make.
fn inventable(keyed: Keyed, means: &Means) -> u64 {
    if keyed.subject || keyed.session {
        return OWN.into();
    }
    let bits = keyed.address.map_or(0, |(_, ipv6)| ipv6.saturating_sub(means.ipv6_prefix));
    1_u64.checked_shl(bits.into()).unwrap_or(u64::MAX)
}

/// Returns when the table is full, and when the flood is over.
fn course(aim: &Aim, play: &Play) -> [Timestamp; 2] {
    let written = play.means.time_for(table(aim).unwrap_or(0)).as_micros();
    // A tenth more, for the guesses between.
    let full =
        play.start.saturating_add(Span::from_micros(written.saturating_add(written / 10))).min(play.end());
    let evicts = matches!(aim.setting.store, StoreKind::Evicting { .. });
    [full, full.saturating_add(if evicts { EVICTING } else { FULL }).min(play.end())]
}

/// Guesses as many times as the limit admits at once, then asks about new keys until there was room for none of the old.
struct Hand {
    start: Timestamp,
    end: Timestamp,
    means: Means,
    burst: u32,
    keys: u64,
    sent: u64,
    invented: u32,
    prefix: u8,
}

impl Hand {
    /// Returns somebody whom nobody has met yet, from where nobody has come from.
    fn new_key(&mut self) -> Who {
        self.invented = self.invented.wrapping_add(1);
        let address = match self.prefix {
            65.. => ipv6_address(0, u64::from(self.invented) << 128_u8.saturating_sub(self.prefix).min(63)),
            _ => ipv6_address(self.invented << 64_u8.saturating_sub(self.prefix).min(31), 1),
        };
        let subject = OWN.saturating_add(self.invented);
        Who { session: self.invented, ..Who::new(subject, address) }
    }
}

impl Actor for Hand {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let at = self.start.saturating_add(self.means.time_for(self.sent));
        let cycle = self.keys.saturating_add(self.burst.into());
        let is_guessing = self.sent.checked_rem(cycle)? == 0;
        let requests = if is_guessing { self.burst } else { 1 };
        self.sent = self.sent.saturating_add(requests.into());
        let act = if is_guessing {
            Act::one(at, at_victim()).times(requests)
        } else {
            Act { guesses: 0, ..Act::one(at, self.new_key()) }
        };
        (at < self.end).then_some(act)
    }
}

/// Somebody who was never there before, and wants in once.
struct Newcomer(Option<(Timestamp, u32)>);

impl Actor for Newcomer {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let (at, index) = self.0.take()?;
        let number = FIRST_NEWCOMER.saturating_add(index);
        let who = Who { session: number, ..Who::new(number, home(number)) };
        Some(Act { outcome: Outcome::Success, ..Act::one(at, who) })
    }
}

#[cfg(test)]
mod tests {
    use tidegate_policy::Class;

    use super::super::testing::staged::{events, exposed};
    use super::super::testing::trial::{log, play};
    use super::*;
    use crate::act::Role;
    use crate::world::Setting;

    fn aim(store: StoreKind) -> Aim {
        let setting = Setting { keys: 1_000, shared: false, store, ..Setting::default() };
        Aim { setting, class: Class::Login, ..Aim::at(log()) }
    }

    fn fast(secs: u64) -> Play {
        let means = Means { rate: 2_000, ..Means::default() };
        Play { means, ..play(Span::from_secs(9), Span::from_secs(secs)) }
    }

    /// The value known of it: 298.5 guesses in thirty seconds at a table of a thousand with 2,000 requests a second, where the
    /// limit is five; 299 by simulation.
    #[test]
    fn a_table_that_evicts_lets_through_what_is_known() {
        let events = events(&Flood, &aim(StoreKind::Evicting { keys: 1_000 }), &fast(30));
        let guesses = events.iter().filter(|event| event.admitted && event.who == at_victim()).count();
        assert!((298..=300).contains(&guesses), "{guesses}");
    }

    /// Guards against a table of ours that forgets who is being refused, and shows what it costs instead.
    #[test]
    fn ours_forgets_nobody_and_refuses_newcomers() {
        let events = events(&Flood, &aim(StoreKind::Right), &fast(6));
        let guesses = events.iter().filter(|event| event.admitted && event.who == at_victim()).count();
        assert_eq!(guesses, 5);
        let people: Vec<_> = events.iter().filter(|event| event.role == Role::Person).collect();
        let denied = people.iter().filter(|event| !event.admitted).count();
        assert_eq!((people.len(), denied), (50, 50));
    }

    #[test]
    fn what_a_full_table_costs_is_told_with_its_figures() {
        let told = exposed(&Flood, &aim(StoreKind::Right), &fast(6)).unwrap();
        assert_eq!(told.finding, Some("table-can-be-filled"));
        let known = "2,000 requests a second about new keys filled the table of 1,000 in 550.0 milliseconds; people who came \
                     then were refused at 50 of 50 tries, since newcomers share what is left";
        assert_eq!(told.says, known);
        let told = exposed(&Flood, &aim(StoreKind::Evicting { keys: 1_000 }), &fast(6)).unwrap();
        let known = "2,000 requests a second about new keys had a table of 1,000 forget the account that was guessed at: 60 \
                     guesses passed in 6.00 seconds, where 5 can";
        assert_eq!(told.says, known);
    }

    /// Guards against a mistake that is told of tables that no flood fills: large ones, and those with a Redis behind.
    #[test]
    fn a_table_that_cannot_be_filled_is_not_told_of() {
        let small = aim(StoreKind::Right);
        let large = Aim { setting: Setting { keys: 100_000, ..small.setting }, ..small.clone() };
        let redis = Aim { setting: Setting { shared: true, ..small.setting }, ..small.clone() };
        assert!(Flood.fits(&small) && !Flood.fits(&large) && !Flood.fits(&redis));
        assert_eq!(exposed(&Flood, &large, &fast(3)), None);
    }
}
