//! Pauses that differ from one process to the next, so that many who lost the same thing do not come back at one moment.

use std::time::Duration;

/// Returns a pause between half and the whole of another, at random.
pub fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    // Without randomness the pause is the whole: right, if less polite.
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    let part = half.as_nanos().saturating_mul(u128::from(chance)) / u128::from(u32::MAX);
    half.saturating_add(Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Guards against a pause of nothing, which would be a loop, and against all processes having the same.
    #[test]
    fn pauses_are_spread_over_their_second_half() {
        let whole = Duration::from_secs(30);
        let pauses: HashSet<_> = (0..100).map(|_| jittered(whole)).collect();
        assert!(pauses.iter().all(|pause| (whole / 2..=whole).contains(pause)), "{pauses:?}");
        assert!(pauses.len() > 50);
        assert_eq!(jittered(Duration::ZERO), Duration::ZERO);
        assert!(jittered(Duration::MAX) >= Duration::MAX / 2);
    }
}
