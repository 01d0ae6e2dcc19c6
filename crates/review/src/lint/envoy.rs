//! What Envoy asks about, and what it can and cannot do with the answer.

use tidegate_algorithms::{Quota, Span};
use tidegate_policy::{Count, EntryPattern, OnDeny, OnStoreFailure, Place, Rule, ValuePattern};

use super::Lint;
use super::draft::Draft;
use super::reach;
use super::view::{Subject, View};
use crate::finding::Severity;

/// How long Envoy waits for an answer unless it is told otherwise.
const ENVOY_WAITS: Span = Span::from_millis(20);
/// Entries that Envoy writes by itself, or that say what is asked for rather than who asks.
const NO_CLAIMS: [&str; 8] = [
    "generic_key",
    "source_cluster",
    "destination_cluster",
    "remote_address",
    "masked_remote_address",
    "path",
    "method",
    "route",
];

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "envoy-asks-nothing",
        summary: "rules are for descriptors and Envoy cannot ask, or Envoy asks and no rule is for descriptors",
        find: asks_nothing,
    },
    Lint {
        id: "address-told-by-envoy",
        summary: "clients are told apart by an address that Envoy tells, and its configuration decides who writes it",
        find: told_address,
    },
    Lint {
        id: "unlimited-by-a-claim",
        summary: "whoever says so in a request is not limited",
        find: unlimited,
    },
    Lint {
        id: "outcome-never-told",
        summary: "only failures are to count, and Envoy never tells what became of a request",
        find: outcome,
    },
    Lint {
        id: "queue-nobody-waits-in",
        summary: "a queue holds requests back, and what Envoy asks about cannot be held",
        find: queue,
    },
    Lint {
        id: "deny-passes-envoy",
        summary: "a rule denies without the store, and Envoy lets pass what it is answered then",
        find: passes,
    },
    Lint {
        id: "slower-than-envoy-waits",
        summary: "an answer may take longer than Envoy waits for it",
        find: slow,
    },
];

/// Returns the rules for descriptors.
fn rules<'p>(view: &View<'p>) -> impl Iterator<Item = Subject<'p>> + use<'p> {
    view.rules().filter(|subject| reach::is_for_descriptors(subject.rule))
}

fn asks_nothing(view: &View<'_>) -> Vec<Draft> {
    let policy = view.policy;
    let has_face = policy.gateway.is_some() || policy.api.is_some() || policy.resp.is_some();
    match (rules(view).next(), &policy.envoy) {
        (Some(subject), None) if has_face => {
            let message = format!(
                "{} is for Envoy's descriptors, and the policy has no `envoy` face: nobody can ask about one",
                subject.rule.name
            );
            let remedy = "write `envoy: { listen: 127.0.0.1:8082 }`";
            vec![Draft::of_rule(subject, Severity::Warning, message, remedy)]
        }
        (None, Some(_)) => {
            let message = "Envoy asks, and no rule is for descriptors: every answer is that it may pass";
            let remedy = "write a rule with `match: { domain: …, descriptor: [ … ] }`";
            vec![Draft::of_policy(Place::START, Severity::Warning, message, remedy)]
        }
        _ => Vec::new(),
    }
}

fn told_address(view: &View<'_>) -> Vec<Draft> {
    let mut limits =
        rules(view).flat_map(|subject| subject.rule.limits.iter().map(move |limit| (subject, limit)));
    let first = limits.find(|(_, limit)| limit.key.parts().flatten().any(|place| reach::is_address(&place)));
    let Some((subject, limit)) = first else { return Vec::new() };
    let message = format!(
        "{} counts on the address that Envoy tells: without `use_remote_address: true`, or with another \
         `xff_num_trusted_hops` than there are proxies before it, clients write it themselves",
        limit.name
    );
    let remedy = "look at both in Envoy's connection manager";
    vec![Draft::of_limit((subject, limit), Severity::Note, message, remedy)]
}

fn unlimited(view: &View<'_>) -> Vec<Draft> {
    let claim = |rule: &Rule| {
        let entries = rule.matches.iter().filter_map(|matcher| matcher.descriptor.as_ref());
        entries.flat_map(|pattern| pattern.entries.iter().flatten()).find(|entry| is_claim(entry)).cloned()
    };
    let mut drafts = Vec::new();
    for subject in rules(view).filter(|subject| subject.rule.envoy.unlimited) {
        let Some(entry) = claim(subject.rule) else { continue };
        let message = format!(
            "{} limits nobody who has {entry}: who may send that? An entry that Envoy takes from a header field is written \
             by any client",
            subject.rule.name
        );
        let remedy = format!(
            "let Envoy remove the field from what clients send or set {} itself; or limit these as well, by more",
            entry.key
        );
        drafts.push(Draft::of_rule(subject, Severity::Warning, message, remedy));
    }
    drafts
}

