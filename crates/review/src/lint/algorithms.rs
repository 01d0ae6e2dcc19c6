//! What the shape of a limit admits, and limits that stand in each other's way.

use tidegate_algorithms::{Anchor, MAX_LOG_UNITS, Quota, Rate, Span};
use tidegate_policy::{Count, Limit, OnMissingKey, Rule};

use super::Lint;
use super::draft::Draft;
use super::reach;
use super::view::{View, nominal};
use crate::figures::{spoken_count, written};
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "aligned-window-on-sign-in",
        summary: "a window that begins afresh lets twice its limit through across its boundary",
        find: aligned,
    },
    Lint {
        id: "sliding-counter-doubles",
        summary: "a sliding counter is an estimate, and lets twice its limit through to whoever knows its windows",
        find: counter,
    },
    Lint {
        id: "burst-above-nominal",
        summary: "a bucket promises more at once than the limit beside it ever lets through",
        find: burst,
    },
    Lint {
        id: "limit-never-decides",
        summary: "a limit refuses nothing that another one beside it has not refused already",
        find: never_decides,
    },
];

/// Returns limits that keep the promise of a window, as a policy file writes them.
fn exact(limit: u32, window: Span) -> String {
    let log = (limit <= MAX_LOG_UNITS).then(|| Quota::sliding_log(limit.into(), window).ok()).flatten();
    // B + ⌈R·W⌉ − 1 ≤ L: half of it at once, the rest over the window.
    let capacity = limit.div_ceil(2).max(1);
    let rest = limit.saturating_sub(capacity).saturating_add(1);
    let bucket =
        Rate::new(rest.into(), window).and_then(|rate| Quota::token_bucket(capacity.into(), rate)).ok();
    let both: Vec<String> = log.iter().chain(&bucket).map(|quota| format!("`{}`", written(quota))).collect();
    format!(
        "write {}, which never let more than {} through in any {window}",
        both.join(" or "),
        spoken_count(limit.into())
    )
}

/// Returns a finding for each limit of a sign-in that has terms of a kind.
fn on_sign_ins(view: &View<'_>, say: impl Fn(&Quota) -> Option<(Severity, String, String)>) -> Vec<Draft> {
    let limits = view.limits().filter(|(subject, _)| subject.is_sign_in());
    limits
        .filter_map(|(subject, limit)| {
            let (severity, message, remedy) = limit.variants().find_map(|(_, terms)| say(&terms.quota))?;
            // Twice as many from one address is no matter: who has one address has others.
            let severity = if reach::holds_for_address(&limit.key) { Severity::Note } else { severity };
            Some(Draft::of_limit((subject, limit), severity, format!("{} {message}", limit.name), remedy))
        })
        .collect()
}

fn aligned(view: &View<'_>) -> Vec<Draft> {
    on_sign_ins(view, |quota| {
        let Quota::FixedWindow(window) = quota else { return None };
        let most = quota.most_in_half_open(window.window());
        if most <= window.limit().into() {
            return None;
        }
        let severity = if window.anchor() == Anchor::FirstHit { Severity::Note } else { Severity::Warning };
        let message = format!(
            "begins afresh with each window: {} pass in a span of {} across a boundary, where {} is meant",
            spoken_count(most),
            window.window(),
            window.limit()
        );
        Some((severity, message, exact(window.limit(), window.window())))
    })
}

fn counter(view: &View<'_>) -> Vec<Draft> {
    on_sign_ins(view, |quota| {
        let Quota::SlidingCounter(counter) = quota else { return None };
        let most = quota.most_in_half_open(counter.window());
        if most <= counter.limit().into() {
            return None;
        }
        let message = format!(
            "estimates: {} pass in a span of {} for whoever knows where windows begin, where {} is meant",
            spoken_count(most),
            counter.window(),
            counter.limit()
        );
        Some((Severity::Warning, message, exact(counter.limit(), counter.window())))
    })
}

