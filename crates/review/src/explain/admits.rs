//! What a limit admits at most.

use tidegate_algorithms::{LongRun, Quota, Span};

use crate::figures::spoken_count;

/// The spans that people think in; the limit's own window joins them.
const SPANS: [Span; 4] =
    [Span::from_secs(1), Span::from_secs(60), Span::from_secs(3_600), Span::from_secs(86_400)];

/// What a limit admits at most on one key, in units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admits {
    /// In one instant: the worst burst.
    pub at_once: u128,
    /// In any half-open span [t, t + s), the shortest first: a second, a minute, an hour, a day and the limit's window.
    pub in_any: Vec<(Span, u128)>,
    /// The limit's window: of a bucket the time it takes to fill.
    pub window: Span,
    /// Of a leaky bucket, the most that start in its window; the others wait.
    pub start_in_window: Option<u128>,
    /// The rate that no schedule exceeds in the long run.
    pub long_run: LongRun,
    /// The most bytes of numbers that one key's state holds.
    pub state_bytes: u64,
}

impl Admits {
    /// Computes it.
    pub fn of(quota: &Quota) -> Self {
        let window = quota.window();
        let mut spans: Vec<Span> = SPANS.into_iter().chain([window]).collect();
        spans.sort_unstable();
        spans.dedup();
        let started =
            |span: Span| quota.most_started_in_closed(Span::from_micros(span.as_micros().saturating_sub(1)));
        Self {
            at_once: quota.most_in_closed(Span::ZERO),
            in_any: spans.into_iter().map(|span| (span, quota.most_in_half_open(span))).collect(),
            window,
            start_in_window: matches!(quota, Quota::LeakyBucket(_)).then(|| started(window)),
            long_run: quota.long_run(),
            state_bytes: quota.state_bytes(),
        }
    }

    /// Returns what so many counts of the same key, kept apart, admit together.
    #[must_use]
    pub fn times(&self, copies: u32) -> Self {
        let more = |count: u128| count.saturating_mul(copies.into());
        Self {
            at_once: more(self.at_once),
            in_any: self.in_any.iter().map(|(span, count)| (*span, more(*count))).collect(),
            start_in_window: self.start_in_window.map(more),
            long_run: LongRun {
                units: self.long_run.units.saturating_mul(copies),
                micros: self.long_run.micros,
            },
            ..self.clone()
        }
    }

    /// Returns the most in any span of the limit's window.
    pub fn in_window(&self) -> u128 {
        self.in_any.iter().find(|(span, _)| *span == self.window).map_or(0, |(_, count)| *count)
    }
}

/// Writes a long-run rate: `1 every 10s, 8,640 a day`.
pub fn spoken_rate(rate: LongRun) -> String {
    const DAY: u128 = 86_400_000_000;
    if rate.units == 0 {
        return "none".to_owned();
    }
    let per_day = u128::from(rate.units).saturating_mul(DAY).saturating_mul(100);
    let hundredths = per_day.checked_div(rate.micros.into()).unwrap_or(u128::MAX);
    let (whole, rest) = (spoken_count(hundredths / 100), hundredths % 100);
    let every = format!("{} every {}", spoken_count(rate.units.into()), Span::from_micros(rate.micros));
    if rest == 0 { format!("{every}, {whole} a day") } else { format!("{every}, {whole}.{rest:02} a day") }
}
