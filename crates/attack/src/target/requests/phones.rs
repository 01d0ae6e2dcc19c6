//! Phone numbers of subjects: the ten thousands of a subject are the number's range, the rest its last four digits.

use tidegate_policy::example_phone;

/// Digits that a range has behind a country's own, and the first number that they are.
const MIDDLE: usize = 3;
const FIRST: u32 = 200;
/// How many ranges a country has: 200 to 999.
const RANGES: u32 = 800;
/// The last digits, which tell neighbours apart.
const LAST: usize = 4;
/// How many numbers a range has.
pub(super) const RANGE: u32 = 10_000;

/// The countries whose numbers subjects have, range by range in turn.
#[derive(Debug, Clone)]
pub(super) struct Phones {
    countries: Vec<Country>,
}

#[derive(Debug, Clone)]
enum Country {
    /// Whose numbers are an area of three digits, an exchange of three, and four more: enough of them for all subjects.
    UnitedStates,
    /// Any other: its code, and what its numbers here begin with.
    Other { code: u16, lead: String },
}

impl Phones {
    /// Takes the numbers of regions (`US`, `FR`); those whose numbers are not known are left out.
    pub(super) fn of(regions: &[&str]) -> Self {
        let mut countries: Vec<Country> = regions.iter().filter_map(|region| Country::of(region)).collect();
        if countries.is_empty() {
            countries.push(Country::UnitedStates);
        }
        Self { countries }
    }

    /// Returns how many countries there are.
    pub(super) fn countries(&self) -> u32 {
        u32::try_from(self.countries.len()).unwrap_or(1)
    }

    /// Returns a subject's number as its country code and what follows.
    pub(super) fn number(&self, subject: u32) -> (u16, String) {
        let (range, last) = (subject / RANGE, subject % RANGE);
        let turn = range.checked_rem(self.countries()).unwrap_or(0);
        let inside = range.checked_div(self.countries()).unwrap_or(0);
        let country = usize::try_from(turn).ok().and_then(|turn| self.countries.get(turn));
        match country {
            Some(Country::Other { code, lead }) if inside < RANGES => {
                (*code, format!("{lead}{}{last:0LAST$}", inside.saturating_add(FIRST)))
            }
            // Also for ranges that the country has no more of: each range has one number here, whichever country's turn it is.
            _ => (1, american(range, last)),
        }
    }
}

impl Country {
    fn of(region: &str) -> Option<Self> {
        if region == "US" {
            return Some(Self::UnitedStates);
        }
        let (code, national) = example_phone(region)?;
        let lead = national.len().checked_sub(MIDDLE.saturating_add(LAST)).filter(|lead| *lead > 0)?;
        Some(Self::Other { code, lead: national.get(..lead)?.to_owned() })
    }
}

/// Returns the number behind +1: the areas begin at 650, California, and go round.
fn american(range: u32, last: u32) -> String {
    let area = (range / RANGES).saturating_add(450) % RANGES;
    let exchange = range % RANGES;
    format!("{}{}{last:0LAST$}", area.saturating_add(FIRST), exchange.saturating_add(FIRST))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Guards attacks on many numbers against two subjects that are one, and on ranges against numbers of other ranges.
    #[test]
    fn subjects_have_numbers_of_their_own_and_neighbours_share_all_but_four_digits() {
        for regions in [&["US"][..], &["US", "FR", "CA"], &["FR"], &["none"]] {
            let phones = Phones::of(regions);
            let ranges = (0..200_000).step_by(61).map(|range| range * RANGE);
            let subjects = (0..10_001).step_by(9).chain(ranges).chain(1 << 30..(1 << 30) + 9);
            let subjects: BTreeSet<u32> = subjects.collect();
            let numbers: BTreeSet<_> = subjects.iter().map(|subject| phones.number(*subject)).collect();
            assert_eq!(numbers.len(), subjects.len(), "{regions:?}");
            let (first, last) = (phones.number(0).1, phones.number(9_999).1);
            assert_eq!(first[..first.len() - 4], last[..last.len() - 4]);
            let next = phones.number(RANGE * phones.countries()).1;
            assert_ne!(first[..first.len() - 4], next[..next.len() - 4]);
        }
        assert_eq!(Phones::of(&["US", "FR"]).number(RANGE).0, 33);
    }
}
