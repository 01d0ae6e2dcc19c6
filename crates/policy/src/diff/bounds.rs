//! What two quotas admit, over spans and in the long run.

use std::cmp::Ordering;

use tidegate_algorithms::{LongRun, Quota, Span};

use super::{Change, Effect};
use crate::limit::Terms;

/// The spans that people think in; the windows of both limits join them.
const SPANS: [Span; 5] = [
    Span::from_secs(1),
    Span::from_secs(60),
    Span::from_secs(3_600),
    Span::from_secs(86_400),
    Span::from_secs(30 * 86_400),
];

/// Writes the algorithm and its numbers.
pub(super) fn written(terms: &Terms) -> String {
    format!("{} {}", terms.quota.algorithm(), terms.numbers)
}

/// Compares what two quotas admit.
pub(super) fn bounds(before: &Terms, after: &Terms) -> Vec<Change> {
    let (old, new) = (&before.quota, &after.quota);
    if old == new {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let (least, most) = (old.nominal(), new.nominal());
    changes.extend(Change::of("at once", least, most, Effect::of_more(&least, &most)));
    changes.extend(over_spans(old, new));
    let (slow, fast) = (old.long_run(), new.long_run());
    changes.extend(Change::of("in the long run", per_day(slow), per_day(fast), compare_rates(slow, fast)));
    if changes.is_empty() {
        changes.extend(Change::of("limit", written(before), written(after), Effect::None));
    }
    changes
}

/// Returns which way a change from one quota to another points.
pub(super) fn direction(before: &Terms, after: &Terms) -> Effect {
    Effect::sum(bounds(before, after).iter().map(|change| change.effect))
}

/// Compares the most that two quotas admit in any span; spans that fare alike are told together.
fn over_spans(old: &Quota, new: &Quota) -> Vec<Change> {
    let mut spans: Vec<Span> = SPANS.into_iter().chain([old.window(), new.window()]).collect();
    spans.retain(|span| *span > Span::ZERO);
    spans.sort_unstable();
    spans.dedup();
    let mut changes: Vec<Change> = Vec::new();
    for span in spans {
        let (before, after) = (old.most_in_half_open(span), new.most_in_half_open(span));
        let effect = Effect::of_more(&before, &after);
        let Some(change) = Change::of(format!("at most in any {span}"), before, after, effect) else {
            continue;
        };
        match changes.last_mut().filter(|last| (&last.before, &last.after) == (&change.before, &change.after))
        {
            Some(last) => last.what = format!("{}, {span}", last.what),
            None => changes.push(change),
        }
    }
    changes
}

fn compare_rates(old: LongRun, new: LongRun) -> Effect {
    let cross = |a: LongRun, b: LongRun| u128::from(a.units).saturating_mul(b.micros.into());
    match cross(new, old).cmp(&cross(old, new)) {
        Ordering::Greater => Effect::Looser,
        Ordering::Less => Effect::Tighter,
        Ordering::Equal => Effect::None,
    }
}

/// Writes a long-run rate in units a day, with two decimals at most.
fn per_day(rate: LongRun) -> String {
    const DAY: u128 = 86_400_000_000;
    let hundredths = u128::from(rate.units).saturating_mul(DAY).saturating_mul(100);
    let hundredths = hundredths.checked_div(rate.micros.into()).unwrap_or(0);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    if rest == 0 { format!("{whole} a day") } else { format!("{whole}.{rest:02} a day") }
}
