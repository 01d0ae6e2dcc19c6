//! A finding in the making.

use tidegate_policy::{Limit, Place};

use super::view::{Subject, View};
use crate::finding::{Finding, Severity};

/// Findings of rules whose remedies lie outside of them: in what stands beside the rules, or with Envoy.
const ELSEWHERE: [&str; 6] = [
    "memory-not-shared",
    "regions-count-apart",
    "restart-forgets",
    "local-without-instances",
    "address-told-by-envoy",
    "deny-passes-envoy",
];

/// What one rule of the review found at one place.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The number of the policy's rule, if it is about one.
    pub(super) rule: Option<usize>,
    place: Place,
    about: Option<String>,
    severity: Severity,
    message: String,
    remedy: String,
}

impl Draft {
    /// Drafts what is found of the policy as a whole, or of something that belongs to no rule.
    pub(super) fn of_policy(
        place: Place,
        severity: Severity,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        Self { rule: None, place, about: None, severity, message, remedy }
    }

    /// Drafts what is found of a rule.
    pub(super) fn of_rule(
        subject: Subject<'_>,
        severity: Severity,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let draft = Self::of_policy(subject.rule.at.0, severity, message, remedy);
        Self { rule: Some(subject.index), about: Some(subject.rule.name.clone()), ..draft }
    }

    /// Drafts what is found of a limit of a rule.
    pub(super) fn of_limit(
        (subject, limit): (Subject<'_>, &Limit),
        severity: Severity,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let draft = Self::of_rule(subject, severity, message, remedy);
        Self { place: limit.at.0, about: Some(limit.name.clone()), ..draft }
    }

    /// Moves the draft to another place.
    pub(super) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// Returns the remedy as it can be followed: what is to be written into a rule cannot be where the rule is made of another
    /// program's file.
    fn followable(&self, id: &str, view: &View<'_>) -> String {
        let whose =
            view.policy.foreign_at(self.place).filter(|_| self.rule.is_some() && !self.remedy.is_empty());
        let Some(whose) = whose.filter(|_| !ELSEWHERE.contains(&id)) else { return self.remedy.clone() };
        let (word, file) = (whose.import(), view.policy.file_of(self.place));
        format!("make it a policy by `tidegate import {word} {file}` first, then {}", self.remedy)
    }

    pub(super) fn into_finding(self, id: &'static str, view: &View<'_>) -> Finding {
        let remedy = self.followable(id, view);
        let rule = self.rule.and_then(|index| view.rule(index));
        let accepted = rule.and_then(|rule| rule.accept.iter().find(|one| one.id == id));
        Finding {
            id,
            severity: self.severity,
            place: self.place,
            about: self.about,
            message: self.message,
            remedy,
            accepted: accepted.map(|one| one.because.clone()),
        }
    }
}
