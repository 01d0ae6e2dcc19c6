//! Pauses that differ from one process to the next, so that many who lost the same thing do not come back at one moment.

use std::time::Duration;

/// Returns a pause between half and the whole of another.
pub(crate) fn around(pause: Duration) -> Duration {
    // Without randomness the pause is the whole: right, if less polite.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    let half = pause / 2;
    half.saturating_add(half.mul_f64(f64::from(random) / f64::from(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a pause of nothing, which would be a loop, and against all processes having the same.
    #[test]
    fn a_pause_is_never_less_than_half_nor_more_than_whole() {
        let whole = Duration::from_millis(100);
        let pauses: Vec<_> = (0..100).map(|_| around(whole)).collect();
        assert!(pauses.iter().all(|pause| (whole / 2..=whole).contains(pause)));
        assert!(pauses.iter().any(|pause| pause != &pauses[0]));
    }
}
