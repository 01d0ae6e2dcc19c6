//! Checks that are no charges: many requests inside the moment between the two.

use super::figure::{Figure, Unit};
use super::played::{Fault, at_quota, log, play, secs};
use super::{Case, Figures};
use crate::adversary::{Aim, Means, Play};
use crate::world::{Setting, StoreKind};
use tidegate_algorithms::Span;

pub(super) const CASES: [Case; 3] = [
    Case {
        id: "sudo-558",
        what: "A limit of three and ten requests at once, at a check that goes by what it read before.",
        source: "github.com, Sudo pull request 558",
        published: "seven were looked at",
        unconfirmed: None,
        says: "Within the bound of L − 1 + C: twelve can pass.",
        figures: sudo,
    },
    Case {
        id: "inventorypro-255",
        what: "Twenty requests at once, at a check that goes by what it read before.",
        source: "github.com, inventorypro issue 255",
        published: "all twenty were looked at",
        unconfirmed: None,
        says: "Whatever the limit: each of twenty finds the same count, and with L = 1 as with any other all of them pass.",
        figures: inventory,
    },
    Case {
        id: "race",
        what: "A limit of five and twenty requests at once, at three kinds of stores.",
        source: "from the order of reads and writes alone",
        published: "no figure",
        unconfirmed: None,
        says: "L where the decision charges; L − 1 + C where it goes by an old count and adds; C · L where it writes back what \
               it read.",
        figures: race,
    },
];

/// Returns how many pass of so many at once.
fn passing(limit: u64, together: u32, store: StoreKind) -> Result<f64, Fault> {
    let setting = Setting { store, ..Setting::default() };
    let aim = Aim { setting, ..Aim::at(log(limit, 60)?) };
    let means = Means { concurrency: together, ..Means::default() };
    Ok(at_quota("race", &aim, &Play { means, ..play(secs(9), secs(50)) })?.count())
}

const GAP: Span = Span::from_millis(1);

fn sudo() -> Figures {
    let most = passing(3, 10, StoreKind::StaleCheck { gap: GAP })?;
    Ok(vec![Figure::simulated("can pass", Unit::Count, most).published_at_least(7.0).known(12.0, 0)])
}

fn inventory() -> Figures {
    let most = passing(1, 20, StoreKind::StaleCheck { gap: GAP })?;
    Ok(vec![Figure::simulated("pass at a limit of one", Unit::Count, most).published(20.0, 0)])
}

fn race() -> Figures {
    let of = |name, store, known| -> Result<Figure, Fault> {
        Ok(Figure::simulated(name, Unit::Count, passing(5, 20, store)?).known(known, 0))
    };
    Ok(vec![
        of("decides and charges in one step", StoreKind::Right, 5.0)?,
        of("checks an old count, adds: L − 1 + C", StoreKind::StaleCheck { gap: GAP }, 24.0)?,
        of("writes back what it read: C · L", StoreKind::ReadModifyWrite { gap: GAP }, 100.0)?,
    ])
}
