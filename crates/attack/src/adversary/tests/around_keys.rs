//! Adversaries that go around keys against the review's pages: each page's bad example is exposed by the adversary whose
//! mistake it is, under the page's id, and its good example by nobody whom the review does not bear out.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate_policy::Policy;
use tidegate_review::review;

use super::super::testing::testbed::DAY;
use super::super::testing::trial::play;
use super::super::{Adversary, Aim, Exposed, Play, adversaries, named};
use super::{example, exposed, parse, text};
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::Requests;

/// Those that go around keys.
const NAMES: [&str; 10] = [
    "many-addresses",
    "ipv6-rotation",
    "forwarded-spoof",
    "forwarded-poisoning",
    "key-aliases",
    "session-cycling",
    "challenge-cycling",
    "spray",
    "low-and-slow",
    "success-reset",
];

/// An attack on the rule of a policy that verifies codes.
struct Attacked {
    policy: Arc<Policy>,
    stage: Stage,
    aim: Aim,
    play: Play,
    alone: Measured,
}

impl Attacked {
    /// Prepares an attack on a page's example: the first is bad, the second good.
    fn at(page: &str, index: usize) -> Self {
        Self::of(example(page, index))
    }

    fn of(policy: Arc<Policy>) -> Self {
        let verify = policy.rules.iter().position(|rule| rule.name == "verify").unwrap();
        let requests = Requests::new(Arc::clone(&policy), verify).unwrap();
        let aim = requests.aim();
        let stage = Stage { most_requests: 1_300, ..Stage::new(Arc::new(requests), 3, None) };
        let mut play = play(tidegate_algorithms::Span::ZERO, DAY);
        (play.means.rate, play.means.subjects, play.means.addresses) = (20, 2_000, 20);
        let alone = stage.play(named("greedy").unwrap(), &aim, &play).unwrap();
        Self { policy, stage, aim, play, alone }
    }

    fn exposed(&self, adversary: &dyn Adversary) -> Option<Exposed> {
        exposed(adversary, &self.aim, &self.stage, (&self.play, &self.alone))
    }

    /// Returns the ids of what the review finds.
    fn found(&self) -> BTreeSet<&'static str> {
        review(&self.policy, None).into_iter().map(|finding| finding.id).collect()
    }
}

/// Plays the page's adversaries at its bad example and at its good one.
fn page(id: &str, names: &[&str]) {
    let (bad, good) = (Attacked::at(id, 0), Attacked::at(id, 1));
    assert!(bad.found().contains(id) && !good.found().contains(id));
    for name in names {
        let adversary = named(name).unwrap();
        let exposed = bad.exposed(adversary);
        assert_eq!(exposed.as_ref().and_then(|exposed| exposed.finding), Some(id), "{name}: {exposed:?}");
        assert_eq!(good.exposed(adversary), None, "{name}");
    }
}

/// Guards against an adversary who accuses limits that the review finds sound.
#[test]
fn a_policy_that_the_review_finds_sound_is_exposed_by_nobody() {
    let good = Attacked::at("verify-by-address-only", 1);
    let found = good.found();
    let all = adversaries().iter().filter(|adversary| NAMES.contains(&adversary.name()));
    assert_eq!(all.clone().count(), NAMES.len());
    for adversary in all {
        let exposed = good.exposed(*adversary);
        let finding = exposed.as_ref().and_then(|exposed| exposed.finding);
        assert!(finding.is_none_or(|finding| found.contains(finding)), "{}: {exposed:?}", adversary.name());
    }
}

/// Guards against a chance that a policy's budget bears and that is shown as a mistake, and the other way round.
#[test]
fn what_a_policy_says_is_borne_is_no_mistake() {
    let id = "attempts-die-with-the-code";
    let cycling = named("challenge-cycling").unwrap();
    let bearing = |budget: &str| {
        let policy = parse(&format!("{}\nbudget: {{ guess_per_year: {budget} }}\n", text(id, 0)));
        Attacked::of(policy).exposed(cycling)
    };
    assert!(bearing("10%").is_some_and(|exposed| exposed.finding == Some(id)));
    assert_eq!(bearing("50%"), None);
}

macro_rules! pages {
    ($($test:ident: $id:literal by $names:expr;)*) => {
        $(
            /// Guards against a mistake that the review tells and the bench does not show, and the other way round.
            #[test]
            fn $test() {
                page($id, &$names);
            }
        )*
    };
}

pages! {
    limits_by_address_only: "verify-by-address-only" by ["many-addresses", "ipv6-rotation"];
    narrow_ipv6_keys: "ipv6-too-narrow" by ["ipv6-rotation"];
    belief_in_what_is_beyond_the_proxies: "hops-not-the-proxies" by ["forwarded-spoof"];
    belief_in_anybody: "trusts-everybody" by ["forwarded-spoof", "forwarded-poisoning"];
    keys_in_many_spellings: "key-not-normalized" by ["key-aliases"];
    counters_in_sessions: "counter-in-a-session" by ["session-cycling"];
    tries_that_die_with_the_code: "attempts-die-with-the-code" by ["challenge-cycling"];
    no_limit_by_address: "one-address-tries-everybody" by ["spray"];
    no_limit_over_a_day: "no-long-horizon-cap" by ["low-and-slow"];
    a_success_that_resets: "success-resets-anothers-counter" by ["success-reset"];
}
