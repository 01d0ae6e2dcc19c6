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
    /// The units it takes, zero to look without taking. `None` for those of the options, or else the limit's own cost.
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

#[cfg(test)]
mod tests {
    use tidegate_algorithms::{Quota, Span};

    use super::*;
    use crate::limiter::Limiter;

    fn limiter() -> Limiter {
        let hour = |limit| Quota::sliding_log(limit, Span::from_secs(3_600)).unwrap();
        Limiter::in_memory([Limit::new("a", hour(5)), Limit::new("b", hour(9)).with_cost(2)]).unwrap()
    }

    fn ask(limit: &str, cost: Option<u32>) -> KeyCheck<'_> {
        KeyCheck { limit, key: b"k", cost }
    }

    async fn left(limiter: &Limiter, checks: &[KeyCheck<'_>]) -> Result<Vec<u32>, String> {
        let verdict = limiter.snapshot().check_each(checks, CheckOptions::default()).await;
        let verdict = verdict.map_err(|error| error.to_string())?;
        Ok(verdict.decisions().iter().map(|one| one.decision.remaining).collect())
    }

    /// Guards against one cost for all, and against a part that is charged although another refuses.
    #[tokio::test]
    async fn each_is_charged_its_own_cost_or_none_is() {
        let limiter = limiter();
        let look = [ask("a", Some(0)), ask("b", Some(0))];
        assert_eq!(left(&limiter, &[ask("a", Some(3)), ask("b", None)]).await, Ok(vec![2, 7]));
        let options = CheckOptions { cost: Some(4), ..CheckOptions::default() };
        let both = [ask("a", Some(1)), ask("b", None)];
        let verdict = limiter.snapshot().check_each(&both, options).await.unwrap();
        assert_eq!(
            verdict.decisions()[1].decision.remaining,
            3,
            "what is asked for all stands in for the own"
        );
        let too_much = [ask("a", Some(2)), ask("b", Some(1))];
        assert!(
            !limiter.snapshot().check_each(&too_much, CheckOptions::default()).await.unwrap().is_allowed()
        );
        assert_eq!(left(&limiter, &look).await, Ok(vec![1, 3]));
    }

    #[tokio::test]
    async fn a_limit_that_is_asked_twice_is_charged_twice() {
        let limiter = limiter();
        assert_eq!(left(&limiter, &[ask("a", None), ask("a", Some(3))]).await, Ok(vec![4, 1]));
        let unknown = left(&limiter, &[ask("a", None), ask("c", None)]).await;
        assert_eq!(unknown, Err("no limit is named \"c\"; there are: a, b".to_owned()));
        assert_eq!(left(&limiter, &[ask("a", Some(0))]).await, Ok(vec![1]), "nothing was charged");
    }
}
