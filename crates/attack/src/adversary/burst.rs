//! Burst and wait: all at once, and then as long as the refusal says.
//!
//! What a client does that heeds `Retry-After`: against a log or a bucket it gets the whole rate. Where refusals tell nothing
//! it waits the window out, which is right for a log and wrong for a sliding counter: the burst before still weighs
//! as much as the instant within the window says, so what passes goes up and down and depends on the phase.

use tidegate_algorithms::{Span, Timestamp};

use super::schedule::instants::at_once;
use super::{Adversary, Aim, Need, Play, at_victim};
use crate::act::{Act, Actor, Answer, Chance, Seat};

/// Asks for all at once, and comes back when it is told to.
#[derive(Debug)]
pub(super) struct Burst;

impl Adversary for Burst {
    fn name(&self) -> &'static str {
        "burst-and-wait"
    }

    fn what(&self) -> &'static str {
        "Asks for a whole limit at once, then waits as long as refusals say, or the window where they say nothing."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy, Need::RetryAfter]
    }

    fn is_for_one_limit(&self) -> bool {
        true
    }

    fn fits(&self, aim: &Aim) -> bool {
        aim.burst() > 0
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let Some(guard) = aim.guard() else { return Vec::new() };
        let (requests, window) = (at_once(aim.burst()), guard.quota.window());
        let hand = Hand { at: play.start, requests, window, asks: true, end: play.end() };
        vec![Seat::adversary(hand).with_jitter(play.jitter)]
    }
}

struct Hand {
    at: Timestamp,
    requests: u32,
    window: Span,
    /// Whether he asks once more than the limit allows, to be told when to come back.
    asks: bool,
    end: Timestamp,
}

impl Actor for Hand {
    fn next(&mut self, last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        if let Some(answer) = last {
            // Where one refusal says nothing, none does.
            self.asks = self.asks && (answer.refused == 0 || answer.retry_after.is_some());
            let wait = answer.retry_after.unwrap_or(self.window).max(Span::from_micros(1));
            self.at = answer.at.saturating_add(wait);
        }
        let requests = self.requests.saturating_add(self.asks.into());
        (self.at < self.end).then(|| Act::one(self.at, at_victim()).times(requests))
    }
}

#[cfg(test)]
mod tests {
    use tidegate::{Disclosure, Limit, Quota};

    use super::super::testing::trial::{against, bucket, counter, log, play, trial};
    use super::*;
    use crate::target::Bare;

    const HOUR: Span = Span::from_secs(3600);

    /// Returns what passes in an hour where refusals tell nothing.
    fn blind(quota: Quota, phase: Span) -> usize {
        let play = play(phase, HOUR);
        let silent = Bare::limits([Limit::new("limit", quota).with_disclosure(Disclosure::Nothing)]);
        against(silent, Burst.seats(&Aim::at(quota), &play), &play, 1).admitted.len()
    }

    /// The value known of it, at any phase.
    #[test]
    fn at_a_log_it_gets_the_whole_rate_whether_it_is_told_or_not() {
        for phase in [0, 7_777, 29_999] {
            let phase = Span::from_millis(phase);
            assert_eq!(blind(log(), phase), 600);
            assert_eq!(trial(&Burst, log(), &play(phase, HOUR)).admitted.len(), 600);
        }
    }

    /// The value known of it, 362, is that of bursts three tenths into a window; others are far from it, and the mean is 457.
    #[test]
    fn at_a_counter_waiting_the_window_is_wrong_and_depends_on_the_phase() {
        assert_eq!(blind(counter(), Span::from_secs(9)), 362);
        let known = [(0, 300), (3, 360), (12, 420), (18, 480), (24, 540), (29, 600)];
        for (secs, passed) in known {
            assert_eq!(blind(counter(), Span::from_secs(secs)), passed, "{secs} seconds into a window");
        }
        let all: usize = (0..60).map(|phase| blind(counter(), Span::from_millis(phase * 500 + 250))).sum();
        assert!((450..464).contains(&(all / 60)), "{all}");
    }

    /// Guards against a client that is never told, since it never asks for more than it gets: a bucket's next unit is there
    /// after ten seconds, and not after the forty in which it fills.
    #[test]
    fn it_asks_for_one_more_to_be_told_when_to_come_back() {
        let trial = trial(&Burst, bucket(), &play(Span::from_secs(9), HOUR));
        assert_eq!(trial.admitted[4] - trial.admitted[0], 10_000_000);
    }

    /// Told when to come back, it takes one unit at a time, within the second that Retry-After is rounded up to.
    #[test]
    fn told_when_to_come_back_it_gets_nearly_the_whole_rate_of_a_counter_and_a_bucket() {
        let told = |quota| trial(&Burst, quota, &play(Span::from_secs(9), HOUR)).admitted.len();
        assert!((500..=602).contains(&told(counter())), "{}", told(counter()));
        assert!((340..=363).contains(&told(bucket())), "{}", told(bucket()));
    }
}
