//! Limits whose store is gone.

use std::sync::Arc;

use tidegate::{Limit, OnStoreFailure};
use tidegate_review::YEAR;

use super::figure::{Figure, Unit};
use super::incidents::whole;
use super::played::{Fault, Passed, against, bucket, digits, float, log, play, secs, wide};
use super::{Case, Figures};
use crate::adversary::{Aim, Means, Play};
use crate::target::Bare;

pub(super) const CASES: [Case; 1] = [Case {
    id: "store-outage",
    what: "Five in thirty seconds, a store that is gone for a minute, and somebody who asks a thousand times a second meanwhile.",
    source: "from simulations alone",
    published: "no figure",
    unconfirmed: None,
    says: "A limit that lets everything through without its store is worth what the store's availability is: four nines at a \
           thousand a second are as many tries as the bucket of four lets through in a year.",
    figures: outage,
}];

/// Plays it for three minutes, in the second of which the store is gone.
fn played(on_store_failure: OnStoreFailure) -> Result<Passed, Fault> {
    let quota = log(5, 30)?;
    let mut aim = Aim::at(quota);
    aim.guards.iter_mut().for_each(|guard| guard.on_store_failure = on_store_failure);
    let target = Bare::limits([Limit::new("limit", quota).with_store_failure(on_store_failure)]);
    let means = Means { rate: 1_000, ..Means::default() };
    against(Arc::new(target), "outage", &aim, &Play { means, ..play(secs(9), secs(180)) })
}

fn outage() -> Figures {
    let code = digits(6, 3)?;
    let (open, closed) = (played(OnStoreFailure::Allow)?, played(OnStoreFailure::Deny)?);
    let a_year = float(YEAR.as_micros()) / 1e6 * 1e-4 * 1_000.0;
    let bucket = bucket(4, 1, 10)?.most_from_idle(YEAR);
    Ok(vec![
        Figure::simulated("tries that pass, where all are let through", Unit::Count, open.count())
            .known(60_000.0, 0),
        Figure::simulated("their chance", Unit::Percent, 100.0 * code.chance_of(whole(open.count())))
            .known(16.5, 1),
        Figure::simulated("tries that pass, where none are", Unit::Count, closed.count()).known(0.0, 0),
        Figure::computed("millions of tries a year in 0.01 % of it", Unit::Count, a_year / 1e6)
            .known_about(3.16, 2, 0.01),
        Figure::computed("millions a year by the bucket of four", Unit::Count, wide(bucket) / 1e6)
            .known_about(3.16, 2, 0.01),
    ])
}
