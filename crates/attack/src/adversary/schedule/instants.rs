//! Instants that windows of the clock give away, and how near to them somebody aims who has jitter.

use tidegate_algorithms::{Anchor, Ask, Quota, Span, Timestamp, decide};

use super::super::Play;

/// The most requests that are made at once, however many a limit lets pass: more would show nothing else.
const MOST_AT_ONCE: u32 = 1 << 17;

/// Returns so many requests, as far as they can be made at once.
pub(crate) fn at_once(requests: u32) -> u32 {
    requests.min(MOST_AT_ONCE)
}

/// Returns the first boundary after an instant, for a quota whose windows begin by the clock.
pub(crate) fn boundary_after(quota: &Quota, at: Timestamp) -> Option<Timestamp> {
    let span = match quota {
        Quota::FixedWindow(window) if window.anchor() != Anchor::FirstHit => {
            decide(quota, None, Ask::ONE, at).decision.reset_after
        }
        Quota::SlidingCounter(counter) => {
            let window = counter.window().as_micros();
            Span::from_micros(window.saturating_sub(at.as_micros().checked_rem(window)?))
        }
        _ => return None,
    };
    // A window of no units has no end that anybody could see.
    (span > Span::ZERO).then_some(at)?.checked_add(span)
}

/// Returns how far from an instant he aims who wants to arrive on one side of it: three standard deviations of his
/// jitter, but no more than a quarter of the window, so that both sides lie in one.
pub(crate) fn margin(quota: &Quota, play: &Play) -> Span {
    let quarter = quota.window().as_micros() >> 2;
    Span::from_micros(play.jitter.as_micros().saturating_mul(3).min(quarter))
}

/// Returns the last instant before a boundary that one aims at who begins with a play, for a quota that has boundaries.
pub(crate) fn opening(quota: &Quota, play: &Play) -> Option<Timestamp> {
    let off = margin(quota, play).as_micros().max(1);
    let from = play.start.saturating_add(Span::from_micros(off.saturating_sub(1)));
    Some(before(boundary_after(quota, from)?, Span::from_micros(off)))
}

/// Returns the instant a span earlier.
pub(crate) fn before(at: Timestamp, span: Span) -> Timestamp {
    Timestamp::saturating_from_micros(at.as_micros().saturating_sub(span.as_micros()))
}
