//! Adversaries that deny or cost against the review's pages: each page's bad example is exposed by the adversary whose mistake
//! it is, under the page's id, and its good example by none of them.

use std::sync::Arc;

use tidegate_algorithms::Span;
use tidegate_policy::Policy;

use super::super::testing::trial::play;
use super::super::{Aim, Exposed, named};
use super::{example, exposed, parse, text};
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::Requests;

/// Those that deny or cost.
const NAMES: [&str; 5] =
    ["lockout", "shared-key-poisoning", "sms-pumping", "sms-pumping-spread", "sms-flood"];

/// Plays adversaries at a page's example for some hours, and returns what they expose; the first example is bad, the second
/// good.
fn shown(page: &str, index: usize, names: &[&str], hours: u64) -> Vec<Exposed> {
    shown_of(&example(page, index), names, hours)
}

fn shown_of(policy: &Arc<Policy>, names: &[&str], hours: u64) -> Vec<Exposed> {
    let requests = Requests::new(Arc::clone(policy), 0).unwrap();
    let aim = requests.aim();
    let stage = Stage::new(Arc::new(requests), 3, None);
    let mut play = play(Span::ZERO, Span::from_secs(3_600 * hours));
    (play.means.rate, play.means.subjects, play.means.addresses) = (5, 300, 20);
    let mut all = Vec::new();
    for adversary in names.iter().filter_map(|name| named(name)) {
        let focuses = if adversary.is_for_one_limit() { aim.guards.len() } else { 1 };
        for focus in 0..focuses {
            let aim = Aim { focus, ..aim.clone() };
            all.extend(exposed(adversary, &aim, &stage, (&play, &Measured::default())));
        }
    }
    all
}

/// Guards against people who are all refused while nobody says why: where a proxy's address is read for the client's, since
/// fewer hops are trusted than proxies stand in front.
#[test]
fn hops_that_are_fewer_than_the_proxies_make_all_clients_one() {
    let id = "hops-not-the-proxies";
    let text = text(id, 0).replace("hops: 2", "hops: 1").replace("proxies: 1", "proxies: 2");
    let bad = shown_of(&parse(&text), &["shared-key-poisoning"], 6);
    let told = bad.iter().find(|one| one.finding == Some(id)).unwrap_or_else(|| panic!("{bad:?}"));
    assert!(told.says.starts_with("all clients are one to verify/per-client: "), "{}", told.says);
    let good = shown(id, 1, &NAMES, 6);
    assert!(good.iter().all(|one| one.finding != Some(id)), "{good:?}");
}

macro_rules! pages {
    ($($test:ident: $id:literal by $name:literal in $hours:literal h, $says:literal;)*) => {
        $(
            /// Guards against a mistake that the review tells and the bench does not show, or without its figure, and against
            /// one that is shown of the page's remedy.
            #[test]
            fn $test() {
                let bad = shown($id, 0, &[$name], $hours);
                assert!(bad.iter().any(|one| one.finding == Some($id) && one.says.contains($says)), "{bad:?}");
                let good = shown($id, 1, &NAMES, $hours);
                assert!(good.iter().all(|one| one.finding != Some($id)), "{good:?}");
            }
        )*
    };
}

pages! {
    a_lock_is_a_weapon: "lockout-weapon" by "lockout" in 24 h,
        "with 20 requests an hour login/lock is kept full and the victim out 100 % of the time";
    all_on_loopback_are_one: "loopback-is-one-client" by "shared-key-poisoning" in 6 h,
        "one client made 30 requests an hour";
    pumping_a_block: "send-without-country-cap" by "sms-pumping" in 1 h,
        "one block of numbers was sent 600 messages in 1h for 15,000 cents, 360,000 a day at that rate";
    pumping_the_world: "send-without-global-cap" by "sms-pumping-spread" in 1 h,
        "300 numbers got 600 messages in 1h for 3,000 cents, 72,000 a day at that rate from 20 addresses";
    flooding_one_number: "send-without-destination-cap" by "sms-flood" in 1 h,
        "one person was sent 600 messages in 1h from 20 addresses";
}
