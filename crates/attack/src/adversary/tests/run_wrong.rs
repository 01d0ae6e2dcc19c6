//! Policies with one deliberate mistake each in how they are run, and the simulation's own figures that show it.

use std::sync::Arc;

use tidegate_algorithms::Span;
use tidegate_policy::{Reading, Surroundings};

use super::super::testing::testbed::DAY;
use super::super::testing::trial::play;
use super::super::{Adversary, Exposed, named};
use super::exposed;
use crate::measure::Measured;
use crate::stage::Stage;
use crate::target::Requests;

/// What a policy says but for how it is run and what happens without its store.
const RULES: &str = "
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
codes:
  otp: { digits: 6, step: 30s, skew_steps: 1 }
keys:
  account: { json: /account, normalize: [trim, lowercase] }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    guesses: otp
    on_store_failure: CHOICE
    limits:
      - name: per-day
        says: Never more than nine in any 24 hours, per account.
        key: account
        sliding_log: { limit: 9, window: 24h }
";

/// A Redis, and the secret that its keys are named under.
const REDIS: &str = "key_secret_file: secret\nstore: { redis: { url: 'redis://127.0.0.1:6379' } }\n";

/// The file of that secret, wherever it is.
struct Secret;

impl Surroundings for Secret {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(b"2ab64cf1a9d70e5c8b13f6d4470e9ab1c2d3e4f5061728394a5b6c7d8e9fa0b1".to_vec())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Plays an adversary for so long at a policy that is run so, if he fits it, and returns what he exposes.
fn shown((run, choice): (&str, &str), adversary: &str, length: Span) -> Option<Exposed> {
    let text = format!("tidegate: 1\n{run}{}", RULES.replace("CHOICE", choice));
    let policy =
        Reading::of(&Secret).parse("policy.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let requests = Requests::new(Arc::new(policy), 0).unwrap();
    let (aim, adversary): (_, &dyn Adversary) = (requests.aim(), named(adversary).unwrap());
    let (stage, play) = (Stage::new(Arc::new(requests), 1, None), play(Span::from_secs(9), length));
    exposed(adversary, &aim, &stage, (&play, &Measured::default()))
}

/// Guards against a mistake of a policy that the default attacks play past: each is told with the figures that show it.
#[test]
fn each_mistake_in_how_a_policy_is_run_is_shown_by_its_figures() {
    let small = "store: { memory: { max_keys: 5000 } }\n";
    let cases = [
        (
            "instances: 4\n".to_owned(),
            "deny",
            ("instances", "memory-not-shared"),
            "4 processes count for themselves: of the same requests at one account 36 passed in 1d where one count lets 9 through",
        ),
        (
            format!("{REDIS}topology: {{ regions: 3 }}\n"),
            "deny",
            ("regions", "regions-count-apart"),
            "3 regions count for themselves: of the same requests at one account 27 passed in 1d where one count lets 9 through",
        ),
        (
            String::new(),
            "deny",
            ("restart", "restart-forgets"),
            "3 restarts in 1d let 36 through at one account, where 9 pass in that time if nothing is forgotten: verify/per-day \
             counts over 1d in memory",
        ),
        (
            REDIS.to_owned(),
            "allow",
            ("outage", "fails-open"),
            "the store was gone for 1m, and 60,000 requests passed uncounted; the chance that one of them guesses the code is 16 %",
        ),
        (
            small.to_owned(),
            "deny",
            ("flood", "table-can-be-filled"),
            "1,000 requests a second about new keys filled the table of 5,000 in 5.50 seconds; people who came then were refused at \
             50 of 50 tries, since newcomers share what is left",
        ),
    ];
    for (run, choice, (adversary, finding), says) in cases {
        let told =
            shown((&run, choice), adversary, DAY).unwrap_or_else(|| panic!("{adversary} shows nothing"));
        assert_eq!((told.finding, told.says.as_str()), (Some(finding), says), "{run}");
    }
}

/// Guards against mistakes that are told of policies that do not make them.
#[test]
fn what_is_run_as_it_should_be_shows_none_of_them() {
    let redis = format!("{REDIS}instances: 4\n");
    let snapshot = "store: { memory: { snapshot: { file: /var/lib/tidegate/counts } } }\n";
    for adversary in ["instances", "regions", "restart", "flood", "race", "skew"] {
        for run in [redis.as_str(), snapshot] {
            assert_eq!(shown((run, "deny"), adversary, DAY), None, "{adversary}: {run}");
        }
    }
    for choice in ["deny", "local"] {
        assert_eq!(shown((&redis, choice), "outage", Span::from_secs(30)), None, "{choice}");
    }
}
