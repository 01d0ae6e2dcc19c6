//! Phone numbers in their one international form.
//!
//! A digit too many is the danger: networks that have heard a whole number ignore what follows, so each longer text
//! would reach the same phone under a limit of its own. Two things are asked of a number, neither of which refuses one
//! that somebody has:
//!
//! - Its country has numbers of this length that are dialled from abroad.
//! - It is not one of its country's mobile numbers with digits behind it. Lengths alone do not tell where freephone
//!   or fixed numbers are longer than mobile ones.
//!
//! The lists of ranges in use are not asked: new ones are opened faster than lists are updated.

mod place;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use phonenumber::metadata::{DATABASE, Descriptor, Metadata};
use phonenumber::{PhoneNumber, Type};
use unicode_normalization::UnicodeNormalization;

pub use place::example_phone;
pub(super) use place::{beginning, country, is_beginning, is_country};

use super::source::Unread;

/// A region whose national numbers are understood.
pub(crate) type Region = phonenumber::country::Id;

/// The longest text that is looked at: a number has 15 digits, and people put signs between them.
const MAX_LEN: usize = 64;

/// Kinds of numbers that a message or a call from abroad reaches.
const REACHED: [Type; 7] = [
    Type::Mobile,
    Type::FixedLine,
    Type::Voip,
    Type::PersonalNumber,
    Type::TollFree,
    Type::PremiumRate,
    Type::SharedCost,
];
/// Kinds that count where a country code has no other: within a country they are short codes (Canada's 310) or
/// another number's mailbox.
const OTHERS: [Type; 3] = [Type::Uan, Type::Pager, Type::Voicemail];

/// How long the numbers of one country code are.
struct Lengths {
    all: Vec<u16>,
    mobile: Vec<u16>,
}

/// The lengths by country code: the metadata gives them by kind of number only.
static LENGTHS: LazyLock<BTreeMap<u16, Lengths>> = LazyLock::new(|| {
    // By code: iterating over the regions leaves out codes of no country, which share a name.
    (1..1_000).filter_map(|code| Some((code, lengths(&DATABASE.by_code(&code)?)))).collect()
});

fn lengths(countries: &[&Metadata]) -> Lengths {
    let of = |kinds: &[Type]| {
        let mut lengths: Vec<u16> =
            described(countries, kinds).flat_map(|kind| kind.possible_length().to_vec()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    };
    let reached = of(&REACHED);
    let all = if reached.is_empty() { of(&OTHERS) } else { reached };
    Lengths { all, mobile: of(&[Type::Mobile]) }
}

/// Returns what is known of some kinds of numbers in some countries.
fn described<'a>(countries: &'a [&Metadata], kinds: &'a [Type]) -> impl Iterator<Item = &'a Descriptor> {
    countries.iter().flat_map(|country| kinds.iter().filter_map(|kind| country.descriptors().get(*kind)))
}

/// Reads a region's two letters; `None` when no numbers of it are known.
pub(crate) fn region(code: &str) -> Option<Region> {
    let region = Region::from_str(code).ok()?;
    DATABASE.by_id(region.as_ref()).map(|_| region)
}

/// The most expressions that are kept compiled, some 20 MiB at worst. Compiling one takes up to milliseconds, and the
/// library's own hundred do for a dozen countries: whoever mixes more would slow all requests down.
const EXPRESSIONS: usize = 1_000;

/// Loads what is known of countries' numbers, so that no request waits for it.
pub(crate) fn load() {
    LazyLock::force(&LENGTHS);
    if let Ok(mut expressions) = DATABASE.cache().lock() {
        expressions.set_capacity(EXPRESSIONS);
    }
    // The first number compiles the expressions that all of them need.
    let _ = e164("+16502530000", None);
}

/// Returns a number as `+` and digits, without any extension.
///
/// Only digits and the usual signs are read: what follows a letter or a semicolon (an extension, a second number)
/// would be another spelling of the same destination, or a second destination.
pub(super) fn e164(text: &str, region: Option<&Region>) -> Result<String, Unread> {
    const NOT_ONE: Unread = Unread::Ambiguous("is not a phone number");
    let text: Cow<'_, str> =
        if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().take(MAX_LEN).collect()) };
    let text = text.trim();
    let usual = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'+');
    let plus = text.rfind('+').is_none_or(|at| at == 0);
    if text.len() > MAX_LEN || !plus || !text.bytes().all(usual) {
        return Err(NOT_ONE);
    }
    // A number with its country code is that country's, whatever region national ones are read as: only so is
    // `+44 (0)20…` the number without the zero.
    let region = region.filter(|_| !text.starts_with('+'));
    let number = phonenumber::parse(region.copied(), text).map_err(|_| NOT_ONE)?;
    let typed: String = text.chars().filter(char::is_ascii_digit).collect();
    settle(&number, &typed, region).ok_or(NOT_ONE)
}

