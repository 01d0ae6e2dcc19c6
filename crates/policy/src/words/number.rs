//! Numbers as people write them: digits, words to the millions, a dozen, half a million, 5k.

use winnow::combinator::{alt, opt, preceded};
use winnow::prelude::*;
use winnow::token::any;

use super::fraction::Fraction;
use super::lexer::{Kind, Token};
use super::phrase::{Input, fail, word, words};

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Reads a number.
pub(super) fn number(input: &mut Input<'_, '_>) -> ModalResult<Fraction> {
    alt((part_of_large, dozens, in_digits, in_words)).parse_next(input)
}

/// Returns whether a word is one that numbers are made of: one that is left over means a number that was not read.
pub(super) fn is_numeral(word: &str) -> bool {
    small(word).is_some() || scale(word).is_some() || matches!(word, "hundred" | "dozen")
}

/// Half a million, a quarter of a million, three quarters of a million.
fn part_of_large(input: &mut Input<'_, '_>) -> ModalResult<Fraction> {
    let halves = alt((words("half of a"), words("half a"))).value(Fraction::new(1, 2));
    let quarter = alt((words("a quarter of a"), words("quarter of a"), words("one quarter of a")));
    let quarters = words("three quarters of a").value(Fraction::new(3, 4));
    let part = alt((halves, quarter.value(Fraction::new(1, 4)), quarters)).parse_next(input)?;
    let mut large = alt((
        word("million").value(1_000_000),
        word("thousand").value(1_000),
        word("hundred").value(100),
        word("dozen").value(12),
    ));
    let large = large.parse_next(input)?;
    part.and_then(|part| part.times(Fraction::whole(large))).map_or_else(fail, Ok)
}

/// A dozen, two dozen.
fn dozens(input: &mut Input<'_, '_>) -> ModalResult<Fraction> {
    let how_many = alt((word("a").value(Fraction::ONE), in_digits, small_words.map(Fraction::whole)));
    let dozens = (how_many, alt((word("dozen"), word("dozens")))).parse_next(input)?.0;
    dozens.times(Fraction::whole(12)).map_or_else(fail, Ok)
}

/// 5, 5k, 1.5 million.
fn in_digits(input: &mut Input<'_, '_>) -> ModalResult<Fraction> {
    let token = any.parse_next(input)?;
    let Kind::Number(number) = token.kind else { return fail() };
    let glued = |next: &Token<'_>| next.word() == Some("k") && next.start == token.end;
    let thousand = any.verify(glued).value(1_000);
    let scaled = any.verify_map(|next: Token<'_>| next.word().and_then(scale));
    let times = opt(alt((thousand, scaled))).parse_next(input)?;
    times.map_or(Some(number), |times| number.times(Fraction::whole(times))).map_or_else(fail, Ok)
}

/// One hundred and fifty, twelve hundred, a thousand, three hundred thousand.
fn in_words(input: &mut Input<'_, '_>) -> ModalResult<Fraction> {
    let mut total: u64 = 0;
    let mut last = u64::MAX;
    let mut found = false;
    loop {
        let begin = *input;
        if found {
            let _ = opt(word("and")).parse_next(input)?;
        }
        let group = alt((hundreds, small_words)).parse_next(input);
        let Ok(group) = group else {
            *input = begin;
            break;
        };
        let times = opt(any.verify_map(|next: Token<'_>| next.word().and_then(scale))).parse_next(input)?;
        let times = times.unwrap_or(1);
        // What follows a thousand is smaller than a thousand; five six are two numbers.
        if times >= last || last == 1 {
            *input = begin;
            break;
        }
        found = true;
        last = times;
        total = total.saturating_add(group.saturating_mul(times));
        if times == 1 {
            break;
        }
    }
    if found { Ok(Fraction::whole(total)) } else { fail() }
}

/// A number in words up to ninety-nine hundred and ninety-nine, or the `a` of `a thousand`.
fn hundreds(input: &mut Input<'_, '_>) -> ModalResult<u64> {
    let rest = opt(preceded(opt(word("and")), small_words));
    let times = alt((word("a").value(1), small_words)).verify(|times| *times > 0);
    let hundred = (times, word("hundred"), rest).map(|(times, _, rest): (u64, _, Option<u64>)| {
        times.saturating_mul(100).saturating_add(rest.unwrap_or(0))
    });
    alt((hundred, a_large)).parse_next(input)
}

/// The `a` of `a thousand`.
fn a_large(input: &mut Input<'_, '_>) -> ModalResult<u64> {
    let _ = word("a").parse_next(input)?;
    let is_large = input.first().and_then(Token::word).and_then(scale).is_some();
    if is_large { Ok(1) } else { fail() }
}

/// A number in words up to ninety-nine.
fn small_words(input: &mut Input<'_, '_>) -> ModalResult<u64> {
    let first = any.verify_map(|next: Token<'_>| next.word().and_then(small)).parse_next(input)?;
    if !(20..100).contains(&first) {
        return Ok(first);
    }
    let unit = any.verify_map(|next: Token<'_>| next.word().and_then(small));
    let unit = opt(unit.verify(|unit: &u64| (1..10).contains(unit))).parse_next(input)?;
    Ok(first.saturating_add(unit.unwrap_or(0)))
}

fn small(word: &str) -> Option<u64> {
    let index =
        |list: &[&str]| list.iter().position(|one| *one == word).and_then(|at| u64::try_from(at).ok());
    index(&SMALL).or_else(|| index(&TENS).map(|tens| tens.saturating_add(2).saturating_mul(10)))
}

fn scale(word: &str) -> Option<u64> {
    match word {
        "thousand" => Some(1_000),
        "million" => Some(1_000_000),
        _ => None,
    }
}
