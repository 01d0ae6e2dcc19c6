//! How far plays have come, on standard error: a bar where somebody looks at one, else a line now and then.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A share is told in so many parts.
const PARTS: u64 = 1000;
/// So far apart lines are, and the first from the beginning: what takes less is told by what comes out.
const BETWEEN: Duration = Duration::from_secs(10);

/// How far plays have come.
pub(crate) enum Progress {
    /// On a terminal.
    Bar(OnceLock<ProgressBar>),
    /// In a log.
    Lines(Mutex<Lines>),
}

/// When the next line is due.
pub(crate) struct Lines {
    began: Instant,
    next: Duration,
    /// How many plays have ended.
    played: u64,
}

impl Progress {
    /// Begins, with nothing shown before the first play has ended.
    pub(crate) fn new() -> Self {
        if stderr().is_terminal() {
            Self::Bar(OnceLock::new())
        } else {
            Self::Lines(Mutex::new(Lines { began: Instant::now(), next: BETWEEN, played: 0 }))
        }
    }

    /// Notes that one more of so many plays has ended.
    pub(crate) fn played(&self, plays: usize) {
        match self {
            Self::Bar(bar) => {
                let length = u64::try_from(plays).unwrap_or(u64::MAX);
                begun(bar, length, "{bar:40} {pos} of {len} plays, {eta} left").inc(1);
            }
            Self::Lines(lines) => {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.played = lines.played.saturating_add(1);
                if lines.played < u64::try_from(plays).unwrap_or(u64::MAX) {
                    let far = format!("{} of {plays} plays", lines.played);
                    lines.tell(&far);
                }
            }
        }
    }

    /// Notes that such a share, from 0 to 1, has been played.
    pub(crate) fn reached(&self, share: f64) {
        self.reached_with(share, "");
    }

    /// Notes the same, with what is to be said of this moment.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share is no less than zero"
    )]
    pub(crate) fn reached_with(&self, share: f64, says: &str) {
        match self {
            Self::Bar(bar) => {
                let bar = begun(bar, PARTS, "{bar:40} {percent} %, {eta} left {msg}");
                bar.set_message(says.to_owned());
                bar.set_position((share * PARTS as f64) as u64);
            }
            Self::Lines(lines) => {
                let far = format!("{:.0} % {says}", share * 100.0);
                let far = far.trim_end();
                lines.lock().unwrap_or_else(PoisonError::into_inner).tell(far);
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Self::Bar(bar) = self
            && let Some(bar) = bar.get()
        {
            bar.finish_and_clear();
        }
    }
}

impl Lines {
    fn tell(&mut self, far: &str) {
        if let Some(line) = self.due(self.began.elapsed(), far) {
            // Whoever closed it does not want to know.
            let _ = writeln!(stderr(), "{line}");
        }
    }

    /// Returns the line that is due so long after the beginning, if one is.
    fn due(&mut self, after: Duration, far: &str) -> Option<String> {
        if after < self.next {
            return None;
        }
        self.next = after.saturating_add(BETWEEN);
        Some(format!("after {} s: {far}", after.as_secs()))
    }
}

fn begun<'a>(bar: &'a OnceLock<ProgressBar>, length: u64, template: &str) -> &'a ProgressBar {
    bar.get_or_init(|| {
        let bar = ProgressBar::new(length);
        // The templates are constants; one that were wrong would leave the bar as it is by default.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards a log against a line for every play, and whoever waits against none for minutes.
    #[test]
    fn a_line_is_written_every_ten_seconds_and_none_before() {
        let mut lines = Lines { began: Instant::now(), next: BETWEEN, played: 0 };
        let seconds = [1, 9, 10, 11, 19, 21, 30, 31];
        let told = seconds.map(|after| lines.due(Duration::from_secs(after), "3 of 9 plays").is_some());
        assert_eq!(told, [false, false, true, false, false, true, false, true]);
        let told = lines.due(Duration::from_secs(95), "3 of 9 plays");
        assert_eq!(told.as_deref(), Some("after 95 s: 3 of 9 plays"));
    }
}
