//! Pauses that grow and differ, so that many instances do not all come back at once.

use std::time::Duration;

use tidegate_store::jittered;

const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// How long to wait before the next attempt.
#[derive(Debug)]
pub(crate) struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(SHORTEST)
    }
}

impl Pause {
    /// Returns a pause between half of the present length and all of it, and doubles the length.
    pub(crate) fn next(&mut self) -> Duration {
        let length = self.0;
        self.0 = length.saturating_mul(2).min(LONGEST);
        jittered(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_second_and_never_vanish() {
        let mut pause = Pause::default();
        let pauses: Vec<Duration> = (0..12).map(|_| pause.next()).collect();
        assert!(pauses[0] >= SHORTEST / 2 && pauses[0] <= SHORTEST);
        assert!(pauses[11] >= LONGEST / 2 && pauses[11] <= LONGEST);
    }
}