/// Returns the number that a text means: as it is typed where that is one, else as the library reads it. The library
/// takes a trunk prefix off whatever begins with one, so that +7 843 (Kazan) would lose its 8.
fn settle(number: &PhoneNumber, typed: &str, region: Option<&Region>) -> Option<String> {
    let code = number.code().value();
    let countries = DATABASE.by_code(&code)?;
    let typed = if region.is_some() { typed } else { typed.strip_prefix(&code.to_string())? };
    let prefix = region.and_then(|region| DATABASE.by_id(region.as_ref())?.national_prefix());
    let bare = prefix.and_then(|prefix| typed.strip_prefix(prefix));
    let is_one = |text: &&str| described(&countries, &REACHED).any(|kind| kind.is_match(text));
    if let Some(one) = [Some(typed), bare].into_iter().flatten().find(is_one) {
        return Some(format!("+{code}{one}"));
    }
    let read = settled(number)?;
    if is_possible(&read) {
        return Some(written(&read));
    }
    let as_typed = region.is_none() && !typed.starts_with('0') && is_possible_in(code, typed);
    as_typed.then(|| format!("+{code}{typed}"))
}

/// Reads a number again until that changes nothing: what an international prefix (`011`) introduces still has its
/// trunk prefix after the first time.
fn settled(number: &PhoneNumber) -> Option<PhoneNumber> {
    let mut number = number.clone();
    for _ in 0..MAX_LEN {
        let next = phonenumber::parse(None, written(&number)).ok()?;
        if written(&next) == written(&number) {
            return Some(next);
        }
        number = next;
    }
    None
}

/// Writes a number. The library's own formatter tries how the country groups digits before it leaves them ungrouped.
fn written(number: &PhoneNumber) -> String {
    format!("+{}{}", number.code().value(), number.national())
}

fn is_possible(number: &PhoneNumber) -> bool {
    is_possible_in(number.code().value(), &number.national().to_string())
}

/// Returns whether a number has as many digits as its country's numbers, and is not another number with digits
/// behind it.
fn is_possible_in(code: u16, national: &str) -> bool {
    let (Some(countries), Some(lengths)) = (DATABASE.by_code(&code), LENGTHS.get(&code)) else {
        return false;
    };
    u16::try_from(national.len()).is_ok_and(|length| lengths.all.contains(&length))
        && !runs_on(national, &countries, lengths)
}

/// Returns whether a number is a mobile one with digits behind it, and no number itself.
fn runs_on(national: &str, countries: &[&Metadata], lengths: &Lengths) -> bool {
    let shorter = || {
        let prefixes = lengths.mobile.iter().filter_map(|length| national.get(..usize::from(*length)));
        prefixes.filter(|prefix| prefix.len() < national.len())
    };
    if shorter().next().is_none() {
        return false;
    }
    let is_one = |text: &str, kinds: &[Type]| described(countries, kinds).any(|kind| kind.is_match(text));
    !is_one(national, &[Type::Mobile])
        && shorter().any(|prefix| is_one(prefix, &[Type::Mobile]))
        && !is_one(national, &REACHED)
}

#[cfg(test)]
mod tests;
