//! What is told of the store, of how long requests waited, and of alerts.

use std::fmt;
use std::time::SystemTime;

use prometheus_client::encoding::DescriptorEncoder;
use tidegate::Measures;

use super::write::{Labels, counters, gauge, histogram};
use crate::alerts::AlertsSeen;
use crate::watchman::Condition;

/// Writes whether the store answers.
pub(super) fn condition(to: &mut DescriptorEncoder<'_>, condition: &Condition) -> Result<(), fmt::Error> {
    let up = u64::from(*condition == Condition::Up);
    gauge(to, ("store_up", "1 while the store answers, 0 while it does not"), up)?;
    let since = match condition {
        Condition::Down { since, .. } => {
            since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
        }
        Condition::Up | Condition::Unknown => 0,
    };
    let help = "Since when the store has not answered, 0 while it does";
    gauge(to, ("store_down_since_timestamp_seconds", help), since)
}

/// Writes what a store that is not in this process has counted about its own work; of one that is, the families alone.
pub(super) fn calls(to: &mut DescriptorEncoder<'_>, measures: &Measures) -> Result<(), fmt::Error> {
    let calls = labelled("op", &measures.calls);
    counters(to, ("store_calls", "Calls to the store, by what they asked for"), calls)?;
    let errors = labelled("kind", &measures.errors);
    counters(to, ("store_call_errors", "Calls to the store that brought no answer, by why"), errors)?;
    histogram(
        to,
        ("store_call_duration_seconds", "How long calls to the store took, those that failed among them"),
        &measures.durations,
    )?;
    gauge(to, ("store_queue_length", "Questions that wait for a call to the store"), measures.queued)?;
    let events = labelled("event", &measures.events);
    counters(to, ("store_events", "What else came up with the store, by what it is"), events)
}

/// Writes what became of alerts.
pub(super) fn alerts(to: &mut DescriptorEncoder<'_>, seen: &AlertsSeen) -> Result<(), fmt::Error> {
    let firing = u64::try_from(seen.firing).unwrap_or(u64::MAX);
    gauge(to, ("alerts_firing", "Alerts that go on at this moment"), firing)?;
    let places: Vec<_> = (1..=seen.webhooks.len()).map(|place| place.to_string()).collect();
    let sends = places.iter().zip(&seen.webhooks).flat_map(|(place, (sent, failed))| {
        [("sent", *sent), ("failed", *failed)]
            .map(|(result, count)| (vec![("webhook", place.as_str()), ("result", result)], count))
    });
    counters(
        to,
        ("webhook_sends", "What webhooks were told, by its place in the policy and the result"),
        sends,
    )
}

fn labelled<'a>(
    label: &'static str,
    counts: &'a [(&'static str, u64)],
) -> impl Iterator<Item = (Labels<'a>, u64)> {
    counts.iter().map(move |(name, count)| (vec![(label, *name)], *count))
}
