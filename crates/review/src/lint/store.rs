//! Where counts are kept: how often, and what is left when they are lost.

use tidegate_policy::{OnStoreFailure, StoreChoice};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{HOUR, Subject, View, loosest};
use crate::figures::spoken_count;
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[
    Lint { id: "fails-open", summary: "whoever can stop the store has no limits", find: fails_open },
    Lint {
        id: "memory-not-shared",
        summary: "each instance counts for itself, and each lets the whole limit through",
        find: not_shared,
    },
    Lint {
        id: "store-not-read",
        summary: "another program's file names the Redis of its counts, and Tidegate counts in memory",
        find: elsewhere,
    },
    Lint {
        id: "regions-count-apart",
        summary: "each region counts for itself, and each lets the whole limit through",
        find: regions,
    },
    Lint {
        id: "table-can-be-filled",
        summary: "one address can write so many keys that newcomers share what is left",
        find: fillable,
    },
    Lint { id: "restart-forgets", summary: "a restart hands out fresh quotas", find: forgets },
    Lint {
        id: "local-shares-too-small",
        summary: "a limit has fewer units than instances, so that their shares together are more than the limit",
        find: small_shares,
    },
    Lint {
        id: "local-without-instances",
        summary: "each instance takes the whole limit while the store is gone",
        find: no_instances,
    },
];

fn guarded<'p>(view: &View<'p>) -> impl Iterator<Item = Subject<'p>> + use<'p> {
    view.rules().filter(|subject| subject.class().is_guarded() && !subject.rule.limits.is_empty())
}

fn fails_open(view: &View<'_>) -> Vec<Draft> {
    let open = guarded(view).filter(|subject| subject.rule.on_store_failure == OnStoreFailure::Allow);
    let (severity, when) = if view.is_in_memory() {
        (Severity::Warning, "once counts are kept in a store that can be lost")
    } else {
        (Severity::Error, "while the store does not answer")
    };
    open.map(|subject| {
        Draft::of_rule(
            subject,
            severity,
            format!(
                "{} lets everything through {when}: any number of requests, uncounted",
                subject.rule.name
            ),
            "write `on_store_failure: deny`, or `local` with `instances`",
        )
    })
    .collect()
}

/// Returns a finding for each rule that guards something, or for the first rule when none does.
fn each_or_first(
    view: &View<'_>,
    guards: Severity,
    say: impl Fn(Subject<'_>) -> (String, String),
) -> Vec<Draft> {
    let draft = |subject: Subject<'_>, severity| {
        let (message, remedy) = say(subject);
        Draft::of_rule(subject, severity, message, remedy)
    };
    let counts = |subject: &Subject<'_>| !subject.rule.limits.is_empty();
    let drafts: Vec<Draft> = guarded(view).filter(counts).map(|subject| draft(subject, guards)).collect();
    if drafts.is_empty() {
        return view
            .rules()
            .find(counts)
            .map(|subject| draft(subject, Severity::Warning))
            .into_iter()
            .collect();
    }
    drafts
}

/// Returns what so many copies of a rule's limits let through.
fn copied(subject: Subject<'_>, copies: u32, what: &str) -> String {
    let first = subject.rule.limits.first();
    let figure = first.map(|limit| {
        let whole = u128::from(loosest(limit).nominal());
        let all = whole.saturating_mul(copies.into());
        format!(": {} lets {} through where {} is meant", limit.name, spoken_count(all), spoken_count(whole))
    });
    format!("each of {copies} {what} counts {} for itself{}", subject.rule.name, figure.unwrap_or_default())
}

fn not_shared(view: &View<'_>) -> Vec<Draft> {
    let instances = view.policy.instances;
    if !view.is_in_memory() || instances < 2 {
        return Vec::new();
    }
    each_or_first(view, Severity::Error, |subject| {
        let remedy = "keep counts in Redis (`store: { redis: … }`), or divide every limit by the instances";
        (copied(subject, instances, "instances"), remedy.to_owned())
    })
}

