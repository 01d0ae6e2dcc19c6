//! What does nothing, or not what it seems to.

use tidegate_policy::{Class, Matcher, Mode, Place};

use super::Lint;
use super::draft::Draft;
use super::view::View;
use crate::finding::Severity;

/// The secret that lies beside the examples, and is in everybody's hands.
const EXAMPLE_SECRET: &str = include_str!("../../../../examples/shared.secret");
/// What paths of sign-ins are called.
const SIGN_INS: [&str; 14] = [
    "login",
    "signin",
    "otp",
    "2fa",
    "mfa",
    "totp",
    "verify",
    "password",
    "passwords",
    "recover",
    "recovery",
    "reset",
    "forgot",
    "magic",
];

pub(super) const LINTS: &[Lint] = &[
    Lint { id: "key-unused", summary: "a key is declared, and nothing counts on it", find: unused_keys },
    Lint { id: "code-unused", summary: "a code is declared, and no rule guesses at it", find: unused_codes },
    Lint {
        id: "rule-behind-a-refusal",
        summary: "another rule refuses every request that the rule would limit",
        find: behind,
    },
    Lint { id: "override-ended", summary: "terms for one key have ended", find: ended },
    Lint {
        id: "shadow-on-guarded",
        summary: "limits that guard somebody or money only count, and refuse nothing",
        find: shadow,
    },
    Lint {
        id: "example-secret",
        summary: "keys are named under the secret of the examples, which everybody has",
        find: example_secret,
    },
    Lint {
        id: "class-not-said",
        summary: "a rule looks like a sign-in, and is reviewed as any other endpoint",
        find: class_not_said,
    },
];

fn unused_keys(view: &View<'_>) -> Vec<Draft> {
    let unused = view.policy.unused_keys();
    unused
        .map(|(name, place)| {
            let message = format!("no limit counts on the key {name}, and nothing else reads it");
            Draft::of_policy(place, Severity::Warning, message, "name it in a limit, or remove it")
        })
        .collect()
}

fn unused_codes(view: &View<'_>) -> Vec<Draft> {
    let guessed = |name: &str| view.rules().any(|subject| subject.rule.guesses.as_deref() == Some(name));
    let unused = view.policy.codes.iter().filter(|code| !guessed(&code.name));
    unused
        .map(|code| {
            let message = format!("no rule guesses at the code {}: its numbers are not reviewed", code.name);
            let remedy = "write `guesses` with its name in the rule that checks it, or remove it";
            Draft::of_policy(Place::START, Severity::Note, message, remedy)
        })
        .collect()
}

fn behind(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.rules().filter(|subject| subject.rule.refuse.is_none()) {
        let refuses = view.policy.rules.iter().find(|other| {
            other.refuse.is_some() && other.mode == Mode::Enforce && other.covers(subject.rule)
        });
        let Some(other) = refuses else { continue };
        let message = format!(
            "{} limits what {} refuses: no request ever gets that far",
            subject.rule.name, other.name
        );
        let remedy = format!("remove one of them, or give {} an `except`", other.name);
        drafts.push(Draft::of_rule(subject, Severity::Warning, message, remedy));
    }
    drafts
}

fn ended(view: &View<'_>) -> Vec<Draft> {
    let Some(today) = view.today else { return Vec::new() };
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits() {
        let ended = limit.overrides.iter().filter(|one| one.until.is_some_and(|until| until <= today));
        for one in ended {
            let day = one.last_day().unwrap_or_default();
            let message = format!(
                "terms of {} for one key ended {day} ({}): it has everybody's again",
                limit.name, one.because
            );
            let remedy = "remove the override, or write another day";
            drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
        }
    }
    drafts
}

fn shadow(view: &View<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for subject in view.rules().filter(|subject| subject.class().is_guarded()) {
        let shadow: Vec<&str> = subject
            .rule
            .limits
            .iter()
            .filter(|limit| limit.mode == Mode::Shadow)
            .map(|limit| limit.name.as_str())
            .collect();
        if shadow.is_empty() {
            continue;
        }
        let (left, all) = (subject.rule.limits.len().saturating_sub(shadow.len()), subject.rule.limits.len());
        let message = format!(
            "shadow mode, in which nothing is refused: {}; {left} of {all} limits of {} are in force",
            shadow.join(", "),
            subject.rule.name
        );
        let remedy = "look at what they would have refused in the metrics, and write `mode: enforce`";
        drafts.push(Draft::of_rule(subject, Severity::Warning, message, remedy));
    }
    drafts
}

fn example_secret(view: &View<'_>) -> Vec<Draft> {
    let secret = EXAMPLE_SECRET.trim_end().as_bytes();
    if !view.policy.identities.as_ref().is_some_and(|identities| identities.is_of(secret)) {
        return Vec::new();
    }
    let message =
        "keys are named under the secret of the examples: whoever sees a name can find whose it is by trying";
    let remedy = "make one of your own, `openssl rand -hex 32`, and give it to every instance";
    vec![Draft::of_policy(Place::START, Severity::Warning, message, remedy)]
}

fn class_not_said(view: &View<'_>) -> Vec<Draft> {
    let says = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.split(['/', '-', '_', '.', '*']).any(|word| SIGN_INS.contains(&word))
    };
    let paths = |matcher: &Matcher| -> Vec<String> {
        let entries = matcher.descriptor.iter().flat_map(|pattern| pattern.entries.iter().flatten());
        let values = entries.map(|entry| entry.value.to_string());
        matcher.paths.iter().map(|path| path.text().to_owned()).chain(values).collect()
    };
    let mut drafts = Vec::new();
    let plain = view.rules().filter(|subject| matches!(subject.class(), Class::Api | Class::Edge));
    for subject in plain.filter(|subject| subject.rule.refuse.is_none() && !subject.rule.envoy.unlimited) {
        let Some(pattern) = subject.rule.matches.iter().flat_map(paths).find(|path| says(path)) else {
            continue;
        };
        let message = format!(
            "{pattern} looks like a sign-in, and {} is of class {}: it passes requests without a key, and without the store",
            subject.rule.name,
            subject.class().name()
        );
        let remedy = "write `class: verify`, login, recovery or send, and see what the review asks then";
        drafts.push(Draft::of_rule(subject, Severity::Warning, message, remedy));
    }
    drafts
}
