//! A bar on standard error while plays go on, where somebody looks at one.

use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A share is told in so many parts.
const PARTS: u64 = 1000;

/// How far plays have come. Nothing is shown where standard error is no terminal.
pub(crate) struct Progress(OnceLock<ProgressBar>);

impl Progress {
    /// Begins, with nothing shown before the first play has ended.
    pub(crate) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Notes that one more of so many plays has ended.
    pub(crate) fn played(&self, plays: usize) {
        self.bar(u64::try_from(plays).unwrap_or(u64::MAX), "{bar:40} {pos} of {len} plays, {eta} left")
            .inc(1);
    }

    /// Notes that such a share, from 0 to 1, has been played.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share is no less than zero"
    )]
    pub(crate) fn reached(&self, share: f64) {
        self.bar(PARTS, "{bar:40} {percent} %, {eta} left").set_position((share * PARTS as f64) as u64);
    }

    fn bar(&self, length: u64, template: &str) -> &ProgressBar {
        self.0.get_or_init(|| {
            let bar = ProgressBar::new(length);
            // The templates are constants; one that were wrong would leave the bar as it is by default.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        })
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}
