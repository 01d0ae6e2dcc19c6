//! What somebody is called: as the service itself writes it, and in other spellings that it takes for the same.
//!
//! Spellings are those of a service that compares without regard to case and to blanks at the end, reads phone numbers
//! whatever stands between their digits, and drops the parameters of a path's segment. A tag in a mail address (`ada+1@`)
//! is none of them: to a service that is another account, though the mail lands in the same box.

use tidegate_policy::KeySource;
use tidegate_review::is_phone;

use super::phones::Phones;

/// What a name looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An account.
    Account,
    /// A mail address.
    Mail,
    /// A phone number in international form.
    Phone,
}

impl Form {
    /// Returns what a key's place holds, as far as its name tells.
    pub(super) fn of(place: &KeySource<'_>) -> Self {
        let says_mail = |text: &str| text.to_ascii_lowercase().contains("mail");
        match () {
            () if place.international => Self::Phone,
            () if says_mail(place.name) || super::fill::field(place).is_some_and(says_mail) => Self::Mail,
            () if is_phone(place) => Self::Phone,
            () => Self::Account,
        }
    }
}

/// What accounts are called: each of its eight letters is large or small by a bit of the spelling.
const WORD: &str = "customer";

/// Returns the name of a subject in a spelling. Each differs from every other both in its letters and in its blanks, so that
/// a key which brings only one of them together still tells all apart; in a path, blanks become parameters of the segment.
pub(super) fn name(form: Form, phones: &Phones, (subject, spelling): (u32, u8), in_path: bool) -> String {
    let letters = WORD.chars().enumerate();
    let cased = letters.map(
        |(at, letter)| {
            if spelling >> at & 1 == 1 { letter.to_ascii_uppercase() } else { letter }
        },
    );
    let word: String = cased.collect();
    let text = match form {
        Form::Phone => return phone(phones.number(subject), spelling, in_path),
        Form::Account => format!("{word}-{subject}"),
        Form::Mail => format!("{word}-{subject}@example.com"),
    };
    match (spelling, in_path) {
        (0, _) => text,
        (_, true) => format!("{text};v={spelling}"),
        (_, false) => {
            let (before, behind) = (usize::from(spelling >> 4), usize::from(spelling & 15));
            format!("{:before$}{text}{:behind$}", "", "")
        }
    }
}

/// Before which digits of a number, behind its country code, each bit of a spelling puts a sign: where people put one first.
const GAPS: [usize; 8] = [0, 3, 6, 1, 2, 4, 5, 7];

fn phone((code, national): (u16, String), spelling: u8, in_path: bool) -> String {
    let mut text = format!("+{code}");
    for (at, digit) in national.chars().enumerate() {
        let bit = GAPS.iter().position(|gap| *gap == at);
        if bit.is_some_and(|bit| spelling >> bit & 1 == 1) {
            text.push(if in_path { '-' } else { ' ' });
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Guards the numbers of fresh keys that aliasing is said to reach: a spelling that is another's is none.
    #[test]
    fn every_spelling_is_another_text() {
        let phones = Phones::of(&["US"]);
        for form in [Form::Account, Form::Mail, Form::Phone] {
            for in_path in [false, true] {
                let all: BTreeSet<String> =
                    (0..=u8::MAX).map(|spelling| name(form, &phones, (7, spelling), in_path)).collect();
                assert_eq!(all.len(), 256, "{form:?}");
                let bare: BTreeSet<String> = all.iter().map(|text| text.trim().to_owned()).collect();
                let small: BTreeSet<String> = all.iter().map(|text| text.to_lowercase()).collect();
                assert_eq!((bare.len(), small.len()), (256, 256), "{form:?}");
            }
        }
        assert_eq!(name(Form::Account, &phones, (7, 0), false), "customer-7");
        assert_eq!(name(Form::Mail, &phones, (7, 1), false), "Customer-7@example.com ");
        assert_eq!(name(Form::Account, &phones, (7, 0x21), false), "  CustoMer-7 ");
        assert_eq!(name(Form::Account, &phones, (7, 2), true), "cUstomer-7;v=2");
        assert_eq!(name(Form::Phone, &phones, (7, 7), false), "+1 650 200 0007");
    }
}
