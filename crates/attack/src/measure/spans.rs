//! The fullest half-open spans, over every instant at which something passed and never over buckets of a clock.
//!
//! Two requests lie in one span [t, t + s) when less than s lies between them, and a fullest span can be shifted until its
//! last microsecond is the instant of a request. So it is enough to look, at each request, at how many passed less than s
//! before it.

use std::collections::VecDeque;

use tidegate_algorithms::{Span, Timestamp};

/// How many requests spans of several lengths held at most.
///
/// It keeps the instants of the last while, equal ones as one: those that lie in the longest span that is shorter than the
/// attack. What can no longer leave a span before the attack ends is counted for it and not kept.
#[derive(Debug)]
pub(super) struct Fullest {
    /// Instants with how many passed at each, the oldest first.
    kept: VecDeque<(Timestamp, u64)>,
    spans: Vec<Sliding>,
    end: Timestamp,
}

/// One length, and the span of it that ends with the last request.
#[derive(Debug)]
struct Sliding {
    span: Span,
    /// The index of its first instant among those that are kept.
    first: usize,
    /// How many passed in it.
    holds: u64,
    most: u64,
    /// Whether nothing leaves it any more before the attack ends.
    stays: bool,
}

impl Fullest {
    /// Begins with spans of the given lengths, for an attack that ends before `end`.
    pub(super) fn new(spans: &[Span], end: Timestamp) -> Self {
        let sliding =
            |span: &Span| Sliding { span: *span, first: 0, holds: 0, most: 0, stays: *span == Span::ZERO };
        Self { kept: VecDeque::new(), spans: spans.iter().map(sliding).collect(), end }
    }

    /// Takes in that one request passed, at the instant of the last one or later, and before the end.
    pub(super) fn passed(&mut self, at: Timestamp) {
        match self.kept.back_mut() {
            Some((last, count)) if *last == at => *count = count.saturating_add(1),
            _ => self.kept.push_back((at, 1)),
        }
        for sliding in &mut self.spans {
            sliding.passed(at, &self.kept, self.end);
        }
        let needed = self.spans.iter().filter(|sliding| !sliding.stays).map(|sliding| sliding.first).min();
        let gone = needed.unwrap_or(self.kept.len());
        if gone > 0 {
            self.kept.drain(..gone);
            for sliding in &mut self.spans {
                sliding.first = sliding.first.saturating_sub(gone);
            }
        }
    }

    /// Returns for each length how many passed in the fullest span.
    pub(super) fn most(&self) -> impl Iterator<Item = (Span, u64)> {
        self.spans.iter().map(|sliding| (sliding.span, sliding.most))
    }

    /// Returns how many instants it keeps.
    #[cfg(test)]
    pub(super) fn keeps(&self) -> usize {
        self.kept.len()
    }
}

impl Sliding {
    fn passed(&mut self, at: Timestamp, kept: &VecDeque<(Timestamp, u64)>, end: Timestamp) {
        // [t, t) holds nothing.
        if self.span == Span::ZERO {
            return;
        }
        let leaves = |instant: Timestamp| instant.as_micros().saturating_add(self.span.as_micros());
        while !self.stays {
            let Some((instant, count)) = kept.get(self.first) else { break };
            if leaves(*instant) > at.as_micros() {
                self.stays = leaves(*instant) >= end.as_micros();
                break;
            }
            self.holds = self.holds.saturating_sub(*count);
            self.first = self.first.saturating_add(1);
        }
        self.holds = self.holds.saturating_add(1);
        self.most = self.most.max(self.holds);
    }
}
