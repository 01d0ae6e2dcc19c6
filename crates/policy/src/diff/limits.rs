//! What changes of limits: compared by what they admit.

use std::cmp::Ordering;

use tidegate_algorithms::{LongRun, Quota, Span};

use super::{Change, Fate, LimitDiff, Strictness};
use crate::count::{Count, OnSuccess};
use crate::limit::{Limit, Terms, Whose};
use crate::policy::{Mode, Policy};

/// The spans that people think in; the windows of both limits join them.
const SPANS: [Span; 5] = [
    Span::from_secs(1),
    Span::from_secs(60),
    Span::from_secs(3_600),
    Span::from_secs(86_400),
    Span::from_secs(30 * 86_400),
];

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<LimitDiff> {
    let mut found: Vec<&str> = Vec::new();
    let mut diffs = Vec::new();
    for limit in limits(new) {
        let before = limits(old).find(|before| is_former(before, limit));
        if let Some(before) = before {
            found.push(&before.name);
            changed(before, limit, &mut diffs);
        } else {
            let hint = perhaps_renamed(old, new, limit);
            diffs.extend(limit.variants().map(|(whose, terms)| LimitDiff {
                hint: hint.clone(),
                ..one_sided(limit, whose, terms, true)
            }));
        }
    }
    let gone = limits(old).filter(|limit| !found.contains(&limit.name.as_str()));
    diffs.extend(gone.flat_map(|limit| {
        limit.variants().map(|(whose, terms)| one_sided(limit, whose, terms, false)).collect::<Vec<_>>()
    }));
    diffs
}

fn limits(policy: &Policy) -> impl Iterator<Item = &Limit> {
    policy.rules.iter().chain(&policy.fallback).flat_map(|rule| &rule.limits)
}

/// Returns whether a limit of the old policy is what one of the new policy was.
fn is_former(before: &Limit, after: &Limit) -> bool {
    before.name == after.name || after.was.contains(&before.name)
}

/// Returns what to do when a new limit is an old one under another name: of the same rule, on the same key, with
/// nothing that is its heir.
fn perhaps_renamed(old: &Policy, new: &Policy, limit: &Limit) -> String {
    let rule = |limit: &Limit| limit.name.rsplit_once('/').map(|(rule, _)| rule.to_owned());
    let is_gone = |before: &&Limit| !limits(new).any(|after| is_former(before, after));
    let mut gone = limits(old).filter(is_gone);
    let former = gone.find(|before| before.key == limit.key && rule(before) == rule(limit));
    former.map_or_else(String::new, |former| {
        let name = former.name.rsplit('/').next().unwrap_or_default();
        format!("if it is {} under another name, write `was: {name}` to keep its counts", former.name)
    })
}

/// Tells of a limit, or of one of its terms, that is in one policy only.
fn one_sided(limit: &Limit, whose: Whose<'_>, terms: &Terms, added: bool) -> LimitDiff {
    let what = format!("{} {}", terms.quota.algorithm(), terms.numbers);
    let (before, after) = if added { (String::new(), what) } else { (what, String::new()) };
    LimitDiff {
        name: limit.name.clone(),
        whose: name_of(whose),
        renamed_from: None,
        strictness: if added { Strictness::Added } else { Strictness::Removed },
        fate: if added { Fate::Fresh } else { Fate::Dropped },
        changes: vec![Change { what: "limit".to_owned(), before, after }],
        hint: String::new(),
    }
}

fn name_of(whose: Whose<'_>) -> Option<String> {
    match whose {
        Whose::Everybody => None,
        Whose::Plan(name) | Whose::Key(name) => Some(name.to_owned()),
    }
}