fn elsewhere(view: &View<'_>) -> Vec<Draft> {
    let told = view.policy.store_elsewhere.iter().filter(|_| view.is_in_memory());
    told.map(|told| Draft::of_policy(told.place, Severity::Warning, &told.message, &told.remedy)).collect()
}

fn regions(view: &View<'_>) -> Vec<Draft> {
    let regions = view.policy.topology.regions;
    if regions < 2 {
        return Vec::new();
    }
    each_or_first(view, Severity::Warning, |subject| {
        let remedy = "bind each account to one region, or divide every limit by the regions";
        (copied(subject, regions, "regions"), remedy.to_owned())
    })
}

fn fillable(view: &View<'_>) -> Vec<Draft> {
    let StoreChoice::Memory(memory) = &view.policy.store else { return Vec::new() };
    let room = memory.max_keys.map_or_else(
        || "the million that there is room for".to_owned(),
        |keys| {
            format!(
                "the {} that `max_keys` has room for",
                spoken_count(u128::try_from(keys).unwrap_or(u128::MAX))
            )
        },
    );
    let mut drafts = Vec::new();
    for subject in guarded(view) {
        let met = view.met_by(subject);
        if met.iter().any(|limit| reach::holds_for_address(&limit.key)) {
            continue;
        }
        let written =
            subject.rule.limits.iter().find(|limit| {
                reach::has(&limit.key, Kind::Somebody) || reach::has(&limit.key, Kind::Renewable)
            });
        let Some(limit) = written else { continue };
        let message = format!(
            "one address can write as many keys of {} as it likes: after {room}, newcomers share one key, and are refused together",
            limit.name
        );
        let remedy = "add a limit with `client_ip` as its key to the rule, or a rule of class edge over it";
        drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
    }
    drafts
}

fn forgets(view: &View<'_>) -> Vec<Draft> {
    let StoreChoice::Memory(memory) = &view.policy.store else { return Vec::new() };
    if memory.snapshot.is_some() {
        return Vec::new();
    }
    let mut drafts = Vec::new();
    for subject in guarded(view) {
        let long = subject.rule.limits.iter().find(|limit| loosest(limit).window() >= HOUR);
        let Some(limit) = long else { continue };
        let quota = loosest(limit);
        let message = format!(
            "{} counts over {} in memory: each restart lets another {} through",
            limit.name,
            quota.window(),
            spoken_count(quota.nominal().into())
        );
        let remedy = "keep a snapshot (`store: { memory: { snapshot: … } }`), or keep counts in Redis";
        drafts.push(Draft::of_limit((subject, limit), Severity::Note, message, remedy));
    }
    drafts
}

fn is_local(subject: Subject<'_>) -> bool {
    subject.rule.on_store_failure == OnStoreFailure::Local
}

fn small_shares(view: &View<'_>) -> Vec<Draft> {
    let instances = view.policy.instances;
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| is_local(*subject)) {
        let quota = loosest(limit);
        let together = u128::from(quota.share_of(instances).nominal()).saturating_mul(instances.into());
        if together <= quota.nominal().into() {
            continue;
        }
        let message = format!(
            "without the store each of {instances} instances lets {} of {} through: {} together, where {} is meant",
            quota.share_of(instances).nominal(),
            limit.name,
            spoken_count(together),
            quota.nominal()
        );
        let remedy = "write `on_store_failure: deny` for this rule, or run fewer instances";
        drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
    }
    drafts
}

fn no_instances(view: &View<'_>) -> Vec<Draft> {
    if view.is_in_memory() || view.policy.instances > 1 {
        return Vec::new();
    }
    let local = view.rules().filter(|subject| is_local(*subject));
    local
        .map(|subject| {
            Draft::of_rule(
                subject,
                Severity::Warning,
                format!(
                    "{} goes on by itself without the store, and `instances` is 1: of N instances each takes the whole limit, N \
                     times as much together",
                    subject.rule.name
                ),
                "write `instances` with how many processes share the Redis",
            )
        })
        .collect()
}
