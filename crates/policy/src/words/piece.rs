//! Pieces of a sentence: counts, times, keys and the words that say what they are for.

mod count;
mod role;
mod timed;

use std::ops::Range;

use winnow::combinator::{alt, not, opt, preceded};
use winnow::prelude::*;
use winnow::token::any;

use role::{burst, fixed, lock, negation, queue, then, wait_each};
use timed::{bare_time, timed};

use super::align::{Align, align};
use super::fraction::Fraction;
use super::lexer::{Kind, Token};
use super::names::{Named, Names, Noun, TOGETHER};
use super::number::is_numeral;
use super::phrase::{Input, any_of, fail, stem, word};
use super::span::{self, Time, time};
use super::vocabulary::{self, FILLER_PHRASES, SIGNS};

/// A piece and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) what: What,
    pub(super) place: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    Count(Count),
    /// Per, each, every, in a time.
    Per(Time),
    In(Time),
    /// In any such time, wherever it begins.
    Any(Time),
    /// In no such time.
    InNo(Time),
    For(Time),
    /// A time that nothing leads in: "15 min lock".
    Bare(Time),
    /// Each further one waits so long.
    WaitEach(Time),
    Never,
    Not,
    MoreThan,
    /// "Never more", behind what it closes.
    NeverMore,
    Then,
    BurstBefore,
    BurstAfter,
    QueueBefore,
    QueueAfter,
    Lock,
    Key(Named),
    Everyone,
    Align(Align),
    EachItem,
    /// Each of something counts that a request may have several of.
    EachNoun,
    /// What a request counts.
    Costs(Fraction),
    /// What requests are weighed by.
    CountedBy,
    Failed,
    Paced,
    NoCarry,
    /// Several keys after a count, which nobody counts.
    CountedKey,
    Nothing,
}

/// A number of what is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub(super) number: Fraction,
    pub(super) noun: Counted,
    pub(super) failed: bool,
    pub(super) quick: bool,
}

/// What a number is said to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// It is not said.
    Unsaid,
    /// Requests, by whichever name.
    Requests,
    /// Items of a request.
    Items,
    /// Units, in which costs without a name are told.
    Units,
    /// The file's `unit`.
    Unit,
}

/// What the file calls things.
pub(super) struct Context {
    pub(super) names: Names,
    pub(super) unit: Option<Noun>,
    pub(super) cost: Option<Noun>,
    /// What the items are that a request is counted by.
    pub(super) items: Option<Noun>,
}

/// Where nothing could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) place: Range<usize>,
    pub(super) why: String,
}

impl Context {
    /// Takes tokens apart into pieces.
    pub(super) fn pieces(&self, tokens: &[Token<'_>]) -> Result<Vec<Piece>, Stuck> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            let (start, whole) = (first.start, rest);
            let is_key = |piece: &Piece| matches!(piece.what, What::Key(_) | What::Everyone);
            let after_key = pieces.last().is_some_and(is_key);
            let read = self.plain_name(after_key, &mut rest).or_else(|refused| {
                rest = whole;
                if after_key { and_per(&mut rest) } else { Err(refused) }
            });
            let read = read.or_else(|_| {
                rest = whole;
                self.piece(&mut rest)
            });
            let Ok(what) = read else { return Err(stuck(first)) };
            // Nothing is read without a token: a parser that takes none would go on for ever.
            let taken = whole.len().saturating_sub(rest.len());
            let Some(last) = taken.checked_sub(1).and_then(|last| whole.get(last)) else {
                return Err(stuck(first));
            };
            if what != What::Nothing {
                pieces.push(Piece { what, place: start..last.end });
            }
        }
        Ok(pieces)
    }

    fn piece<'t, 's: 't>(&self, input: &mut Input<'t, 's>) -> ModalResult<What> {
        let keyed = alt((
            |input: &mut Input<'t, 's>| align(&self.names, input).map(What::Align),
            any_of(&TOGETHER).value(What::Everyone),
            |input: &mut Input<'t, 's>| self.costs(input),
            fixed,
        ));
        let role = alt((wait_each, queue, burst, lock, negation, then));
        let timed = alt((timed, bare_time));
        let named = |input: &mut Input<'t, 's>| self.named(input);
        let counted = |input: &mut Input<'t, 's>| self.count(input);
        let unit = |input: &mut Input<'t, 's>| match &self.unit {
            Some(unit) => unit.read(input).map(|()| What::Nothing),
            None => fail(),
        };
        alt((keyed, role, timed, named, counted, failed, unit, filler)).parse_next(input)
    }

    /// Reads a key's name that nobody takes for anything else, whatever its words are: of several words, or where "per"
    /// or a key and "and" stand before it.
    fn plain_name(&self, after_key: bool, input: &mut Input<'_, '_>) -> ModalResult<What> {
        let lead = opt(any_of(&["per", "for each", "for every", "each", "every"])).parse_next(input)?;
        let and = if after_key && lead.is_none() { opt(word("and")).parse_next(input)? } else { None };
        let begin = *input;
        let named = self.names.read(input)?;
        let taken = begin.len().saturating_sub(input.len());
        let is_time = begin.first().and_then(Token::word).is_some_and(span::is_unit);
        let is_led = (lead.is_some() || and.is_some()) && !is_time;
        if taken > 1 || is_led { Ok(What::Key(named)) } else { fail() }
    }

    /// Reads a key's name; the "one" before it is an article: "for one session".
    fn named(&self, input: &mut Input<'_, '_>) -> ModalResult<What> {
        let _ = opt(any_of(&["one", "a single", "any single", "any one"])).parse_next(input)?;
        self.names.read(input).map(What::Key)
    }
}

fn stuck(token: &Token<'_>) -> Stuck {
    let why = match token.kind {
        Kind::Word(word) if is_numeral(word) => format!("the number \"{word}\" is not part of any claim"),
        Kind::Word(word) if span::is_unit(word) => format!("the time \"{word}\" is not part of any claim"),
        Kind::Word(word) => vocabulary::why_unread(word),
        Kind::Number(_) => "the number is not part of any claim".to_owned(),
        Kind::Sign('-' | '\u{2013}') => "a range is no limit: which of the two numbers is it?".to_owned(),
        Kind::Sign('?') => "a question is no limit".to_owned(),
        Kind::Sign(sign) => format!("the sign \"{sign}\" is not one that limits are read from"),
    };
    Stuck { place: token.start..token.end, why }
}

/// "And day", behind a key that "per" leads in: "per account and day".
fn and_per(input: &mut Input<'_, '_>) -> ModalResult<What> {
    preceded((word("and"), not(word("the"))), time).verify(|time| time.bare).map(What::Per).parse_next(input)
}

fn failed(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let is_failed = |word: &str| vocabulary::is_failed(word) || vocabulary::is_failure(&stem(word));
    any.verify(|token: &Token<'_>| token.word().is_some_and(is_failed)).value(What::Failed).parse_next(input)
}

fn filler(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let word = any.verify(|token: &Token<'_>| match token.kind {
        Kind::Word(word) => vocabulary::is_filler(word) || word == "'s",
        Kind::Sign(sign) => SIGNS.contains(&sign),
        Kind::Number(_) => false,
    });
    alt((any_of(FILLER_PHRASES), word.void())).value(What::Nothing).parse_next(input)
}