/// Compares a limit with what it was, each of its terms with those of the same plan or key.
fn changed(before: &Limit, after: &Limit, diffs: &mut Vec<LimitDiff>) {
    for (whose, terms) in after.variants() {
        match before.variants().find(|(other, _)| *other == whose) {
            Some((_, former)) => diffs.extend(terms_changed((before, former), (after, terms), whose)),
            None => diffs.push(LimitDiff {
                // A key of the limit has its count already, under the terms it had.
                fate: fate((before, &before.terms), (after, terms)),
                ..one_sided(after, whose, terms, true)
            }),
        }
    }
    for (whose, terms) in before.variants() {
        if !after.variants().any(|(other, _)| other == whose) {
            let fate = fate((before, terms), (after, &after.terms));
            let name = after.name.clone();
            diffs.push(LimitDiff { name, fate, ..one_sided(before, whose, terms, false) });
        }
    }
}

fn terms_changed(
    (before, former): (&Limit, &Terms),
    (after, terms): (&Limit, &Terms),
    whose: Whose<'_>,
) -> Option<LimitDiff> {
    let mut compared = bounds(&former.quota, &terms.quota);
    compared.extend(around(before, after));
    let mut changes: Vec<Change> = compared.iter().map(|(change, _)| change.clone()).collect();
    changes.extend(Change::of("says", &former.says, &terms.says));
    let fate = fate((before, former), (after, terms));
    let renamed_from = (before.name != after.name).then(|| before.name.clone());
    let nothing = changes.is_empty() && renamed_from.is_none() && fate == Fate::Kept;
    (!nothing).then(|| LimitDiff {
        name: after.name.clone(),
        whose: name_of(whose),
        renamed_from,
        strictness: strictness(compared.iter().map(|(_, order)| *order)),
        fate,
        changes,
        hint: hint(before, after),
    })
}

/// Sums up which way the comparisons point; [`Ordering::Greater`] is looser.
fn strictness(orders: impl Iterator<Item = Ordering>) -> Strictness {
    let (mut looser, mut tighter) = (false, false);
    for order in orders {
        looser |= order == Ordering::Greater;
        tighter |= order == Ordering::Less;
    }
    match (looser, tighter) {
        (false, false) => Strictness::Same,
        (true, false) => Strictness::Looser,
        (false, true) => Strictness::Tighter,
        (true, true) => Strictness::Mixed,
    }
}