fn burst(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.rules() {
        for limit in &subject.rule.limits {
            let Quota::TokenBucket(bucket) = limit.terms.quota else { continue };
            let beside = subject.rule.limits.iter().find(|other| {
                let window = matches!(
                    other.terms.quota,
                    Quota::SlidingLog(_) | Quota::SlidingCounter(_) | Quota::FixedWindow(_)
                );
                window
                    && view.refuses(other)
                    && other.key == limit.key
                    && other.cost == limit.cost
                    && counts_all_of(other, limit)
                    && has_one_set_of_terms(other)
                    && other.terms.quota.most_in_closed(Span::ZERO) < bucket.capacity().into()
            });
            let Some(other) = beside else { continue };
            let message = format!(
                "{} promises {} at once, and {} never lets more than {} through: nobody ever gets them",
                limit.name,
                spoken_count(bucket.capacity().into()),
                other.name,
                nominal(&other.terms.quota)
            );
            let remedy =
                format!("lower the capacity to {}, or raise the other limit", other.terms.quota.nominal());
            drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
        }
    }
    drafts
}

fn never_decides(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.rules() {
        let limits: Vec<_> = subject.rule.limits.iter().enumerate().collect();
        for (index, limit) in &limits {
            let before = limits.iter().find(|(at, other)| {
                at != index
                    && view.refuses(other)
                    && is_moot(limit, other, subject.rule)
                    // Of two that are alike, the first one decides.
                    && (at < index || !is_moot(other, limit, subject.rule))
            });
            let Some((_, other)) = before else { continue };
            let message = format!(
                "{} ({}) never refuses what {} ({}) has let through",
                limit.name,
                written(&limit.terms.quota),
                other.name,
                written(&other.terms.quota)
            );
            let remedy = "remove it, or make it tighter over some span";
            drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
        }
    }
    drafts
}

/// Returns whether a limit can never refuse what another one beside it admits.
fn is_moot(limit: &Limit, other: &Limit, rule: &Rule) -> bool {
    let missing = |limit: &Limit| limit.on_missing_key.unwrap_or(rule.on_missing_key);
    // Whoever is skipped for want of a key is still counted by a limit on everyone.
    let counts_whoever = reach::is_everyone(&other.key)
        || (other.key == limit.key
            && (missing(limit) == missing(other) || missing(other) != OnMissingKey::Skip));
    has_one_set_of_terms(limit)
        && has_one_set_of_terms(other)
        && counts_whoever
        && limit.cost == other.cost
        && counts_all_of(other, limit)
        && admits_all_of(&limit.terms.quota, &other.terms.quota)
}

fn has_one_set_of_terms(limit: &Limit) -> bool {
    limit.plans.is_none() && limit.overrides.is_empty()
}

/// Returns whether a limit counts every request that another one counts.
fn counts_all_of(limit: &Limit, other: &Limit) -> bool {
    limit.count == Count::Every || limit.count == other.count
}

/// Returns whether a quota admits everything that another one has admitted; false where that cannot be shown.
fn admits_all_of(quota: &Quota, other: &Quota) -> bool {
    let within = |span: Span, most: u32| other.most_in_half_open(span) <= most.into();
    match quota {
        Quota::FixedWindow(window) => within(window.window(), window.limit()),
        Quota::SlidingLog(log) => within(log.window(), log.limit()),
        // The estimate weighs two windows, and each counts in full at most.
        Quota::SlidingCounter(counter) => {
            let both = Span::from_micros(counter.window().as_micros().saturating_mul(2));
            within(both, counter.limit())
        }
        // The last of the attempts locks.
        Quota::Lockout(lockout) => within(lockout.within(), lockout.attempts().saturating_sub(1)),
        Quota::TokenBucket(bucket) => {
            let Some(burst) = envelope(other) else { return false };
            let (rate, long) = (bucket.refill(), other.long_run());
            let slower = u128::from(long.units).saturating_mul(rate.micros().into())
                <= u128::from(rate.units()).saturating_mul(long.micros.into());
            slower && burst <= bucket.capacity().into()
        }
        Quota::LeakyBucket(_) => false,
    }
}

/// Returns the units above its long-run rate that a quota admits at most over any closed span.
fn envelope(quota: &Quota) -> Option<u128> {
    match quota {
        Quota::FixedWindow(window) if matches!(window.anchor(), Anchor::Calendar(_)) => None,
        Quota::FixedWindow(window) => Some(u128::from(window.limit()).saturating_mul(2)),
        Quota::SlidingLog(log) => Some(log.limit().into()),
        Quota::SlidingCounter(counter) => Some(u128::from(counter.limit()).saturating_add(1)),
        Quota::TokenBucket(bucket) => Some(bucket.capacity().into()),
        Quota::LeakyBucket(_) | Quota::Lockout(_) => None,
    }
}
