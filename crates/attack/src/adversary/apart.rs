//! Counts that are kept apart: what the adversaries of regions and of processes have in common.

use tidegate_review::spoken_count;

use super::volleys::{as_often_as_it_fills, counted_once};
use super::{Aim, Beside};

/// Returns how many passed and how many had if they had been counted once, in words, when a whole burst more did.
pub(super) fn figures(aim: &Aim, beside: &Beside<'_>) -> Option<String> {
    let volleys = as_often_as_it_fills(aim, beside.play, aim.setting.stores());
    let once = counted_once(aim, &volleys, beside.attack.requests);
    let passed = beside.attack.admitted.saturating_sub(beside.attack.without_store);
    (passed >= once.saturating_add(u64::from(aim.burst().max(1)))).then(|| {
        format!(
            "of the same requests at one account {} passed where one count lets {} through",
            spoken_count(passed.into()),
            spoken_count(once.into())
        )
    })
}
