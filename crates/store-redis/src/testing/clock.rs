//! A clock that runs, jumps to where something ends, and steps back.

use tidegate_algorithms::{Quota, Span, Timestamp};

use super::numbers::Numbers;

/// How many ends are remembered.
const MOST_ENDS: usize = 64;

pub(super) struct Clock {
    pub(super) now: Timestamp,
    /// Whether a call before lay later.
    pub(super) stepped_back: bool,
    /// Whether now lies within a microsecond of an end.
    pub(super) aimed: bool,
    /// When something ends: a wait, or what is remembered.
    pub(super) ends: Vec<Timestamp>,
    /// Whether time passes in small steps only, so that much happens within one window.
    slow: bool,
    latest: Timestamp,
}

impl Clock {
    /// Starts at any instant of the domain, mostly of these years.
    pub(super) fn start(numbers: &mut Numbers, slow: bool) -> Self {
        const LAST: u64 = Timestamp::MAX.as_micros();
        let micros = match numbers.below(8) {
            0 => 0,
            1 => numbers.any_size(LAST),
            2 => LAST - numbers.any_size(1 << 45),
            _ => 1_700_000_000_000_000 + numbers.below(1 << 46),
        };
        let now = Timestamp::saturating_from_micros(micros);
        Self { now, stepped_back: false, aimed: false, ends: Vec::new(), slow, latest: now }
    }

    /// Remembers that something ends after a span.
    pub(super) fn ends_in(&mut self, span: Span) {
        self.ends.push(self.now.saturating_add(span));
    }

    /// Lets time pass that means something to a quota.
    pub(super) fn pass(&mut self, numbers: &mut Numbers, quota: &Quota) {
        self.ends.drain(..self.ends.len().saturating_sub(MOST_ENDS));
        let step = quota.window().as_micros().min(1 << 46) / (u64::from(quota.nominal()) + 1);
        self.aimed = numbers.one_in(4) && self.aim(numbers, step);
        if !self.aimed {
            self.run(numbers, quota);
        }
        self.stepped_back = self.now < self.latest;
        self.latest = self.latest.max(self.now);
        if self.stepped_back && numbers.one_in(4) {
            // Later steps are told from a time that went back for good.
            self.latest = self.now;
        }
    }

    fn aim(&mut self, numbers: &mut Numbers, step: u64) -> bool {
        let (now, first) = (self.now, numbers.index(self.ends.len()));
        let latest =
            if self.slow { now.saturating_add(Span::from_micros(16 * step)) } else { Timestamp::MAX };
        let ends = self.ends.iter().cycle().skip(first).take(self.ends.len());
        let Some(end) = ends.copied().find(|end| *end > now && *end <= latest) else { return false };
        let micros = (end.as_micros() + numbers.below(3)).saturating_sub(1);
        self.now = Timestamp::saturating_from_micros(micros);
        true
    }

    fn run(&mut self, numbers: &mut Numbers, quota: &Quota) {
        let window = quota.window().as_micros().min(1 << 46);
        let step = window / (u64::from(quota.nominal()) + 1);
        let forward = match numbers.below(20) {
            0..7 => 0,
            9..19 if self.slow => numbers.below(3 * step + 2),
            7 | 8 => numbers.below(1_000),
            9..16 => numbers.below(3 * step + 2),
            16 | 17 => numbers.below(window),
            18 => numbers.below(3 * window),
            _ => {
                let most = if numbers.one_in(3) && !self.slow { 2 * window } else { 4 * step + 2 };
                let back = numbers.below(most);
                self.now = Timestamp::saturating_from_micros(self.now.as_micros().saturating_sub(back));
                return;
            }
        };
        self.now = self.now.saturating_add(Span::from_micros(forward));
    }
}
