//! What is told of the store, of how long requests waited, and of alerts.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use tidegate::{Measures, Observed, StoreHealth};

use super::write::{Labels, counters, gauge, gauges, histogram};
use crate::alerts::AlertsSeen;
use crate::epoch;
use crate::overrides::Seen as Overridden;

/// Writes whether the store answers, and what became of requests while it did not.
pub(super) fn outages(
    to: &mut DescriptorEncoder<'_>,
    health: &StoreHealth,
    observed: &Observed,
) -> Result<(), fmt::Error> {
    let is_down = health.is_down();
    gauge(to, ("store_up", "1 while the store answers, 0 while it does not"), u64::from(!is_down))?;
    let since = match health {
        StoreHealth::Down { since, .. } => epoch::seconds(*since),
        StoreHealth::Up => 0,
    };
    let help = "Since when the store has not answered, 0 while it does";
    gauge(to, ("store_down_since_timestamp_seconds", help), since)?;
    let help = "1 while requests are decided without asking the store, but for probes; else 0";
    gauge(to, ("store_breaker_open", help), is_down.into())?;
    let outages = [(Labels::new(), observed.outages)];
    counters(to, ("store_outages", "How often the store was lost"), outages)?;
    let without = labelled("mode", &observed.without_store);
    counters(to, ("without_store", "Requests decided without the store, by their rules' choice"), without)
}

/// Writes how long decisions took, and how many needed none of the store's.
pub(super) fn decisions(to: &mut DescriptorEncoder<'_>, observed: &Observed) -> Result<(), fmt::Error> {
    let help =
        "How long decisions of a store outside of this process took, those that brought none among them";
    histogram(to, ("decision_duration_seconds", help), &observed.decisions)?;
    let hits = [(Labels::new(), observed.remembered)];
    let help = "Requests refused from the memory of a refusal a moment ago, without asking the store";
    counters(to, ("denial_memory_hits", help), hits)
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

/// Writes how many overrides there are, by limits of the policy.
pub(super) fn overrides(to: &mut DescriptorEncoder<'_>, seen: &Overridden) -> Result<(), fmt::Error> {
    let limits = seen.limits.iter().map(|(limit, count)| (vec![("limit", limit.as_str())], *count));
    gauges(to, ("overrides", "Overrides of each limit in force at run time"), limits)?;
    gauge(to, ("overrides_idle", "Overrides that apply to nothing in this process's policy"), seen.idle)
}
