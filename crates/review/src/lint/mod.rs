//! What is unwise in a policy: each rule of the review a function, one file a theme.

mod accept;
mod algorithms;
mod codes;
mod draft;
mod envoy;
mod idle;
mod keys;
mod messages;
mod proxies;
pub(crate) mod reach;
mod shared;
mod store;
mod victims;
mod view;
mod words;

use tidegate_algorithms::Timestamp;
use tidegate_policy::Policy;

use crate::finding::Finding;
use draft::Draft;
use view::View;

pub use view::USUAL_BUDGET;

/// A rule of the review.
#[derive(Debug, Clone, Copy)]
pub struct Lint {
    /// Its stable name; its page is `docs/review/<id>.md`.
    pub id: &'static str,
    /// What it finds, as a sentence without its end.
    pub summary: &'static str,
    find: fn(&View<'_>) -> Vec<Draft>,
}

const THEMES: [&[Lint]; 12] = [
    keys::LINTS,
    codes::LINTS,
    algorithms::LINTS,
    words::LINTS,
    victims::LINTS,
    messages::LINTS,
    store::LINTS,
    shared::LINTS,
    proxies::LINTS,
    envoy::LINTS,
    idle::LINTS,
    accept::LINTS,
];

/// Returns every rule of the review.
pub fn lints() -> impl Iterator<Item = &'static Lint> {
    THEMES.into_iter().flatten()
}

/// Reviews a policy: returns what is unwise in it, in the order of its files.
///
/// What a rule accepts is among the findings, with the reason. Whether terms have ended is only asked where `today`, any
/// instant of it, is known.
pub fn review(policy: &Policy, today: Option<Timestamp>) -> Vec<Finding> {
    let view = View::of(policy, today);
    let mut drafts = Vec::new();
    for lint in lints() {
        drafts.extend((lint.find)(&view).into_iter().map(|draft| (lint.id, draft)));
    }
    drafts.extend(accept::without_object(&view, &drafts));
    let mut findings: Vec<Finding> =
        drafts.into_iter().map(|(id, draft)| draft.into_finding(id, &view)).collect();
    findings.sort_by_key(|finding| finding.place);
    findings
}
