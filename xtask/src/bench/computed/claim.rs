//! "A fixed counter is the fastest and smallest, the sliding log costs most": whether what was measured says so.

use std::cmp::Ordering;

/// What an algorithm costs.
#[derive(Debug)]
pub(in super::super) struct Cost {
    pub(in super::super) name: &'static str,
    /// Of whatever kind; the same for all.
    pub(in super::super) time: f64,
    pub(in super::super) bytes: f64,
}

/// Within so much of each other two figures are the same.
const SAME: f64 = 1.03;

/// Says how it stands with the claim, and names who contradicts it.
pub(in super::super) fn judge(place: &str, costs: &[Cost]) -> String {
    let parts = [
        part("a fixed window is the fastest", costs, |cost| cost.time, "fixed window", Ordering::Less),
        part("and the smallest", costs, |cost| cost.bytes, "fixed window", Ordering::Less),
        part(
            "the sliding log takes the most time",
            costs,
            |cost| cost.time,
            "sliding log",
            Ordering::Greater,
        ),
        part("and the most bytes", costs, |cost| cost.bytes, "sliding log", Ordering::Greater),
    ];
    format!("**{place}**, {}.", parts.join("; "))
}

/// Says of one figure whether one of that name, or of one that begins so, is beyond all others, which may be as far.
fn part(claim: &str, costs: &[Cost], of: fn(&Cost) -> f64, name: &str, beyond: Ordering) -> String {
    let (own, others): (Vec<&Cost>, Vec<&Cost>) = costs.iter().partition(|cost| cost.name.starts_with(name));
    let order = |one: &f64, other: &f64| {
        let order = one.total_cmp(other);
        if beyond == Ordering::Less { order } else { order.reverse() }
    };
    let Some(own) = own.into_iter().map(of).min_by(order) else {
        return format!("{claim}: not measured");
    };
    let further = |cost: &&&Cost| {
        let (small, large) = if beyond == Ordering::Less { (of(cost), own) } else { (own, of(cost)) };
        large > small * SAME
    };
    let others: Vec<&str> = others.iter().filter(further).map(|cost| cost.name).collect();
    if others.is_empty() {
        format!("{claim}: true")
    } else {
        format!("{claim}: not true, {}", beside(&others, beyond))
    }
}

fn beside(others: &[&str], beyond: Ordering) -> String {
    format!(
        "{} for {}",
        if beyond == Ordering::Less { "it is less" } else { "it is more" },
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(name: &'static str, time: f64, bytes: f64) -> Cost {
        Cost { name, time, bytes }
    }

    #[test]
    fn the_claim_is_judged_by_each_figure_and_equals_do_not_contradict_it() {
        let costs = [
            cost("fixed window", 50.0, 40.0),
            cost("token bucket", 49.0, 40.5),
            cost("sliding log", 90.0, 500.0),
        ];
        let said = judge("In memory", &costs);
        assert_eq!(said.matches(": true").count(), 4, "{said}");
    }

    /// A window from the first hit is a fixed window as well.
    #[test]
    fn one_of_several_fixed_windows_is_enough() {
        let costs = [
            cost("fixed window", 60.0, 40.0),
            cost("fixed window from the first hit", 50.0, 45.0),
            cost("sliding log", 90.0, 500.0),
        ];
        assert_eq!(judge("In memory", &costs).matches(": true").count(), 4);
    }

    #[test]
    fn who_contradicts_it_is_named() {
        let costs = [
            cost("fixed window", 50.0, 40.0),
            cost("token bucket", 40.0, 40.0),
            cost("sliding log", 45.0, 500.0),
        ];
        let said = judge("In Redis", &costs);
        assert!(said.contains("the fastest: not true, it is less for token bucket, sliding log;"), "{said}");
        assert!(said.contains("the most time: not true, it is more for fixed window;"), "{said}");
        assert_eq!(said.matches(": true").count(), 2, "{said}");
    }
}
