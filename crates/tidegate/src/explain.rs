//! A verdict in a sentence for people: the deciding limit, its numbers, its words.

use std::fmt::Write as _;

use tidegate_algorithms::{Quota, Retry, Span};

use crate::limit::Limit;
use crate::verdict::{LimitDecision, Ruling, Verdict};

impl Verdict {
    /// Explains the verdict in a sentence for people: the deciding limit, its numbers, its words, and which limits did
    /// not look for want of their key.
    pub fn explain(&self) -> String {
        let sentence = match self.ruling() {
            Ruling::BadRequest(bad) => format!("refused as a bad request: {bad}"),
            Ruling::Denied(denial) => format!("refused by the rule {}: {}", denial.rule, denial.because),
            Ruling::StoreDown => "refused: the limiter's store does not answer".to_owned(),
            Ruling::Uncounted => "allowed uncounted: the limiter's store does not answer".to_owned(),
            Ruling::Allow { delay } => allowed(self.deciding(), *delay),
            Ruling::Refuse { retry } => refused(self.deciding(), *retry),
        };
        let skipped: Vec<_> = self.skipped().iter().map(Limit::name).collect();
        if skipped.is_empty() {
            return sentence;
        }
        format!("{sentence}; skipped for want of its key: {}", skipped.join(", "))
    }
}

fn allowed(by: Option<&LimitDecision>, delay: Span) -> String {
    let held = if delay == Span::ZERO { String::new() } else { format!(" after {}", readable(delay)) };
    match by {
        None => format!("allowed{held}: no enforced limit applies"),
        Some(LimitDecision { limit, decision, .. }) => {
            let (remaining, most) = (decision.remaining, decision.limit);
            format!("allowed{held}: {} has {remaining} of {most} left{}", limit.name(), words(limit))
        }
    }
}

fn refused(by: Option<&LimitDecision>, retry: Retry) -> String {
    let when = match retry {
        Retry::After(wait) => format!("again in {}", readable(wait)),
        Retry::Never => "never at this cost".to_owned(),
    };
    let Some(LimitDecision { limit, decision, .. }) = by else { return format!("refused: {when}") };
    let (remaining, most) = (decision.remaining, decision.limit);
    let why = match limit.quota() {
        // The queue has room; whoever asks cannot wait that long.
        Quota::LeakyBucket(_) if remaining > 0 && retry != Retry::Never => {
            format!("it would have to wait longer than its caller can, {remaining} of {most} places are left")
        }
        _ => format!("{remaining} of {most} left"),
    };
    format!("refused by {}: {why}, {when}{}", limit.name(), words(limit))
}

/// Returns what is to be known of a limit beside its numbers: whether it counts failures only, and its words.
fn words(limit: &Limit) -> String {
    let mut text = if limit.counts().is_failures() { ", counts failures only" } else { "" }.to_owned();
    if !limit.words().is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, " (\u{201c}{}\u{201d})", limit.words());
    }
    text
}

/// Writes a span as people read it, never shorter than it is: `200ms`, `31.001s`, `10m`, `21h 17m`.
///
/// Below two minutes it is exact to the millisecond, above in its two largest units. What a machine reads has the exact
/// span beside it.
pub fn readable(span: Span) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let micros = span.as_micros();
    let millis = micros.div_ceil(1_000);
    let (secs, rest) = (millis / 1_000, millis % 1_000);
    if micros > 0 && micros < 1_000 {
        return format!("{micros}\u{b5}s");
    }
    if secs < 120 {
        return if secs > 0 && rest > 0 {
            format!("{secs}.{rest:03}s")
        } else {
            Span::from_millis(millis).to_string()
        };
    }
    let secs = span.ceil_secs();
    let smallest = match secs {
        0..=3_600 => 1,
        3_601..=86_400 => 60,
        _ => 3_600,
    };
    let mut left = secs.div_ceil(smallest).saturating_mul(smallest);
    let mut parts = Vec::new();
    for (size, unit) in UNITS {
        let count = left / size;
        left %= size;
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against three spellings of one time, and against a time that is told shorter than it is.
    #[test]
    fn a_span_is_spelt_in_one_way_and_rounded_up() {
        for (micros, words) in [
            (1, "1\u{b5}s"),
            (1_000, "1ms"),
            (199_001, "200ms"),
            (10_000_000, "10s"),
            (31_000_001, "31.001s"),
            (60_000_000, "1m"),
            (90_000_000, "90s"),
            (119_999_001, "2m"),
            (120_000_001, "2m 1s"),
            (303_000_000, "5m 3s"),
            (3_599_000_001, "1h"),
            (3_600_000_001, "1h 1m"),
            (76_571_203_000, "21h 17m"),
            (86_399_000_000, "1d"),
            (86_400_000_001, "1d 1h"),
            (34_560_000_000_000, "400d"),
        ] {
            assert_eq!(readable(Span::from_micros(micros)), words, "{micros}");
        }
    }
}
