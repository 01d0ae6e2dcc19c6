//! Greedy retry: asks again and again and heeds nothing.
//!
//! What it gets is what is free when it happens to ask, so its step matters: one that does not divide a window comes late to
//! it each time. A fiftieth of the time that a request takes in the long run loses little. Limits here count nothing that
//! they refuse, so greed costs it nothing.

use tidegate_algorithms::Span;

use super::schedule::evenly::{Callers, Evenly};
use super::{Adversary, Aim, Guard, Need, Play};
use crate::act::Seat;

/// Asks every so often, whatever he is told.
#[derive(Debug)]
pub(super) struct Greedy;

impl Adversary for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn what(&self) -> &'static str {
        "One client asks again and again and heeds no answer."
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn fits(&self, _aim: &Aim) -> bool {
        true
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let hand = Evenly::new(Callers::one(), play.start, step(aim), play);
        vec![Seat::adversary(hand).with_jitter(play.jitter)]
    }
}

/// Returns the time between two requests: a fiftieth of the time that one takes at the slowest limit in the long run, so that
/// little is missed.
fn step(aim: &Aim) -> Span {
    Span::from_micros(Guard::slowest(&aim.guards).as_micros() / 50)
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Anchor, Quota};

    use super::super::testing::trial::{bucket, counter, fixed, log, play, seats, trial};
    use super::*;

    const HOUR: Span = Span::from_secs(3600);

    /// The values known of it for an hour: five per thirty seconds by the clock, a log and a counter, and a bucket of four.
    /// They come out with the step it takes, 120 and 200 milliseconds, begun three tenths into a window.
    #[test]
    fn an_hour_of_it_gives_what_is_known() {
        let known = [(fixed(Anchor::Clock), 605), (log(), 600), (counter(), 602), (bucket(), 363)];
        for (quota, known) in known {
            assert_eq!(
                trial(&Greedy, quota, &play(Span::from_secs(9), HOUR)).admitted.len(),
                known,
                "{quota:?}"
            );
        }
    }

    /// The step matters: a log's units come back thirty seconds after they went, and who asks every four is two seconds late
    /// each time. A bucket keeps what comes between.
    #[test]
    fn a_step_that_fits_no_window_finds_less_of_a_log_and_all_of_a_bucket() {
        let found = |quota: Quota, millis: u64| {
            let play = play(Span::from_secs(9), HOUR);
            let hand = Evenly::new(Callers::one(), play.start, Span::from_millis(millis), &play);
            seats(vec![Seat::adversary(hand)], quota, &play, 1).admitted.len()
        };
        // 112 times five in 32 seconds, and four in the last sixteen.
        assert_eq!([120, 4_000].map(|step| found(log(), step)), [600, 564]);
        assert_eq!([200, 4_000].map(|step| found(bucket(), step)), [363, 363]);
    }
}
