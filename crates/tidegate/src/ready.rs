//! Waiting until a limit admits: for clients that keep to a limit rather than being refused by one.
//!
//! Everybody who waits for one key is told the same instant, since a refusal takes nothing. So those of one process
//! stand in line: the first asks and waits for its unit, the others come up in the order of their arrival. Between
//! processes, which know nothing of each other, a wait is drawn out by chance, so that they do not all ask at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tidegate_algorithms::{Retry, Span};
use tokio::sync::{Mutex as Line, OwnedMutexGuard};
use tokio::time::{Instant, sleep, timeout_at};

use crate::limiter::Limiter;
use crate::observe::lock;
use crate::options::{CheckOptions, UnknownLimit};
use crate::verdict::{Ruling, Verdict};

/// The shortest wait before the store is asked again: what a timer can tell apart.
const SHORTEST: Duration = Duration::from_millis(1);
/// The most by which chance draws out a wait for a store that others share.
const SPREAD: Duration = Duration::from_millis(100);
/// So many empty lines are left standing before they are cleared away.
const EMPTY_LINES: usize = 64;

type LineName = (Box<str>, Box<[u8]>);

/// The lines of those who wait, each for one limit on one key; one that nobody stands in goes away.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<Standing>);

#[derive(Debug, Default)]
struct Standing {
    lines: HashMap<LineName, Weak<Line<()>>>,
    /// How many lines there may be before the empty ones are cleared away.
    clear_at: usize,
}

impl Lines {
    /// Returns the line for a key, if somebody stands in it.
    fn find(&self, name: &LineName) -> Option<Arc<Line<()>>> {
        lock(&self.0).lines.get(name).and_then(Weak::upgrade)
    }

    /// Returns the line for a key.
    fn open(&self, name: &LineName) -> Arc<Line<()>> {
        let mut standing = lock(&self.0);
        if let Some(line) = standing.lines.get(name).and_then(Weak::upgrade) {
            return line;
        }
        if standing.lines.len() >= standing.clear_at {
            standing.lines.retain(|_, line| line.strong_count() > 0);
            // Twice as many as are left, so that clearing away costs each line a constant.
            standing.clear_at = standing.lines.len().saturating_mul(2).max(EMPTY_LINES);
        }
        let line = Arc::new(Line::new(()));
        standing.lines.insert(name.clone(), Arc::downgrade(&line));
        line
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        lock(&self.0).lines.len()
    }
}

impl Limiter {
    /// Waits until a limit has admitted what it costs, on one key, and returns the verdict: for a client that keeps to a
    /// limit of its own or of somebody else's.
    ///
    /// It returns at once, with a verdict that allows nothing, where waiting does not help: when the limit can never admit
    /// as much ([`Retry::Never`]), or the store does not answer and the limit denies then. So look at the verdict:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::{Limit, Limiter, Quota, Rate, Span};
    ///
    /// let hundred_a_second = Quota::leaky_bucket(Rate::new(100, Span::from_secs(1))?, 1_000)?;
    /// let limiter = Limiter::in_memory([Limit::new("mail-provider", hundred_a_second)])?;
    /// for message in ["one", "two", "three"] {
    ///     let verdict = limiter.until_ready("mail-provider", "our-account").await?;
    ///     if !verdict.is_allowed() {
    ///         return Err(verdict.explain().into());
    ///     }
    ///     println!("send {message}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// - **Order.** Those of one process who wait for one key are admitted in the order of their arrival, and who comes when
    ///   others wait stands behind them. Of several processes on one store the luckier goes first.
    /// - **Effort.** The store is asked again when it said that it would admit, and never more often than once a
    ///   millisecond; of a line only the first asks. A line admits one request per round trip to the store at most.
    /// - **Cancelling.** Who gives up has charged nothing: dropped while it waits it holds nothing, and what a store charges
    ///   for a call that is dropped on its way is given back once the answer is there. Of a leaky bucket, only the place at
    ///   the end of the queue can return. Where a store's answer is lost, the charge may stand, as with any check.
    /// - **How long.** As long as it takes. [`Limiter::until_ready_within`] takes a time.
    ///
    /// It needs a tokio runtime with its timer enabled.
    ///
    /// # Errors
    /// When no limit has this name.
    pub async fn until_ready(&self, limit: &str, key: impl AsRef<[u8]>) -> Result<Verdict, UnknownLimit> {
        self.wait(limit, key.as_ref(), None).await
    }

    /// Waits as [`Limiter::until_ready`] does, for `longest` at most, and returns the verdict: a refusal when that is not
    /// enough. It does so at once where the store tells a longer wait; who stands in line learns it at the end.
    ///
    /// # Errors
    /// When no limit has this name.
    pub async fn until_ready_within(
        &self,
        limit: &str,
        key: impl AsRef<[u8]>,
        longest: Duration,
    ) -> Result<Verdict, UnknownLimit> {
        // What cannot be added up is for ever.
        self.wait(limit, key.as_ref(), Instant::now().checked_add(longest)).await
    }

