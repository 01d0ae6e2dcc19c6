//! What changes outside of rules.

use std::fmt;

use super::rules::mode;
use super::{Change, Effect};
use crate::examined::Code;
use crate::matcher::joined;
use crate::policy::{EncodedSlash, Mode, Policy};
use crate::store::AlertsChoice;

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    let shadow = |policy: &Policy| u8::from(policy.mode == Mode::Shadow);
    let freer = Effect::of_more(&shadow(old), &shadow(new));
    changes.extend(Change::of("mode", mode(old.mode), mode(new.mode), freer));
    // Whose word is taken decides what limits on the client's address count, and who says which plan is whose.
    changes.extend(Change::of("trusted_proxies", &old.trusted, &new.trusted, Effect::Unclear));
    let slash = |policy: &Policy| match policy.encoded_slash {
        EncodedSlash::Refuse => "refuse",
        EncodedSlash::Keep => "keep",
    };
    changes.extend(Change::of("paths.encoded_slash", slash(old), slash(new), Effect::Unclear));
    changes.extend(Change::of("instances", old.instances, new.instances, Effect::None));
    changes.extend(super::faces::compare(old, new));
    changes.extend(super::store::compare(&old.store, &new.store));
    changes.extend(alerts(old.alerts.as_ref(), new.alerts.as_ref()));
    changes.extend(told("codes", codes(&old.codes), codes(&new.codes)));
    changes.extend(told("topology.regions", old.topology.regions, new.topology.regions));
    changes.extend(told("topology.proxies", said(old.topology.proxies), said(new.topology.proxies)));
    let budget = |policy: &Policy| said(policy.budget.map(|it| format!("{} %", it.guess_per_year * 100.0)));
    changes.extend(told("budget.guess_per_year", budget(old), budget(new)));
    changes.extend(super::answers::compare(old, new));
    changes
}

/// Returns a change that lets nobody through and keeps nobody out.
pub(super) fn told(what: &str, old: impl fmt::Display, new: impl fmt::Display) -> Option<Change> {
    Change::of(what, old, new, Effect::None)
}

/// Tells of webhooks by their servers: a path may be a secret.
fn alerts(old: Option<&AlertsChoice>, new: Option<&AlertsChoice>) -> Option<Change> {
    let shown = |alerts: Option<&AlertsChoice>| {
        let Some(alerts) = alerts else { return "none".to_owned() };
        let webhooks: Vec<String> = alerts.webhooks.iter().map(server).collect();
        format!("{} every {}", joined(&webhooks), alerts.every)
    };
    let (before, after) = (shown(old), shown(new));
    let is_another = old != new && before == after;
    told("alerts", before, if is_another { format!("{after}, at another path") } else { after })
}

fn server(webhook: &http::Uri) -> String {
    let authority = webhook.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    format!("{}://{authority}", webhook.scheme_str().unwrap_or_default())
}

pub(super) fn said(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "not said".to_owned(), |value| value.to_string())
}

fn codes(codes: &[Code]) -> String {
    let list: Vec<String> = codes.iter().map(code).collect();
    if list.is_empty() { "none".to_owned() } else { joined(&list) }
}

/// Writes a code as the file does.
fn code(code: &Code) -> String {
    let members = [
        Some(format!("digits: {}", code.digits)),
        (code.alphabet != 10).then(|| format!("alphabet: {}", code.alphabet)),
        code.step.map(|step| format!("step: {step}")),
        (code.skew_steps > 0).then(|| format!("skew_steps: {}", code.skew_steps)),
        code.life.map(|life| format!("life: {life}")),
        code.valid.map(|valid| format!("valid: {valid}")),
        code.attempts.map(|attempts| format!("attempts: {attempts}")),
        code.carry_over.then(|| "carry_over: true".to_owned()),
    ];
    format!("{} {{ {} }}", code.name, members.into_iter().flatten().collect::<Vec<_>>().join(", "))
}
