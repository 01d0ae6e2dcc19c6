//! Batching: several guesses in one request.
//!
//! A service that takes an array of codes, or the same field of a query under several names, checks several guesses for each
//! request that limits count. Whether a service does shows in no policy, so this is played only where a scenario says so: it
//! multiplies what every other attack comes to by the guesses that a request carries. A cost per item would count them.

use super::exposed::counted;
use super::schedule::rotation::Rotation;
use super::{Adversary, Aim, Beside, Exposed, Means, Need, Play, at_victim};
use crate::act::Seat;

/// One client puts several guesses into each request.
#[derive(Debug)]
pub(super) struct Batch;

impl Adversary for Batch {
    fn name(&self) -> &'static str {
        "batching"
    }

    fn what(&self) -> &'static str {
        "One client puts several guesses into each request, where the service takes them."
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Policy]
    }

    fn with(&self, means: &Means) -> Option<String> {
        Some(format!("{} in a request", counted(means.batch, "guess")))
    }

    fn fits(&self, _aim: &Aim) -> bool {
        false
    }

    fn seats(&self, aim: &Aim, play: &Play) -> Vec<Seat> {
        let rotation = Rotation::new(aim, play, at_victim()).guessing(play.means.batch);
        vec![Seat::adversary(rotation).with_jitter(play.jitter)]
    }

    fn exposes(&self, _aim: &Aim, beside: &Beside<'_>) -> Option<Exposed> {
        let (guesses, admitted) = (beside.attack.guesses, beside.attack.admitted);
        (guesses > admitted).then(|| Exposed {
            finding: None,
            says: format!(
                "{} were made in {}: what limits count is the request",
                counted(guesses, "guess"),
                counted(admitted, "request"),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::testbed::{ACCOUNT, Testbed, digits, log};
    use super::*;
    use tidegate_algorithms::Span;

    /// Guards against guesses that are counted as requests: k in each make k times as many.
    #[test]
    fn guesses_are_requests_times_those_that_each_carries() {
        let testbed = Testbed::of([(log(5, Span::from_secs(30)), ACCOUNT)]).guessing(digits(1));
        let testbed = testbed.lasting(Span::from_secs(3_600));
        let measured = testbed.met(&Batch);
        assert_eq!((measured.admitted, measured.guesses), (600, 6_000));
        let exposed = testbed.exposed(&Batch).unwrap();
        assert_eq!(exposed.says, "6,000 guesses were made in 600 requests: what limits count is the request");
    }

    /// Guards against a default run that accuses a service of what it may not do.
    #[test]
    fn nobody_is_taken_to_accept_batches() {
        assert!(!Batch.fits(&Testbed::of([(log(5, Span::from_secs(30)), ACCOUNT)]).aim));
    }
}
