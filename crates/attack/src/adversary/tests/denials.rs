//! Adversaries that deny or cost against the review's pages: each page's bad example is exposed by the adversary whose mistake
//! it is, under the page's id, and its good example by none of them.

use std::sync::Arc;

use tidegate_algorithms::Span;

use super::super::testing::trial::play;
use super::super::{Aim, Exposed, named};
use super::{example, exposed};
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::Requests;

/// Those that deny or cost.
const NAMES: [&str; 5] =
    ["lockout", "shared-key-poisoning", "sms-pumping", "sms-pumping-spread", "sms-flood"];

/// Plays adversaries at a page's example for some hours, and returns what they expose; the first example is bad, the second
/// good.
fn shown(page: &str, index: usize, names: &[&str], hours: u64) -> Vec<Exposed> {
    let policy = example(page, index);
    let requests = Requests::new(Arc::clone(&policy), 0).unwrap();
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
