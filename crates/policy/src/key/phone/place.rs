//! Where a phone number belongs: its region, and the beginning that it shares with its neighbours.

use phonenumber::Type;
use phonenumber::metadata::{DATABASE, Metadata};

use super::{OTHERS, REACHED, described};

/// What numbers of no country have instead of a region.
const NO_COUNTRY: &str = "001";
/// How many digits at the end of a number tell neighbours apart.
const LAST: usize = 4;

/// Returns the region of a number in international form: two letters, or `001` for one of no country.
///
/// Where regions share a country code, the ranges in use decide; a number in none of them counts as the main
/// region's, so that a new range does not go without a country.
pub(in crate::key) fn country(number: &str) -> &'static str {
    let Some((countries, national)) = split(number) else { return NO_COUNTRY };
    let main = countries.iter().find(|country| country.is_main_country_for_code()).or(countries.first());
    let found = match countries.as_slice() {
        [only] => Some(only),
        // The main region first: freephone numbers and the like are many regions' at once.
        several => main.into_iter().chain(several).find(|country| has(country, national)).or(main),
    };
    found.map_or(NO_COUNTRY, |country| country.id())
}

/// Returns a number without its last four digits, but never less than its country code.
pub(in crate::key) fn beginning(number: &str) -> &str {
    let least = split(number).map_or(0, |(_, national)| number.len().saturating_sub(national.len()));
    number.get(..number.len().saturating_sub(LAST).max(least)).unwrap_or(number)
}

/// Returns a mobile number of a region as its country code and the digits behind that, for whoever makes requests up;
/// `None` for a text that is no region with such numbers.
pub fn example_phone(region: &str) -> Option<(u16, String)> {
    let known = DATABASE.by_id(region)?;
    let mobile = known.descriptors().get(Type::Mobile)?.example()?;
    Some((known.country_code(), mobile.to_owned()))
}

/// Returns whether a text is a region that numbers have.
pub(in crate::key) fn is_country(text: &str) -> bool {
    text == NO_COUNTRY || super::region(text).is_some()
}

/// Returns whether a text can be what [`beginning`] gives.
pub(in crate::key) fn is_beginning(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    digits.len() < 15 && digits.bytes().all(|byte| byte.is_ascii_digit()) && split(text).is_some()
}

/// Splits a number in international form into the countries of its code and the digits behind that. No code is the
/// beginning of another.
fn split(number: &str) -> Option<(Vec<&'static Metadata>, &str)> {
    let digits = number.strip_prefix('+')?;
    (1..=3).find_map(|length| {
        let (code, national) = digits.split_at_checked(length)?;
        let countries = DATABASE.by_code(&code.parse::<u16>().ok()?)?;
        Some((countries, national))
    })
}

/// Returns whether a number is a country's, among those that share its code.
fn has(country: &Metadata, national: &str) -> bool {
    match country.leading_digits() {
        Some(digits) => digits.find(national).is_some_and(|found| found.start() == 0),
        None => described(&[country], &REACHED)
            .chain(described(&[country], &OTHERS))
            .any(|kind| kind.is_match(national)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards a table by country against a neighbour's price: regions that share a code are told apart.
    #[test]
    fn a_number_has_the_region_that_its_network_bills() {
        for (number, region) in [
            ("+33612345678", "FR"),
            ("+16502530000", "US"),
            ("+14165550123", "CA"),
            ("+18765550123", "JM"),
            ("+18095550123", "DO"),
            ("+12423591234", "BS"),
            ("+17875550123", "PR"),
            ("+18002530000", "US"),
            ("+79123456789", "RU"),
            ("+77012345678", "KZ"),
            ("+447400123456", "GB"),
            ("+442079460958", "GB"),
            // A block of Guernsey's among British ones.
            ("+447911123456", "GG"),
            ("+447781123456", "GG"),
            ("+61412345678", "AU"),
            ("+390669812345", "VA"),
            ("+390669912345", "IT"),
            ("+393471234567", "IT"),
            ("+212650123456", "MA"),
            ("+262692123456", "RE"),
            ("+262639012345", "YT"),
            ("+80012345678", "001"),
            ("+88812345678901", "001"),
            ("+8816123456", "001"),
            ("+870773111632", "001"),
            // A range that no list has yet.
            ("+13575552671", "US"),
        ] {
            assert_eq!(country(number), region, "{number}");
        }
        assert_eq!((country(""), country("+"), country("+999123")), ("001", "001", "001"));
    }

    /// Guards made-up requests against numbers of another country than the one that is asked for.
    #[test]
    fn an_example_is_a_number_of_its_region() {
        for region in ["US", "CA", "GB", "FR", "DE", "ES", "IT", "BR", "IN", "NO", "PK"] {
            let (code, national) = example_phone(region).unwrap();
            assert_eq!(country(&format!("+{code}{national}")), region);
        }
        assert_eq!(example_phone("XX"), None);
    }

    /// Guards a limit on a block of numbers: the last four digits make no fresh key, and a short number keeps at
    /// least its country.
    #[test]
    fn a_beginning_is_shared_by_ten_thousand_numbers() {
        for (number, start) in [
            ("+33612345678", "+3361234"),
            ("+16502530000", "+1650253"),
            ("+6834000", "+683"),
            ("+68340", "+683"),
        ] {
            assert_eq!(beginning(number), start, "{number}");
            assert!(is_beginning(start), "{start}");
        }
        for text in ["", "+", "3361234", "+33 6", "+999", "+3361234x", "+123456789012345"] {
            assert!(!is_beginning(text), "{text}");
        }
        assert!(is_country("FR") && is_country("001") && !is_country("fr") && !is_country("XX"));
    }
}