    async fn wait(&self, limit: &str, key: &[u8], end: Option<Instant>) -> Result<Verdict, UnknownLimit> {
        let name: LineName = (limit.into(), key.into());
        let lasting = Arc::clone(&self.in_force.load().lasting);
        let mut refused = None;
        if lasting.lines.find(&name).is_none() {
            match self.once(&name, end).await? {
                Asked::Ended(verdict) => return Ok(verdict),
                Asked::Again { verdict, .. } => refused = Some(verdict),
            }
        }
        let line = lasting.lines.open(&name);
        let Some(_place) = first_in(line, end).await else {
            // The time is over, and those before are still waiting.
            return match (refused, self.once(&name, end)) {
                (Some(verdict), _) => Ok(verdict),
                (None, last) => last.await.map(Asked::into_verdict),
            };
        };
        loop {
            match self.once(&name, end).await? {
                Asked::Ended(verdict) => return Ok(verdict),
                Asked::Again { wait, .. } => sleep(wait).await,
            }
        }
    }

    /// Asks once, and waits for the slot of a leaky bucket.
    async fn once(&self, name: &LineName, end: Option<Instant>) -> Result<Asked, UnknownLimit> {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let held = self.ask_held(name, left).await?;
        match *held.verdict.ruling() {
            Ruling::Allow { delay } if delay > Span::ZERO => sleep(delay.as_duration()).await,
            Ruling::Refuse { retry: Retry::After(wait) } => {
                let wait = self.drawn_out(wait.as_duration()).max(SHORTEST);
                if left.is_none_or(|left| wait <= left) {
                    return Ok(Asked::Again { verdict: held.kept(), wait });
                }
            }
            _ => {}
        }
        Ok(Asked::Ended(held.kept()))
    }

    /// Asks in a way that may be dropped at any time.
    async fn ask_held(&self, name: &LineName, left: Option<Duration>) -> Result<Held, UnknownLimit> {
        let most = left.map(|left| u64::try_from(left.as_micros()).unwrap_or(u64::MAX));
        let max_delay = most.map_or(Span::MAX, |most| Span::from_micros(most).min(Span::MAX));
        let options = CheckOptions { max_delay, ..CheckOptions::default() };
        let (limiter, name) = (self.clone(), name.clone());
        let ask = async move {
            let verdict = limiter.check_keys([(&*name.0, &*name.1)], options).await?;
            Ok(Held { limiter, verdict })
        };
        if self.is_alone() {
            // A store of this process answers without being waited for.
            return ask.await;
        }
        match tokio::spawn(ask).await {
            Ok(held) => held,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is being shut down, and this with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Returns whether the store is this limiter's own.
    fn is_alone(&self) -> bool {
        self.in_force.load().lasting.own_store.is_some()
    }

    /// Returns a wait, longer by chance where others may wait for the same.
    fn drawn_out(&self, wait: Duration) -> Duration {
        let mut chance = [0; 2];
        if self.is_alone() || getrandom::fill(&mut chance).is_err() {
            return wait;
        }
        let most = wait.div_f64(10.0).min(SPREAD);
        wait.saturating_add(most.mul_f64(f64::from(u16::from_ne_bytes(chance)) / f64::from(u16::MAX)))
    }
}

/// What came of asking once.
enum Asked {
    /// It is admitted, or waiting does not help.
    Ended(Verdict),
    /// It is to be asked again after a wait.
    Again { verdict: Verdict, wait: Duration },
}

impl Asked {
    fn into_verdict(self) -> Verdict {
        match self {
            Self::Ended(verdict) | Self::Again { verdict, .. } => verdict,
        }
    }
}

/// Waits until one is the first of a line; `None` when the time is over before.
async fn first_in(line: Arc<Line<()>>, end: Option<Instant>) -> Option<OwnedMutexGuard<()>> {
    match end {
        None => Some(line.lock_owned().await),
        Some(end) => timeout_at(end, line.lock_owned()).await.ok(),
    }
}

/// A verdict that nobody has been given yet: dropped, it gives back what was charged.
struct Held {
    limiter: Limiter,
    verdict: Verdict,
}

impl Held {
    /// Returns the verdict to whoever waited for it.
    fn kept(mut self) -> Verdict {
        std::mem::replace(&mut self.verdict, Verdict::passing())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let receipt = self.verdict.take_receipt();
        if receipt.is_empty() {
            return;
        }
        let limiter = self.limiter.clone();
        // A store may take its time, and a drop cannot wait.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = limiter.refund(receipt).await {
                    tracing::debug!(%error, "who gave up waiting keeps its charge");
                }
            });
        }
    }
}

#[cfg(test)]
mod tests;
