//! The counters as `OpenMetrics` text.
//!
//! Labels are names of the policy and words of this file: nothing a client sends becomes one, but values of Envoy's
//! descriptors where a rule says so (`envoy.metric`).

mod store;
mod write;

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use tidegate::{LimitObserved, Limiter, Measures, Observed, StoreHealth, Usage};

use crate::alerts::{Alerts, AlertsSeen};
use crate::envoy::hits::Series;
use crate::epoch;
use crate::overrides::Seen as Overridden;
use crate::reload::{Reloader, Version};
use crate::snapshot::{Keeper, Seen};
use write::{Labels, counters, gauge, histogram, info};

/// The media type of what [`text`] writes.
pub(super) const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes what a limiter has counted, and what became of reloads and snapshots.
///
/// # Errors
/// When it cannot be written down, which a string never refuses.
pub(super) fn text(limiter: &Limiter, reloader: &Reloader) -> Result<String, fmt::Error> {
    let status = reloader.status();
    let moment = Moment {
        snapshot: reloader.shared.snapshot.as_ref().map(Keeper::seen),
        alerts: reloader.shared.alerts.as_ref().map(Alerts::seen).unwrap_or_default(),
        health: limiter.store_health(),
        store: limiter.store_measures(),
        observed: limiter.observe(),
        memory: limiter.memory_usage(),
        descriptors: reloader.shared.in_force.envoy_hits.seen(),
        reloads: status.reloads(),
        failing: status.error().is_some(),
        version: status.version(),
        overrides: reloader.shared.in_force.overrides.seen(),
    };
    let mut registry = Registry::with_prefix("tidegate");
    registry.register_collector(Box::new(moment));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

/// Everything there is to tell, read at one moment.
#[derive(Debug)]
struct Moment {
    observed: Observed,
    memory: Option<Usage>,
    descriptors: Vec<Series>,
    reloads: (u64, u64),
    failing: bool,
    version: Version,
    snapshot: Option<Seen>,
    alerts: AlertsSeen,
    health: StoreHealth,
    store: Measures,
    overrides: Overridden,
}

impl Collector for Moment {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.of_requests(&mut to)?;
        self.of_limits(&mut to)?;
        let waits = ("wait_seconds", "How long requests are held for leaky buckets, those that are");
        histogram(&mut to, waits, &self.observed.waits)?;
        store::outages(&mut to, &self.health, &self.observed)?;
        store::decisions(&mut to, &self.observed)?;
        store::calls(&mut to, &self.store)?;
        store::alerts(&mut to, &self.alerts)?;
        self.of_descriptors(&mut to)?;
        self.of_policy(&mut to)?;
        store::overrides(&mut to, &self.overrides)?;
        self.of_memory(&mut to)?;
        self.of_snapshot(&mut to)
    }
}

impl Moment {
    fn of_requests(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let requests =
            self.observed.requests.iter().map(|(ruling, count)| (vec![("ruling", *ruling)], *count));
        counters(to, ("requests", "Requests by what became of them"), requests)?;
        let errors = self.observed.store_errors;
        counters(to, ("store_errors", "Checks that the store did not answer"), [(Labels::new(), errors)])?;
        let warnings = self.observed.warnings.iter().map(|(cause, count)| (vec![("cause", *cause)], *count));
        counters(to, ("warnings", "How often each cause of a warning came up; it is logged once"), warnings)
    }

    fn of_limits(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let limits = &self.observed.limits;
        let decisions = limits.iter().flat_map(decisions);
        counters(to, ("decisions", "Answers of each limit, by plan where it has several terms"), decisions)?;
        let of = |limit| vec![("limit", name(limit))];
        let missing = limits.iter().map(|limit| (of(limit), limit.missing_key));
        counters(to, ("missing_key", "Requests that lack the key of a limit"), missing)?;
        let alerts = limits.iter().filter_map(|limit| Some((of(limit), limit.alerts?)));
        counters(
            to,
            ("alerts", "How often the use of a limit has risen to its alert_at, for some key"),
            alerts,
        )?;
        let resets = limits.iter().map(|limit| (of(limit), limit.resets));
        counters(to, ("resets", "How often a limit was told to forget a key"), resets)?;
        let rules = self.observed.rules.iter().map(|(rule, count)| (vec![("rule", &**rule)], *count));
        counters(to, ("rule_matches", "Requests that each rule applied to"), rules)
    }

