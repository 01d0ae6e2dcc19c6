//! What a stranger can do to somebody else's limit.

use tidegate_algorithms::{Quota, Span};
use tidegate_policy::{ClientSees, Count, OnSuccess};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{HOUR, View, loosest};
use crate::figures::spoken_count;
use crate::finding::Severity;

/// Any 24 hours: up to the microsecond before the next begin.
const ANY_DAY: Span = Span::from_micros(86_400_000_000 - 1);
/// The shortest lock that is worth a stranger's while.
const LONG_LOCK: Span = Span::from_secs(300);

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "lockout-weapon",
        summary: "a stranger who can name somebody can keep them out",
        find: weapon,
    },
    Lint {
        id: "success-resets-anothers-counter",
        summary: "somebody's own success forgets the failures of others on the same key",
        find: resets,
    },
    Lint {
        id: "tells-strangers-the-state",
        summary: "a stranger is told how many tries somebody has left, and when",
        find: tells,
    },
];

fn weapon(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| subject.is_sign_in()) {
        let quota = loosest(limit);
        let names = reach::has(&limit.key, Kind::Somebody) && reach::holds_for_one(&limit.key);
        let Some(requests) = quota.requests_to_deny(ANY_DAY).filter(|_| names && view.refuses(limit)) else {
            continue;
        };
        let locks = matches!(quota, Quota::Lockout(lockout) if lockout.lock() >= LONG_LOCK);
        if !locks && quota.window() < HOUR {
            continue;
        }
        let severity = if locks { Severity::Warning } else { Severity::Note };
        let message = format!(
            "{} can be used against its owner: {} requests keep an account out for 24 hours, by whoever can name it",
            limit.name,
            spoken_count(requests.into())
        );
        let remedy = "leave known clients a way in (a key of account and client beside a wider one on the account), or let \
                      another proof lift it";
        drafts.push(Draft::of_limit((subject, limit), severity, message, remedy));
    }
    drafts
}

fn resets(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| subject.class().is_guarded()) {
        let resets = matches!(limit.count, Count::Failures { on_success: OnSuccess::Reset, .. });
        if !resets || reach::has(&limit.key, Kind::Somebody) {
            continue;
        }
        let message = format!(
            "a success forgets all failures of {}: whoever has an account of their own signs in after {} wrong guesses at \
             others, and begins anew",
            limit.key,
            loosest(limit).nominal().saturating_sub(1)
        );
        let remedy = "write `on_success: refund`, or put the account into the key";
        drafts.push(Draft::of_limit((subject, limit), Severity::Error, message, remedy));
    }
    drafts
}

fn tells(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| subject.is_sign_in()) {
        let sees = limit.client_sees.unwrap_or(subject.rule.client_sees);
        if sees != ClientSees::All || !reach::has(&limit.key, Kind::Somebody) {
            continue;
        }
        let message = format!(
            "{} tells every caller how many of {} tries are left on an account and when: that somebody signs in, and when \
             a guess passes",
            limit.name,
            loosest(limit).nominal()
        );
        let remedy = "leave `client_sees` out, or write `client_sees: retry_after`";
        drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
    }
    drafts
}
