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

/// Writes a span as people say it: whole seconds and more by the largest unit that fits, less in milliseconds rounded up.
fn readable(span: Span) -> String {
    let micros = span.as_micros();
    let millis = micros.div_ceil(1_000);
    match (millis / 1_000, millis % 1_000) {
        _ if micros < 1_000 => format!("{micros} \u{b5}s"),
        (0, millis) => format!("{millis} ms"),
        (secs, 0) => Span::from_secs(secs).to_string(),
        (secs, millis) => format!("{secs}.{millis:03} s"),
    }
}