    fn of_descriptors(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let hits = self.descriptors.iter().flat_map(|series| {
            series.counts.iter().map(|(result, count)| {
                let (domain, descriptor) = (series.domain.as_str(), series.descriptor.as_str());
                (vec![("domain", domain), ("descriptor", descriptor), ("result", *result)], *count)
            })
        });
        counters(to, ("envoy_hits", "Hits of Envoy's descriptors by what became of them"), hits)
    }

    fn of_policy(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (applied, refused) = self.reloads;
        let reloads = [(vec![("result", "applied")], applied), (vec![("result", "refused")], refused)];
        counters(to, ("reloads", "Reloads of the policy by their result"), reloads)?;
        let failing =
            ("policy_reload_failing", "1 while the policy's files are refused or cannot be read, else 0");
        gauge(to, failing, self.failing.into())?;
        gauge(
            to,
            ("policy_loaded_timestamp_seconds", "When the policy in force was loaded"),
            epoch::seconds(self.version.loaded),
        )?;
        let limits = self.observed.limits.len().to_string();
        let policy = [("hash", self.version.hash.as_str()), ("limits", &limits)];
        info(to, ("policy", "The policy in force"), &policy)?;
        info(to, ("build", "This program"), &[("version", env!("CARGO_PKG_VERSION"))])
    }

    fn of_memory(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(memory) = self.memory else { return Ok(()) };
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        gauge(to, ("memory_keys", "Keys that have a state of their own"), count(memory.keys))?;
        gauge(to, ("memory_bytes", "Bytes of the memory store's tables and logs"), count(memory.bytes))?;
        let shared = [(Labels::new(), memory.shared_checks)];
        counters(
            to,
            ("memory_shared_checks", "Checks held against a state that keys without room share"),
            shared,
        )
    }
}

impl Moment {
    fn of_snapshot(&self, to: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(snapshot) = self.snapshot else { return Ok(()) };
        let results = [("written", snapshot.written), ("failed", snapshot.failures)];
        let results = results.map(|(result, count)| (vec![("result", result)], count));
        counters(
            to,
            ("snapshots", "Snapshots of the memory store by whether they could be written"),
            results,
        )?;
        let unusable =
            ("snapshot_unusable", "1 if there was a snapshot at the start that could not be used, else 0");
        gauge(to, unusable, snapshot.unusable.into())?;
        let restored = ("snapshot_restored_keys", "States of keys that were brought back at the start");
        gauge(to, restored, snapshot.restored)?;
        let Some(last) = snapshot.last else { return Ok(()) };
        let at = epoch::seconds(last.at);
        gauge(to, ("snapshot_timestamp_seconds", "When the last snapshot was written"), at)?;
        gauge(to, ("snapshot_bytes", "The length of the last snapshot"), last.bytes)
    }
}

fn name(limit: &LimitObserved) -> &str {
    &limit.name
}

/// Returns a limit's answers, by plan where it has plans, and those under overrides by themselves.
fn decisions(limit: &LimitObserved) -> impl Iterator<Item = (Labels<'_>, u64)> {
    let terms = limit.terms.iter().flat_map(|terms| {
        [("admitted", terms.admitted), ("refused", terms.refused), ("shadow_refused", terms.shadow_refused)]
            .map(|(outcome, count)| {
                let plan = terms.plan.as_deref().map(|plan| ("plan", plan));
                let mut labels = vec![("limit", name(limit)), ("outcome", outcome)];
                labels.extend(plan);
                (labels, count)
            })
    });
    terms.chain([(vec![("limit", name(limit)), ("outcome", "skipped")], limit.skipped)])
}
