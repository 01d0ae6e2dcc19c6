//! What a test file expects, held against what a client gets and what the decision API says.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidegate::Span;
use tidegate::policy_file::suite::{Expect, Expectation, Named, Step};
use tidegate::policy_file::{ClientSees, Count, HeaderStyle, Limit, Policy, Rule};

use super::wire::Reply;

/// What nobody outside the gateway can see.
const INVISIBLE: [&str; 3] = ["matches", "keys", "cost"];

/// What was held against an example.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Steps whose requests cannot be made over HTTP.
    pub(super) skipped: usize,
    met: BTreeSet<String>,
    held: BTreeSet<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.skipped += other.skipped;
        self.met.extend(other.met);
        self.held.extend(other.held);
    }

    /// Notes one expectation of one request, and whether it was held.
    pub(super) fn note(&mut self, place: &str, name: &str, held: bool) {
        let what = format!("{place}: {name}");
        if held {
            self.held.insert(what.clone());
        }
        self.met.insert(what);
    }

    /// Returns the expectations that could have been held and were not.
    pub(super) fn left_out(&self) -> Vec<&str> {
        let left = self.met.difference(&self.held).map(String::as_str);
        left.filter(|what| !INVISIBLE.iter().any(|name| what.ends_with(&format!(": {name}")))).collect()
    }
}

/// The request that is looked at.
pub(super) struct Seen<'a> {
    pub(super) policy: &'a Policy,
    pub(super) step: &'a Step,
    /// Where its step stands, for messages.
    pub(super) place: &'a str,
}

