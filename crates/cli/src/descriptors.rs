//! File descriptors: as many as the system gives, and no more connections than those carry.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidegate_policy::Policy;

/// What is kept for everything but the gateway's connections: listeners, files, the other faces.
const SPARE: u64 = 64;

/// Raises the process's limit as far as it may, and lowers `max_connections` to what it carries then.
///
/// A request under way takes two descriptors. Were clients let in up to the last one, none would be left for the
/// upstream: a thousand idle connections would turn every request into a 502.
pub(crate) fn fit(policy: &mut Policy) {
    let asked = policy.gateway.as_ref().map(|face| face.max_connections);
    if let Some((limit, carried)) = fit_again(policy) {
        tracing::warn!(
            max_connections = asked,
            limit,
            taken = carried,
            "too few file descriptors for max_connections, so fewer connections are taken; raise the limit to more \
             than twice as many (LimitNOFILE= of the unit, ulimit -n), or lower max_connections"
        );
    }
}

/// Does the same for a policy that is reloaded, and says nothing of it: returns the limit and what it carries, if that is
/// less than the policy asks for.
pub(crate) fn fit_again(policy: &mut Policy) -> Option<(u64, usize)> {
    let face = policy.gateway.as_mut()?;
    let limit = raise()?;
    let carried = carries(limit);
    let too_many = face.max_connections > carried;
    face.max_connections = face.max_connections.min(carried);
    too_many.then_some((limit, carried))
}

/// Returns how many connections a limit carries, two descriptors each.
fn carries(limit: u64) -> usize {
    let carried = limit.saturating_sub(SPARE.min(limit / 2)) / 2;
    usize::try_from(carried).unwrap_or(usize::MAX).max(1)
}

/// Raises the soft limit to the hard one and returns what holds then, `None` for no limit.
pub(crate) fn raise() -> Option<u64> {
    /// The most that Linux gives a process unless told otherwise; asked for where the hard limit is none.
    const USUAL_MOST: u64 = 1 << 20;
    let before = getrlimit(Resource::Nofile);
    before.current?;
    let raised = Rlimit { current: before.maximum.or(Some(USUAL_MOST)), maximum: before.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the limit of file descriptors stays as it is");
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::carries;

    #[test]
    fn every_connection_has_two_descriptors_and_some_are_spared() {
        assert_eq!([0, 3, 64, 1_024, 65_536].map(carries), [1, 1, 16, 480, 32_736]);
        assert_eq!(carries(20_064), 10_000);
    }
}
