//! Checking several limits at once, each for a cost of its own.

use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::options::{CheckOptions, UnknownLimit};
use crate::plan::{Plan, Terms};
use crate::verdict::Verdict;

/// One limit that a request asks, on its key.
#[derive(Debug, Clone, Copy)]
pub struct KeyCheck<'a> {
    /// The limit's name.
    pub limit: &'a str,
    /// The key it is counted on.
    pub key: &'a [u8],
    /// The units it takes; `None` for the limit's own cost, zero to look without taking.
    pub cost: Option<u32>,
}

impl Snapshot {
    /// Checks several limits at once: all are charged, each for its cost, or none is.
    ///
    /// A limit that is asked twice is charged twice, the second time as the first left it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::{CheckOptions, KeyCheck, Limit, Limiter, Quota, Span};
    ///
    /// let minute = Span::from_secs(60);
    /// let limiter = Limiter::in_memory([
    ///     Limit::new("requests", Quota::sliding_log(60, minute)?),
    ///     Limit::new("tokens", Quota::sliding_log(9_000, minute)?),
    /// ])?;
    /// let checks = [
    ///     KeyCheck { limit: "requests", key: b"ada", cost: None },
    ///     KeyCheck { limit: "tokens", key: b"ada", cost: Some(1_200) },
    /// ];
    /// let verdict = limiter.snapshot().check_each(&checks, CheckOptions::default()).await?;
    /// assert_eq!(verdict.decisions()[1].decision.remaining, 7_800);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When no limit has one of the names.
    pub async fn check_each(
        &self,
        checks: &[KeyCheck<'_>],
        options: CheckOptions,
    ) -> Result<Verdict, UnknownLimit> {
        let mut plan = Plan::default();
        for check in checks {
            let found = self.inner.by_name.get(check.limit).copied();
            let index = found.ok_or_else(|| self.unknown(check.limit))?;
            let limit = self.inner.limits.get(index).and_then(|registered| registered.variants.first());
            let cost = check.cost.or(options.cost).unwrap_or(limit.map_or(1, Limit::cost));
            plan.push(index, |out| {
                out.extend_from_slice(check.key);
                Ok::<_, UnknownLimit>(Some(Terms { variant: 0, cost }))
            })?;
        }
        Ok(self.inner.run(&plan, options).await)
    }
}
