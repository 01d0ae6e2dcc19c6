//! A log line that cannot be made to flood the log.
//!
//! While an upstream is away every request has the same thing to say, and anybody can send requests. So it is said
//! once, at once; what follows is counted, and the count is said at the end of each second that had any. Nothing is
//! left untold: the last second's count comes whether or not another request does.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The least time between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// One kind of line. Cheap to clone; clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damper(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// When the next line may be said; none has been so far without it.
    quiet_until: Option<Instant>,
    /// How many have been held back since the last line.
    held: u64,
}

/// What becomes of one line.
enum Step {
    Say,
    Hold,
    /// Hold it, as the first that is to be counted at this instant.
    Gather(Instant),
}

impl Damper {
    /// Calls `say` at once with 0; or, too soon after the last line, at the end of the pause with the number of those
    /// that came until then, of which only the first one's `say` is called.
    pub(crate) fn tell(&self, say: impl FnOnce(u64) + Send + 'static) {
        match self.step(Instant::now()) {
            Step::Say => say(0),
            Step::Hold => {}
            Step::Gather(until) => {
                let damper = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep_until(until).await;
                    say(damper.take(Instant::now()));
                });
            }
        }
    }

    fn step(&self, now: Instant) -> Step {
        let mut state = self.0.lock();
        match state.quiet_until {
            // Those gathered may be due and not yet said, on a busy machine.
            Some(until) if until > now || state.held > 0 => {
                state.held = state.held.saturating_add(1);
                if state.held == 1 { Step::Gather(until) } else { Step::Hold }
            }
            _ => {
                state.quiet_until = Some(now + PAUSE);
                Step::Say
            }
        }
    }

    fn take(&self, now: Instant) -> u64 {
        let mut state = self.0.lock();
        state.quiet_until = Some(now + PAUSE);
        std::mem::take(&mut state.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that were said: when in milliseconds, by which call, for how many more.
    type Lines = Arc<Mutex<Vec<(u128, u32, u64)>>>;

    /// Tells one line every so often, then lets all be said.
    async fn lines(damper: &Damper, count: u32, every: Duration) -> Vec<(u128, u32, u64)> {
        let (lines, start) = (Lines::default(), Instant::now());
        for number in 0..count {
            let lines = Arc::clone(&lines);
            damper.tell(move |more| lines.lock().push((start.elapsed().as_millis(), number, more)));
            tokio::time::sleep(every).await;
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        lines.lock().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_one_line_at_once_and_one_a_second_with_every_one_counted() {
        let said = lines(&Damper::default(), 4813, Duration::from_micros(500)).await;
        let times: Vec<_> = said.iter().map(|line| line.0).collect();
        assert_eq!(said[0], (0, 0, 0));
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 1000), "{said:?}");
        assert!(said.len() <= 7, "{said:?}");
        assert_eq!(said.iter().map(|line| line.2).sum::<u64>(), 4812, "{said:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn lines_far_apart_are_each_said_at_once() {
        let said = lines(&Damper::default(), 3, Duration::from_millis(1500)).await;
        assert_eq!(said, [(0, 0, 0), (1500, 1, 0), (3000, 2, 0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_are_told_without_another_to_bring_it_about_and_then_all_is_as_new() {
        let damper = Damper::default();
        for _ in 0..2 {
            let said = lines(&damper, 3, Duration::from_millis(100)).await;
            assert_eq!(said, [(0, 0, 0), (1000, 1, 2)]);
        }
    }
}
