//! Explanations as JSON. Counts are numbers; a rate is its units and microseconds.

use serde_json::{Map, Value, json};
use tidegate_algorithms::LongRun;
use tidegate_policy::{ClientSees, Mode};

use super::{Admits, Explained, ExplainedRule};
use crate::guess::Guess;

impl ExplainedRule<'_> {
    /// Writes the rule with its limits as JSON.
    pub fn to_json(&self) -> Value {
        let mut object = self.head_json();
        let limits: Vec<Value> =
            self.limits.iter().map(|limit| Value::Object(limit.to_json(&limit.admits))).collect();
        object.insert("limits".to_owned(), Value::Array(limits));
        Value::Object(object)
    }

    /// Writes what is so for all limits of the rule.
    pub(crate) fn head_json(&self) -> Map<String, Value> {
        let rule = self.rule;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("name", json!(rule.name));
        put("class", json!(rule.class.name()));
        put("applies_to", json!(self.applies));
        if let Some(refuse) = &rule.refuse {
            put("refuse", json!({ "status": refuse.status.as_u16(), "because": refuse.because }));
        }
        if rule.envoy.unlimited {
            put("unlimited", json!(true));
        }
        if let Some(code) = self.code {
            put(
                "guesses",
                json!({
                    "code": code.name,
                    "digits": code.digits,
                    "alphabet": code.alphabet,
                    "valid": code.valid_at_once(),
                    "chance_of_one": Guess::of(code).map(|guess| guess.chance_of_one()).ok(),
                    "attempts": code.attempts,
                    "carry_over": code.carry_over,
                }),
            );
        }
        object
    }
}

impl Explained<'_> {
    /// Writes the limit, with what it is said to admit.
    pub(crate) fn to_json(&self, admits: &Admits) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("name", json!(self.name()));
        put("words", json!(self.words));
        put("says", json!(self.terms.says));
        put("note", json!(self.terms.note));
        put("algorithm", json!(self.terms.quota.algorithm()));
        put("numbers", json!(self.terms.numbers));
        put("counts", json!(self.counts()));
        put("mode", json!(if self.limit.mode == Mode::Shadow { "shadow" } else { "enforce" }));
        put("key", json!(self.limit.key.names().collect::<Vec<_>>()));
        put("at_once", count(admits.at_once));
        put("window", json!(admits.window.to_string()));
        put("in_window", count(admits.in_window()));
        let spans: Map<String, Value> =
            admits.in_any.iter().map(|(span, most)| (span.to_string(), count(*most))).collect();
        put("half_open", Value::Object(spans));
        if let Some(start) = admits.start_in_window {
            put("start_in_window", count(start));
        }
        put("long_run", rate(admits.long_run));
        put("state_bytes", json!(admits.state_bytes));
        put(
            "refusal",
            json!({
                "client_sees": sees(self.refusal.sees),
                "status": self.refusal.status,
                "fields": self.refusal.fields,
                "says": self.refusal.says,
            }),
        );
        put("without_store", self.gone_json());
        object
    }

    fn gone_json(&self) -> Value {
        let share = self.gone.share.as_ref().map(|share| {
            json!({
                "instances": share.instances,
                "words": share.words,
                "limit": crate::figures::written(&share.quota),
                "in_window_together": count(share.in_window_together),
            })
        });
        json!({ "choice": self.gone.word(), "says": self.gone.says(), "share": share })
    }
}

/// Writes a count; one too large for JSON as the largest.
pub(crate) fn count(count: u128) -> Value {
    json!(u64::try_from(count).unwrap_or(u64::MAX))
}

fn rate(rate: LongRun) -> Value {
    json!({ "units": rate.units, "micros": rate.micros })
}

/// Returns what a client sees as the policy file writes it.
pub(crate) fn sees(sees: ClientSees) -> &'static str {
    match sees {
        ClientSees::All => "all",
        ClientSees::RetryAfter => "retry_after",
        ClientSees::Nothing => "nothing",
    }
}
