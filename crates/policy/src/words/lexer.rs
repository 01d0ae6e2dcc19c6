//! Words, numerals and signs of a sentence, with their places.

use std::ops::Range;

use super::fraction::Fraction;

/// A word, a numeral or a sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind<'s>,
    /// Where it begins and ends, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind<'s> {
    /// A word, its ASCII letters in lower case.
    Word(&'s str),
    /// A numeral in digits.
    Number(Fraction),
    /// Any other sign.
    Sign(char),
}

/// A numeral that can be read in two ways, or in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) place: Range<usize>,
    pub(super) why: String,
}

impl<'s> Token<'s> {
    pub(super) fn word(&self) -> Option<&'s str> {
        if let Kind::Word(word) = self.kind { Some(word) } else { None }
    }
}

/// Returns the lower case of a sentence, in as many bytes, so that places hold in both. A capital M that stands alone
/// stays one: it is a minute to some and a month or a million to others.
pub(super) fn lower(says: &str) -> String {
    let bytes = says.as_bytes();
    let is_letter =
        |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_alphabetic);
    let keep = |index: usize| !is_letter(index.checked_sub(1)) && !is_letter(index.checked_add(1));
    says.char_indices()
        .map(|(index, char)| if char == 'M' && keep(index) { char } else { char.to_ascii_lowercase() })
        .collect()
}

/// Returns where "Ms" stands by itself: a thousand million times what is meant.
pub(super) fn megaseconds(says: &str) -> Option<Range<usize>> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    let bytes = says.as_bytes();
    let found = says.match_indices("Ms").find(|(at, _)| {
        !is_part(at.checked_sub(1).and_then(|at| bytes.get(at))) && !is_part(bytes.get(at.saturating_add(2)))
    });
    found.map(|(at, written)| at..at.saturating_add(written.len()))
}

/// Takes a sentence in lower case apart.
///
/// Hyphens and underscores within words are spaces; between numerals a hyphen stays, since it makes a range.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Unreadable> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(char) = lexer.peek() {
        let start = lexer.at;
        if char.is_ascii_digit() {
            let number = lexer.number()?;
            tokens.push(Token { kind: Kind::Number(number), start, end: lexer.at });
        } else if char.is_alphabetic() {
            let word = lexer.take_while(char::is_alphanumeric);
            tokens.push(Token { kind: Kind::Word(word), start, end: lexer.at });
        } else {
            lexer.skip(char);
            let kind = match char {
                _ if char.is_whitespace() || matches!(char, '_' | '"' | '\u{201c}' | '\u{201d}') => continue,
                '-' if !lexer.splits_numbers(start) => continue,
                '>' if text.get(..start).is_some_and(|before| before.ends_with(['=', '-'])) => continue,
                '+' if text
                    .get(..start)
                    .is_some_and(|before| before.ends_with(|char: char| char.is_ascii_digit())) =>
                {
                    let why = "\"+\" behind a number says that it is no limit".to_owned();
                    return Err(Unreadable { place: start..lexer.at, why });
                }
                '\'' | '\u{2019}' => match lexer.apostrophe(start) {
                    Some(word) => Kind::Word(word),
                    None => Kind::Sign('\''),
                },
                sign => Kind::Sign(sign),
            };
            tokens.push(Token { kind, start, end: lexer.at });
        }
    }
    Ok(tokens)
}

struct Lexer<'s> {
    text: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, char: char) {
        self.at = self.at.saturating_add(char.len_utf8());
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|char| !is(char)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(end);
        rest.get(..end).unwrap_or_default()
    }

    /// Reads the `s` of a possessive, or the end of a short form such as `can't`.
    fn apostrophe(&mut self, start: usize) -> Option<&'s str> {
        let before = self.text.get(..start)?.chars().next_back()?;
        let after = self.peek()?;
        (before.is_alphabetic() && after.is_alphabetic())
            .then(|| self.take_while(char::is_alphabetic))
            .map(|word| if word == "s" { "'s" } else { word })
    }

    /// Returns whether the sign at `start`, which has been read, stands between two numerals, or before one as a minus.
    fn splits_numbers(&self, start: usize) -> bool {
        let before = self.text.get(..start).unwrap_or_default();
        let digit = |char: Option<char>| char.is_some_and(|char| char.is_ascii_digit());
        let trimmed = before.trim_end().chars().next_back();
        let rest = self.rest();
        let next = rest.trim_start().chars().next();
        // "- 5" is a dash and a number, "-5" is no number of anything.
        let minus = (before.ends_with(char::is_whitespace) || before.is_empty())
            && !rest.starts_with(char::is_whitespace);
        digit(next) && (digit(trimmed) || minus)
    }

    /// Reads a numeral: digits in groups of three, or with decimals.
    fn number(&mut self) -> Result<Fraction, Unreadable> {
        let start = self.at;
        let mut digits = self.digits().to_owned();
        let mut separator = None;
        while let Some((sign, group)) = self.group() {
            if digits.len() > 3 && separator.is_none() || separator.is_some_and(|other| other != sign) {
                if sign.is_whitespace() {
                    break;
                }
                return self.unreadable(start, "its digits are not in groups of three");
            }
            separator = Some(sign);
            digits.push_str(group);
            self.at = self.at.saturating_add(sign.len_utf8()).saturating_add(group.len());
        }
        let Some(decimals) = self.decimals() else {
            return Fraction::decimal(&digits, "").map_or_else(|| self.unreadable(start, TOO_LARGE), Ok);
        };
        self.at = self.at.saturating_add(1);
        self.at = self.at.saturating_add(decimals.len());
        if separator.is_none() && decimals.len() == 3 && digits != "0" {
            return self.unreadable(
                start,
                "it can be read as a decimal or as thousands: write 1,000 with a comma, or 1.0 with one decimal",
            );
        }
        Fraction::decimal(&digits, decimals).map_or_else(|| self.unreadable(start, TOO_LARGE), Ok)
    }

    fn digits(&mut self) -> &'s str {
        self.take_while(|char| char.is_ascii_digit())
    }

    /// Returns the separator and the three digits that follow, if they do and no fourth one does.
    fn group(&self) -> Option<(char, &'s str)> {
        let rest = self.rest();
        let sign = rest.chars().next()?;
        let spaced = matches!(sign, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
        if !spaced && !matches!(sign, ',' | '_' | '\'' | '\u{2019}') {
            return None;
        }
        let after = rest.get(sign.len_utf8()..)?;
        let end = after.find(|char: char| !char.is_ascii_digit()).unwrap_or(after.len());
        let group = after.get(..end)?;
        // What is glued to it after a space is another number: `per 5 100ms`.
        let glued = spaced && after.get(end..)?.starts_with(char::is_alphabetic);
        (end == 3 && !glued).then_some((sign, group))
    }

    /// Returns the digits after a decimal point.
    fn decimals(&self) -> Option<&'s str> {
        let after = self.rest().strip_prefix('.')?;
        let end = after.find(|char: char| !char.is_ascii_digit()).unwrap_or(after.len());
        after.get(..end).filter(|digits| !digits.is_empty())
    }

    fn unreadable<T>(&mut self, start: usize, why: &str) -> Result<T, Unreadable> {
        self.take_while(|char| char.is_ascii_digit() || matches!(char, ',' | '.' | '_'));
        let end = self.at.max(start);
        let written = self.text.get(start..end).unwrap_or_default().trim_end_matches([',', '.', '_']);
        let end = start.saturating_add(written.len());
        Err(Unreadable { place: start..end, why: format!("\"{written}\" is not clear: {why}") })
    }
}

const TOO_LARGE: &str = "it is larger than any limit";
