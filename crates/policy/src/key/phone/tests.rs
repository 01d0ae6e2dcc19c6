//! Phone numbers: one form for each, none for what is no number, and none refused that somebody has.

use phonenumber::Type;
use phonenumber::metadata::DATABASE;

use super::{e164, load, region};

/// Guards phone numbers: each has one form, and no text smuggles a second destination.
#[test]
fn phone_numbers_have_one_form() {
    let us = region("US").unwrap();
    let e164 = |text: &str| super::e164(text, Some(&us)).ok();
    for spelling in [
        "+16502530000",
        "+1 650 253 0000",
        "(650) 253-0000",
        "650.253.0000",
        "1 650 253 0000",
        "011 1 650 253 0000",
        "＋１６５０２５３００００",
    ] {
        assert_eq!(e164(spelling).as_deref(), Some("+16502530000"), "{spelling}");
    }
    for spelling in ["+44 (0)20 7946 0958", "011 44 020 7946 0958", "+44 20 79460958", "+4402079460958"] {
        assert_eq!(e164(spelling).as_deref(), Some("+442079460958"), "{spelling}");
    }
    // Italian numbers keep their zero.
    assert_eq!(e164("+39 06 698 12345").as_deref(), Some("+390669812345"));
    for text in [
        "",
        "abc",
        "12",
        "+1 650 253 0000 ext. 5",
        "+16502530000;ext=5",
        "+16502530000,+442079460958",
        "+16502530000+442079460958",
        "1-800-FLOWERS",
        "tel:+16502530000",
        "+16502530000\u{200b}",
        &"1".repeat(65),
    ] {
        assert_eq!(e164(text), None, "{text}");
    }
    assert!(super::e164("650 253 0000", None).is_err(), "a national number of no region");
    assert!(region("XX").is_none() && region("us").is_none());
}

/// Guards against a limit that is walked around by more or fewer digits than a number has: networks ignore those
/// behind a whole number, so each would reach one phone.
#[test]
fn a_number_has_as_many_digits_as_its_country_gives() {
    let us = region("US").unwrap();
    let e164 = |text: &str| super::e164(text, Some(&us)).ok();
    for text in [
        "+141555500001",
        "+1415555000012",
        "555",
        "911",
        "+1555",
        "555-1234",
        "+1 310 1234",
        "(415) 555-26711234",
        "+4912",
        // A mobile number with digits behind it, where other numbers are as long.
        "+49151123456789",
        "+4915112345678999",
        "+91987654321012",
        "+9198765432109",
        "+659123456789",
        "+819012345678901",
        "+86138123456789",
        "+447911123456 7",
        "+33612345678 9",
        "+99912345678",
    ] {
        assert_eq!(e164(text), None, "{text}");
    }
}

/// Guards people against being refused: numbers as they have them, in the plans of twenty countries, with and without
/// their country code.
#[test]
fn numbers_that_people_have_are_read() {
    for (text, one) in [
        ("+1 415 555 0000", "+14155550000"),
        ("+1 242 359 1234", "+12423591234"),
        // An area code that no list has yet.
        ("+1 357 555 2671", "+13575552671"),
        ("+44 7911 123456", "+447911123456"),
        ("+44 1697 73555", "+44169773555"),
        ("+49 151 12345678", "+4915112345678"),
        ("+49 171 1234567", "+491711234567"),
        ("+49 30 123456", "+4930123456"),
        ("+49 7071 2901234", "+4970712901234"),
        ("+33 6 12 34 56 78", "+33612345678"),
        ("+39 347 123 4567", "+393471234567"),
        ("+39 06 698 12345", "+390669812345"),
        ("+43 664 1234567", "+436641234567"),
        ("+41 79 123 45 67", "+41791234567"),
        ("+91 98765 43210", "+919876543210"),
        ("+91 1800 123 4567", "+9118001234567"),
        ("+86 138 1234 5678", "+8613812345678"),
        ("+81 90 1234 5678", "+819012345678"),
        ("+81 3 1234 5678", "+81312345678"),
        ("+55 11 96123 4567", "+5511961234567"),
        ("+52 55 1234 5678", "+525512345678"),
        ("+54 9 11 2345 6789", "+5491123456789"),
        ("+234 802 123 4567", "+2348021234567"),
        ("+62 812 3456 7890", "+6281234567890"),
        ("+61 412 345 678", "+61412345678"),
        ("+65 9123 4567", "+6591234567"),
        ("+358 41 2345678", "+358412345678"),
        ("+7 912 345 67 89", "+79123456789"),
        ("+7 701 234 5678", "+77012345678"),
        // Trunk prefixes: typed where there is none to type, and digits that only look like one.
        ("+7 843 123 45 67", "+78431234567"),
        ("+49 (0) 151 12345678", "+4915112345678"),
        ("+49 00 151 12345678", "+4915112345678"),
        ("+225 01 23 45 67 89", "+2250123456789"),
        ("+800 1234 5678", "+80012345678"),
        ("+888 123 456 78901", "+88812345678901"),
    ] {
        assert_eq!(e164(text, None).ok().as_deref(), Some(one), "{text}");
        assert_eq!(e164(one, None).ok().as_deref(), Some(one), "{text}, read again");
    }
    for (code, text, one) in [
        ("RU", "8 (843) 123-45-67", "+78431234567"),
        ("RU", "843 123-45-67", "+78431234567"),
        ("RU", "8 800 123 45 67", "+78001234567"),
        ("DE", "0151 12345678", "+4915112345678"),
        ("AR", "011 15-2345-6789", "+5491123456789"),
        ("IT", "06 698 12345", "+390669812345"),
        ("BR", "(11) 96123-4567", "+5511961234567"),
        ("GB", "00 33 6 12 34 56 78", "+33612345678"),
    ] {
        let region = region(code).unwrap();
        assert_eq!(e164(text, Some(&region)).ok().as_deref(), Some(one), "{code} {text}");
    }
}

/// Guards against a country whose numbers are refused: each kind's example in the metadata is read as it stands.
#[test]
fn a_number_of_every_country_is_read() {
    load();
    let mut read = 0;
    for code in 1..1_000 {
        for country in DATABASE.by_code(&code).unwrap_or_default() {
            for kind in [Type::Mobile, Type::FixedLine, Type::TollFree] {
                let example = country.descriptors().get(kind).and_then(|kind| kind.example());
                let Some(number) = example.map(|example| format!("+{code}{example}")) else { continue };
                assert_eq!(e164(&number, None).ok().as_ref(), Some(&number), "{}", country.id());
                read += 1;
            }
        }
    }
    assert!(read > 500, "only {read} examples found");
}
