//! What is held of a key, on a terminal and as JSON.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tidegate::policy_file::{Limit, Whose, overlay};
use tidegate::{Quota, Span, StoredKey, Timestamp, readable};
use tidegate_server::alerts::rfc3339;
use tidegate_store::algorithms::{Ask, Decision, State, decide};
use tidegate_store_redis::{Held, HeldValue};

/// What is held of a key, with the limit it is of.
pub(super) struct Shown<'s> {
    pub(super) limit: &'s Limit,
    pub(super) key: &'s [String],
    pub(super) stored: &'s StoredKey,
    pub(super) held: &'s Held,
}

/// Returns the key as it was given.
pub(super) fn key(given: &[String]) -> String {
    if given.is_empty() { "everyone together".to_owned() } else { given.join(" ") }
}

/// Returns in a few words what is held.
pub(super) fn in_short(held: &Held) -> String {
    let states = held.value.as_ref().and_then(|value| value.states.as_deref());
    match states {
        Some([(state, quota), ..]) => Counted::of(&decision(state, quota, held.at), held.at).used(),
        _ => "a value that was none of Tidegate's".to_owned(),
    }
}

impl Shown<'_> {
    /// Returns the lines that tell it.
    pub(super) fn lines(&self) -> Vec<String> {
        let name = &self.limit.name;
        let identity = self.stored.identity.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let mut lines = vec![format!("{name}, {}{identity}", key(self.key))];
        match &self.held.value {
            None => lines.push("  nothing is counted".to_owned()),
            Some(HeldValue { states: None, .. }) => lines.push(
                "  the value is none of Tidegate's, so every request on this key is answered as if the store were gone; \
                 `tidegate store reset` removes it"
                    .to_owned(),
            ),
            Some(HeldValue { states: Some(states), .. }) => {
                for (state, quota) in states {
                    lines.extend(self.state_lines(state, quota));
                }
            }
        }
        lines.push(format!("  in Redis: {}", self.place()));
        lines
    }

    fn state_lines(&self, state: &State, quota: &Quota) -> [String; 2] {
        let decision = decision(state, quota, self.held.at);
        let numbers = numbers(quota);
        let whose = match self.whose(quota) {
            Some(Whose::Everybody) => String::new(),
            Some(whose) => format!(", of {}", whose.shown().unwrap_or_default()),
            None => ", which the policy no longer says: the next request carries it over, unless an override of a running \
                     gateway is why (`tidegate override` lists them)"
                .to_owned(),
        };
        let words = format!("  {}", Counted::of(&decision, self.held.at).words());
        [words, format!("  counted under {numbers}{whose}")]
    }

    /// Returns whose terms some numbers are now, if the policy still has them.
    fn whose(&self, quota: &Quota) -> Option<Whose<'_>> {
        self.limit.variants().find(|(_, terms)| terms.quota == *quota).map(|(whose, _)| whose)
    }

    /// Returns the name of a shared counter, which is made of what requests say.
    fn counter(&self) -> Option<String> {
        let name = || String::from_utf8_lossy(&self.held.name).escape_debug().to_string();
        self.stored.is_counter.then(name)
    }

    fn place(&self) -> String {
        let mut place = self.counter().unwrap_or_else(|| self.held.name_in_hex());
        if let Some(value) = &self.held.value {
            place = format!("{place}, a value of {} bytes", value.length);
            if let Some(bytes) = value.bytes {
                place = format!("{place}, {bytes} with all around it");
            }
            place = match value.forgotten_in {
                Some(ttl) => format!("{place}, forgotten in {}", readable(span(ttl))),
                None if self.stored.is_counter && value.states.is_some() => {
                    format!("{place}, without an end; the next request gives it one")
                }
                None => format!("{place}; when it is forgotten is told to a user with the right +pttl"),
            };
        }
        place
    }

    /// Returns the same for machines.
    pub(super) fn json(&self) -> Value {
        let value = self.held.value.as_ref();
        let states = value.and_then(|value| value.states.as_ref());
        let states: Option<Vec<Value>> =
            states.map(|states| states.iter().map(|(state, quota)| self.state_json(state, quota)).collect());
        json!({
            "limit": self.limit.name,
            "key": self.stored.identity,
            "counted": value.is_some(),
            "foreign": value.is_some_and(|value| value.states.is_none()),
            "states": states.unwrap_or_default(),
            "shared_counter": self.counter(),
            "redis_key_hex": self.held.name_in_hex(),
            "value_bytes": value.map(|value| value.length),
            "bytes": value.and_then(|value| value.bytes),
            "ttl_millis": value.and_then(|value| value.forgotten_in).map(|ttl| span(ttl).as_micros() / 1_000),
        })
    }

    fn state_json(&self, state: &State, quota: &Quota) -> Value {
        let decision = decision(state, quota, self.held.at);
        let whose = self.whose(quota);
        let micros = |span: Span| (span != Span::MAX).then(|| span.as_micros());
        json!({
            "algorithm": quota.algorithm(),
            "numbers": numbers(quota),
            "in_policy": whose.is_some(),
            "plan": whose.and_then(Whose::shown),
            "limit": decision.limit,
            "used": decision.limit.saturating_sub(decision.remaining),
            "remaining": decision.remaining,
            "next_unit_micros": micros(decision.next_unit),
            "reset_after_micros": micros(decision.reset_after),
        })
    }
}

/// What is counted, in numbers: of a state that is here, or of an answer of somebody who has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) limit: u64,
    pub(super) remaining: u64,
    /// How long until one more is admitted, if ever.
    pub(super) next_unit: Option<Span>,
    /// How long until nothing is left of it.
    pub(super) reset_after: Span,
    /// When that was so.
    pub(super) at: Timestamp,
}

impl Counted {
    fn of(decision: &Decision, at: Timestamp) -> Self {
        Self {
            limit: decision.limit.into(),
            remaining: decision.remaining.into(),
            next_unit: (decision.next_unit != Span::MAX).then_some(decision.next_unit),
            reset_after: decision.reset_after,
            at,
        }
    }

    /// Returns `2 of 4 used`.
    pub(super) fn used(self) -> String {
        format!("{} of {} used", self.limit.saturating_sub(self.remaining), self.limit)
    }

    /// Returns that with what is left, and until when.
    pub(super) fn words(self) -> String {
        let mut words = format!("{}, {} left", self.used(), self.remaining);
        let Some(next_unit) = self.next_unit else { return words + "; no more, ever" };
        if self.remaining == 0 {
            words.push_str("; one more in ");
            words.push_str(&readable(next_unit));
        }
        words.push_str("; as if new in ");
        words.push_str(&readable(self.reset_after));
        words.push_str(", at ");
        words.push_str(&instant(self.at, self.reset_after));
        words
    }
}

/// Returns the numbers of a state at an instant, nothing asked.
fn decision(state: &State, quota: &Quota, at: Timestamp) -> Decision {
    decide(quota, Some(state), Ask::units(0), at).decision
}

/// Returns an algorithm with its numbers, as a policy writes them.
fn numbers(quota: &Quota) -> String {
    format!("{}: {}", quota.algorithm(), overlay::numbers(quota))
}

fn span(duration: Duration) -> Span {
    Span::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// Writes the instant that is `after` another in UTC.
fn instant(at: Timestamp, after: Span) -> String {
    let micros = Duration::from_micros(at.as_micros().saturating_add(after.as_micros()));
    SystemTime::UNIX_EPOCH.checked_add(micros).map_or_else(|| "the end of time".to_owned(), rfc3339)
}