/// Compares what two quotas admit, over spans and in the long run.
fn bounds(old: &Quota, new: &Quota) -> Vec<(Change, Ordering)> {
    if old == new {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let (before, after) = (old.nominal(), new.nominal());
    changes.extend(Change::of("at once", before, after).map(|change| (change, after.cmp(&before))));
    changes.extend(over_spans(old, new));
    let (before, after) = (old.long_run(), new.long_run());
    if let order @ (Ordering::Less | Ordering::Greater) = long_run(after).cmp_to(long_run(before)) {
        changes.push((Change::new("in the long run", per_day(before), per_day(after)), order));
    }
    if changes.is_empty() {
        let written = |quota: &Quota| quota.algorithm().to_owned();
        changes.push((Change::new("algorithm", written(old), written(new)), Ordering::Equal));
    }
    changes
}

/// Compares the most that two quotas admit in any span; spans that fare alike are told together.
fn over_spans(old: &Quota, new: &Quota) -> Vec<(Change, Ordering)> {
    let mut spans: Vec<Span> = SPANS.into_iter().chain([old.window(), new.window()]).collect();
    spans.retain(|span| *span > Span::ZERO);
    spans.sort_unstable();
    spans.dedup();
    let mut changes: Vec<(Change, Ordering)> = Vec::new();
    for span in spans {
        let (before, after) = (old.most_in_half_open(span), new.most_in_half_open(span));
        let Some(change) = Change::of(&format!("at most in any {span}"), before, after) else { continue };
        match changes
            .last_mut()
            .filter(|(last, _)| (&last.before, &last.after) == (&change.before, &change.after))
        {
            Some((last, _)) => last.what = format!("{}, {span}", last.what),
            None => changes.push((change, after.cmp(&before))),
        }
    }
    changes
}

/// A rate as a fraction.
#[derive(Clone, Copy)]
struct Fraction(u128, u128);

impl Fraction {
    fn cmp_to(&self, other: Self) -> Ordering {
        self.0.saturating_mul(other.1).cmp(&other.0.saturating_mul(self.1))
    }
}

fn long_run(rate: LongRun) -> Fraction {
    Fraction(rate.units.into(), rate.micros.into())
}

/// Writes a long-run rate in units a day, with two decimals at most.
fn per_day(rate: LongRun) -> String {
    const DAY: u128 = 86_400_000_000;
    let hundredths = u128::from(rate.units).saturating_mul(DAY).saturating_mul(100);
    let hundredths = hundredths.checked_div(rate.micros.into()).unwrap_or(0);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    if rest == 0 { format!("{whole} a day") } else { format!("{whole}.{rest:02} a day") }
}

/// Compares what stands around a limit's numbers: cost, what counts, mode.
fn around(before: &Limit, after: &Limit) -> Vec<(Change, Ordering)> {
    let mut changes = Vec::new();
    let mut push = |change: Option<Change>, order| changes.extend(change.map(|change| (change, order)));
    let dearer = before.cost.usual().cmp(&after.cost.usual());
    push(Change::of("cost", &before.cost, &after.cost), dearer);
    let counts = Change::of("counts", counting(&before.count), counting(&after.count));
    let fewer = rank(&after.count).cmp(&rank(&before.count));
    push(counts, fewer);
    let shadow = |mode: Mode| if mode == Mode::Shadow { "shadow" } else { "enforce" };
    let freer = u8::from(after.mode == Mode::Shadow).cmp(&u8::from(before.mode == Mode::Shadow));
    push(Change::of("mode", shadow(before.mode), shadow(after.mode)), freer);
    push(Change::of("key", before.key.to_string(), after.key.to_string()), Ordering::Equal);
    let none = || "none".to_owned();
    let unit = |limit: &Limit| limit.unit.clone().unwrap_or_else(none);
    push(Change::of("unit", unit(before), unit(after)), Ordering::Equal);
    let alert = |limit: &Limit| limit.alert_at.map_or_else(none, |percent| format!("{percent}%"));
    push(Change::of("alert_at", alert(before), alert(after)), Ordering::Equal);
    changes
}

/// The more it is, the less is counted in the end.
fn rank(count: &Count) -> u8 {
    match count {
        Count::Every => 0,
        Count::Failures { on_success: OnSuccess::Refund, .. } => 1,
        Count::Failures { on_success: OnSuccess::Reset, .. } => 2,
    }
}

fn counting(count: &Count) -> String {
    match count {
        Count::Every => "every request".to_owned(),
        Count::Failures { success, on_success } => {
            let then = match on_success {
                OnSuccess::Refund => "gives its charge back",
                OnSuccess::Reset => "forgets all failures",
            };
            format!("failures; a success ({success}) {then}")
        }
    }
}

/// Tells what becomes of the counts of a limit's keys.
fn fate((before, former): (&Limit, &Terms), (after, terms): (&Limit, &Terms)) -> Fate {
    if before.key != after.key || before.storage_name() != after.storage_name() {
        return Fate::Fresh;
    }
    let (old, new) = (&former.quota, &terms.quota);
    if old.algorithm() != new.algorithm() {
        return Fate::Carried;
    }
    if new.nominal() < old.nominal() || new.window() < old.window() { Fate::Clamped } else { Fate::Kept }
}

fn hint(before: &Limit, after: &Limit) -> String {
    if before.storage_name() == after.storage_name() {
        return String::new();
    }
    let mut names: Vec<&str> = after.was.iter().map(String::as_str).collect();
    names.push(before.storage_name());
    names.dedup();
    format!(
        "its counts are kept under {}; to keep them, write `was: [{}]`",
        before.storage_name(),
        names.join(", ")
    )
}
