//! Tables of keys that forget somebody who is being refused.

use super::figure::{Figure, Unit};
use super::played::{Fault, at_quota, log, play, secs};
use super::{Case, Figures};
use crate::adversary::{Aim, Means, Play};
use crate::world::{Setting, StoreKind};

pub(super) const CASES: [Case; 1] = [Case {
    id: "table-flood",
    what: "Five in thirty seconds in a table that forgets the least recently used key, and 2,000 new keys a second between \
           guesses.",
    source: "github.com, world-of-claudecraft issue 147 and immich-folio pull requests 56 and 94 are of this kind",
    published: "no figure",
    unconfirmed: None,
    says: "L · λ / (K + L) guesses a second: sixty times the limit at a thousand keys, six times at ten thousand. Tidegate's \
           table forgets nobody who may still be refused.",
    figures: flood,
}];

const RATE: u32 = 2_000;

/// Returns how many guesses pass in thirty seconds.
fn passing(keys: usize, store: StoreKind) -> Result<f64, Fault> {
    let setting = Setting { keys, shared: false, store, ..Setting::default() };
    let aim = Aim { setting, ..Aim::at(log(5, 30)?) };
    let means = Means { rate: RATE, ..Means::default() };
    Ok(at_quota("flood", &aim, &Play { means, ..play(secs(9), secs(30)) })?.count())
}

fn flood() -> Figures {
    let law = |keys: f64| 5.0 * f64::from(RATE) / (keys + 5.0);
    let evicting = passing(1_000, StoreKind::Evicting { keys: 1_000 })?;
    Ok(vec![
        Figure::computed("in thirty seconds at a thousand keys, by the law", Unit::Count, 30.0 * law(1e3))
            .known(298.5, 1),
        // Guesses come five at a time.
        Figure::simulated("in thirty seconds at a thousand keys", Unit::Count, evicting)
            .known_about(298.5, 1, 2.5),
        Figure::computed("a second at ten thousand keys, by the law", Unit::PerSecond, law(1e4))
            .known(1.0, 1),
        Figure::simulated(
            "in thirty seconds at Tidegate's table",
            Unit::Count,
            passing(1_000, StoreKind::Right)?,
        )
        .known(5.0, 0),
    ])
}
