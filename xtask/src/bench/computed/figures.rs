//! What is computed from what was measured: medians, and ratios of runs that took turns.

/// Returns the middle one of some figures, of an even number the mean of the two in the middle.
pub(in super::super) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(half)) {
        (_, None) => f64::NAN,
        (1, Some(middle)) => *middle,
        (_, Some(upper)) => f64::midpoint(sorted.get(half - 1).copied().unwrap_or(*upper), *upper),
    }
}

/// Returns how one side stands to the other: the median of the ratios within each turn, so that what slowed the machine
/// in one turn slowed both sides of its ratio.
pub(in super::super) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// Returns the value below which so many of a hundred lie, of values in ascending order.
pub(in super::super) fn percentile(sorted: &[u32], of_hundred: f64) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among a few million values"
    )]
    let place = (sorted.len() as f64 * of_hundred / 100.0).ceil() as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(place.saturating_sub(1).min(last)).map_or(f64::NAN, |value| f64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with what can be written down exactly.
    fn same(seen: f64, expected: f64) {
        assert!((seen - expected).abs() < 1e-12, "{seen}, not {expected}");
    }

    #[test]
    fn the_median_is_the_middle_whatever_the_order_and_one_wild_figure_does_not_move_it() {
        same(median(&[3.0, 1.0, 1_000.0]), 3.0);
        same(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        same(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    /// A ratio of medians would mix turns: here it would be 1 although ours took half as long in each.
    #[test]
    fn a_ratio_compares_within_each_turn() {
        same(ratio(&[1.0, 2.0, 10.0], &[2.0, 4.0, 20.0]), 0.5);
        same(ratio(&[5.0, 1.0, 1.0], &[10.0, 2.0, 1.0]), 0.5);
        assert!(ratio(&[1.0], &[]).is_nan());
    }

    #[test]
    fn a_percentile_is_one_of_the_values_and_never_beyond_the_last() {
        let values: Vec<u32> = (1..=1_000).collect();
        same(percentile(&values, 99.0), 990.0);
        same(percentile(&values, 100.0), 1_000.0);
        same(percentile(&values, 0.0), 1.0);
        same(percentile(&[5], 99.0), 5.0);
        assert!(percentile(&[], 50.0).is_nan());
    }
}