fn is_claim(entry: &EntryPattern) -> bool {
    entry.value != ValuePattern::Any && !NO_CLAIMS.contains(&entry.key.as_str())
}

fn outcome(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in rules(view) {
        for limit in subject.rule.limits.iter().filter(|limit| matches!(limit.count, Count::Failures { .. }))
        {
            let message = format!(
                "{} is to count failures only, and Envoy never tells an outcome: every request stays charged",
                limit.name
            );
            let remedy =
                "count every request (leave `count` out), or guard the endpoint by the gateway or the layer";
            drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
        }
    }
    drafts
}

fn queue(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in rules(view) {
        for limit in &subject.rule.limits {
            let room = limit.variants().find_map(|(_, terms)| match terms.quota {
                Quota::LeakyBucket(bucket) if bucket.queue() > 0 => Some(bucket.queue()),
                _ => None,
            });
            let Some(room) = room else { continue };
            let message = format!(
                "{} has a queue of {room}, and what Envoy asks about cannot wait: whoever would is refused",
                limit.name
            );
            let remedy = "take a token_bucket, which lets a burst pass at once";
            drafts.push(Draft::of_limit((subject, limit), Severity::Note, message, remedy));
        }
    }
    drafts
}

fn passes(view: &View<'_>) -> Vec<Draft> {
    let lets = view.policy.envoy.as_ref().is_some_and(|envoy| envoy.on_deny == OnDeny::Unavailable);
    let denies = |subject: &Subject<'_>| {
        subject.rule.on_store_failure == OnStoreFailure::Deny && !subject.rule.limits.is_empty()
    };
    let first = rules(view).find(denies).filter(|_| lets);
    first
        .map(|subject| {
            let message = format!(
                "{} denies when the store is gone, and Envoy is answered UNAVAILABLE then, which it lets pass unless its filter \
                 says `failure_mode_deny: true`",
                subject.rule.name
            );
            let remedy = "leave `on_deny` out, so that Envoy is answered OVER_LIMIT";
            Draft::of_rule(subject, Severity::Warning, message, remedy)
        })
        .into_iter()
        .collect()
}

fn slow(view: &View<'_>) -> Vec<Draft> {
    let timeout =
        view.policy.envoy.as_ref().map(|envoy| envoy.timeout).filter(|timeout| *timeout >= ENVOY_WAITS);
    timeout
        .map(|timeout| {
            let message = format!(
                "an answer may take {timeout}, and Envoy waits {ENVOY_WAITS} unless its filter says `timeout`: what comes later \
                 has passed without an answer"
            );
            let remedy = "write a `timeout` below that of Envoy's filter, such as 12ms";
            Draft::of_policy(Place::START, Severity::Note, message, remedy)
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use tidegate_policy::Reads;

    use super::NO_CLAIMS;
    use crate::lint::reach::{self, Kind};
    use crate::test_policy::policy;

    /// Guards against a claim that is an address, and against an address that is somebody.
    #[test]
    fn an_entry_with_the_client_s_address_is_an_address() {
        let policy = policy(
            "
tidegate: 1
rules:
  - name: all
    match: { domain: shop }
    limits:
      - { name: a, says: x, key: { descriptor: remote_address }, fixed_window: { limit: 1, window: 1m } }
      - { name: b, says: x, key: { descriptor: masked_remote_address }, fixed_window: { limit: 1, window: 1m } }
      - { name: c, says: x, key: { descriptor: user }, fixed_window: { limit: 1, window: 1m } }
      - { name: d, says: x, key: { descriptor: generic_key }, fixed_window: { limit: 1, window: 1m } }
",
        );
        let kinds: Vec<Kind> = policy
            .limits()
            .flat_map(|limit| {
                limit.key.parts().flatten().map(|place| reach::kind(&place)).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(kinds, [Kind::Address, Kind::Address, Kind::Somebody, Kind::Few]);
        let names = policy.limits().flat_map(|limit| limit.key.parts().flatten().collect::<Vec<_>>());
        let read =
            names.filter(|place| matches!(place.reads, Reads::Descriptor(name) if NO_CLAIMS.contains(&name)));
        assert_eq!(read.count(), 3);
    }
}