/// What is known of its end.
pub(super) enum Told<'r> {
    /// What its client got, if it stayed; whether it passed; and how long it was held.
    Wire { reply: Option<&'r Reply>, passed: bool, delay: Span },
    /// What the API makes of the same request, asked alone or after the request passed, or did not.
    Look { verdict: &'r Value, passed: Option<bool> },
}

/// Holds each expectation that shows.
///
/// # Panics
/// When one is not met.
pub(super) fn hold(expect: &Expect, seen: &Seen<'_>, told: &Told<'_>, tally: &mut Tally) {
    for (_, expectation) in &expect.list {
        if matches!(expectation, Expectation::Admitted(_)) {
            continue;
        }
        let held = match told {
            Told::Wire { reply, passed: true, delay } => seen.passed(expectation, *reply, *delay),
            Told::Wire { reply: Some(reply), .. } => seen.refused(expectation, reply),
            Told::Wire { reply: None, .. } => panic!("{}: neither passed nor refused", seen.place),
            Told::Look { verdict, passed: Some(true) } => seen.charged(expectation, verdict),
            Told::Look { verdict, .. } => seen.looked(expectation, verdict),
        };
        tally.note(seen.place, expectation.name(), held);
    }
}

impl<'a> Seen<'a> {
    /// Holds an expectation against the answer of the service behind.
    fn passed(&self, expectation: &Expectation, reply: Option<&Reply>, delay: Span) -> bool {
        let place = self.place;
        match (expectation, reply) {
            (Expectation::Allowed(wanted), _) => assert!(*wanted, "{place}: it passed"),
            (Expectation::Delay(wanted), _) => assert_eq!(delay, *wanted, "{place}: delay"),
            (Expectation::RefusedBy(wanted), _) => assert_eq!(wanted, &[], "{place}: it passed"),
            (Expectation::Status(wanted), Some(reply)) => {
                assert_eq!(reply.status(), wanted.as_u16(), "{place}: {reply:?}");
            }
            (Expectation::RetryAfter(_) | Expectation::Because(_), _) => panic!("{place}: it passed"),
            (Expectation::Remaining(each), Some(reply)) => {
                let shown = |(limit, units): &(Named, u32)| {
                    let shows = self.shows(limit) && !self.gives_back(limit);
                    if shows {
                        assert_eq!(reply.remaining(&limit.name), Some(*units), "{place}: {reply:?}");
                    }
                    shows
                };
                return each.iter().filter(|one| shown(one)).count() == each.len();
            }
            _ => return false,
        }
        true
    }

    /// Holds an expectation against an answer of the gateway's own.
    fn refused(&self, expectation: &Expectation, reply: &Reply) -> bool {
        let place = self.place;
        match expectation {
            Expectation::Allowed(wanted) => assert!(!*wanted, "{place}: {reply:?}"),
            Expectation::Status(wanted) => {
                assert_eq!(reply.status(), wanted.as_u16(), "{place}: {reply:?}");
            }
            Expectation::RetryAfter(wanted) if self.tells_when() => {
                let seconds = wanted.map(|wait| wait.ceil_secs().max(1).to_string());
                assert_eq!(reply.field("retry-after"), seconds.as_deref(), "{place}: {reply:?}");
            }
            Expectation::Limit(wanted) => {
                let told = wanted.as_ref().filter(|limit| self.tells_all(limit));
                assert_eq!(
                    reply.problem("limit"),
                    json!(told.map(|limit| &limit.name)),
                    "{place}: {reply:?}"
                );
                return told.is_some() || wanted.is_none();
            }
            Expectation::Says(wanted) if !reply.problem("says").is_null() => {
                assert_eq!(reply.problem("says"), json!(wanted), "{place}");
            }
            Expectation::Because(wanted) if reply.status() != 429 => {
                assert_eq!(reply.problem("detail"), json!(wanted), "{place}");
            }
            Expectation::RefusedBy(wanted) if wanted.iter().all(|limit| self.tells_all(limit)) => {
                assert_eq!(reply.problem("violated-policies"), json!(names(wanted)), "{place}");
            }
            _ => return false,
        }
        true
    }

    /// Holds an expectation against a look at a request that has passed and was charged: what is left, and what applies.
    fn charged(&self, expectation: &Expectation, verdict: &Value) -> bool {
        match expectation {
            Expectation::Remaining(each) if each.iter().any(|(limit, _)| self.gives_back(limit)) => false,
            Expectation::Remaining(_) | Expectation::Skipped(_) | Expectation::Plan(_) => {
                self.looked(expectation, verdict)
            }
            _ => false,
        }
    }

    /// Holds an expectation against a look at a request that has not taken anything.
    fn looked(&self, expectation: &Expectation, verdict: &Value) -> bool {
        let decisions = verdict["decisions"].as_array().unwrap();
        let refusing = |shadow: bool| {
            let refuse = decisions.iter().filter(|one| one["allowed"] == false && one["shadow"] == shadow);
            refuse.map(|one| one["limit"].clone()).collect::<Value>()
        };
        let of = |limit: &str| decisions.iter().find(|one| one["limit"] == limit).unwrap_or(&Value::Null);
        let (got, wanted): (Value, Value) = match expectation {
            Expectation::Allowed(wanted) => (verdict["allowed"].clone(), json!(wanted)),
            Expectation::Status(wanted) => (self.status(verdict), json!(wanted.as_u16())),
            Expectation::Limit(wanted) => {
                (verdict["limit"].clone(), json!(wanted.as_ref().map(|limit| &limit.name)))
            }
            Expectation::Says(wanted) => {
                (of(verdict["limit"].as_str().unwrap_or_default())["says"].clone(), json!(wanted))
            }
            Expectation::RetryAfter(wanted) => {
                assert_eq!(verdict["never"], wanted.is_none(), "{}: {verdict}", self.place);
                (verdict["retry_after_micros"].clone(), json!(wanted.map(Span::as_micros)))
            }
            Expectation::Delay(wanted) => (verdict["delay_micros"].clone(), json!(wanted.as_micros())),
            Expectation::RefusedBy(wanted) => (refusing(false), json!(names(wanted))),
            Expectation::WouldRefuse(wanted) => (refusing(true), json!(names(wanted))),
            Expectation::Skipped(wanted) => (verdict["skipped"].clone(), json!(names(wanted))),
            Expectation::Remaining(each) => {
                pairs(each, |limit, units| (of(limit)["remaining"].clone(), json!(units)))
            }
            Expectation::Plan(each) => pairs(each, |limit, plan| (of(limit)["plan"].clone(), json!(plan))),
            _ => return false,
        };
        assert_eq!(got, wanted, "{}: {} of {verdict}", self.place, expectation.name());
        true
    }

    /// Returns the status that the gateway answers with after such a verdict.
    fn status(&self, verdict: &Value) -> Value {
        match verdict["ruling"].as_str().unwrap() {
            "refuse" => json!(429),
            "bad_request" => json!(400),
            "denied" => verdict["denial"]["status"].clone(),
            "store_down" => json!(503),
            _ => json!(self.step.answer.status.as_u16()),
        }
    }

    fn find(&self, named: &Named) -> (&'a Rule, &'a Limit) {
        let mut rules = self.policy.rules.iter().chain(&self.policy.fallback);
        let found =
            rules.find_map(|rule| Some((rule, rule.limits.iter().find(|limit| limit.name == named.name)?)));
        found.unwrap_or_else(|| panic!("{}: the policy has no {}", self.place, named.name))
    }

    /// Returns whether clients are told all about a limit.
    fn tells_all(&self, limit: &Named) -> bool {
        let (rule, limit) = self.find(limit);
        limit.client_sees.unwrap_or(rule.client_sees) == ClientSees::All
    }

    /// Returns whether every refusal tells when to come back.
    fn tells_when(&self) -> bool {
        let mut rules = self.policy.rules.iter().chain(&self.policy.fallback);
        rules.all(|rule| {
            let limits = rule.limits.iter().map(|limit| limit.client_sees.unwrap_or(rule.client_sees));
            limits.chain([rule.client_sees]).all(|sees| sees != ClientSees::Nothing)
        })
    }

    /// Returns whether a field says what is left of a limit.
    fn shows(&self, limit: &Named) -> bool {
        self.tells_all(limit) && self.policy.headers.contains(&HeaderStyle::Ietf)
    }

    /// Returns whether a limit gives back at the step's answer what it was charged with: the client, and whoever looks
    /// afterwards, then sees other numbers than the verdict's.
    fn gives_back(&self, limit: &Named) -> bool {
        let answer = &self.step.answer;
        match &self.find(limit).1.count {
            Count::Failures { success, .. } => {
                answer.after.is_some() && success.covers(answer.status, &answer.headers)
            }
            Count::Every => false,
        }
    }
}

fn names(named: &[Named]) -> Vec<&str> {
    named.iter().map(|one| one.name.as_str()).collect()
}

/// Returns what there is of several limits and what is wanted of them, each as a list.
fn pairs<T>(each: &[(Named, T)], pair: impl Fn(&str, &T) -> (Value, Value)) -> (Value, Value) {
    let (got, wanted): (Vec<_>, Vec<_>) = each.iter().map(|(limit, what)| pair(&limit.name, what)).unzip();
    (Value::Array(got), Value::Array(wanted))
}
