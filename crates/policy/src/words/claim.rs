//! Claims: what the pieces of a sentence say together.

use std::ops::Range;

use tidegate_algorithms::Span;
use winnow::combinator::{alt, opt, peek, preceded, terminated};
use winnow::error::ContextError;
use winnow::prelude::*;
use winnow::token::any;

use super::align::Align;
use super::fraction::Fraction;
use super::names::Named;
use super::phrase::fail;
use super::piece::{Count, Counted, Piece, Stuck, What};
use super::span::Time;

/// One claim and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim {
    pub(super) says: Says,
    pub(super) place: Range<usize>,
}

/// What a claim says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Says {
    /// So many in such a time.
    Rate(Claimed),
    /// So many at once.
    Burst(Fraction),
    /// So many may wait.
    Queue(Fraction),
    /// A lock of this length.
    Lock(Span),
    Key(Named),
    Everyone,
    Align(Align),
    /// Each item of a request counts.
    EachItem,
    /// Each of something counts that a request may have several of.
    EachNoun,
    /// A request counts so many.
    Costs(Fraction),
    /// Requests are weighed by the limit's own table or header.
    CountedBy,
    /// Only what failed counts.
    Failures,
    /// Requests are started evenly.
    Paced,
    /// What is not used is lost.
    NoCarry,
    /// What is counted, beside a number.
    Counts(Counted),
}

/// A claimed number in a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claimed {
    pub(super) count: Fraction,
    pub(super) time: Time,
    /// Whether it is a bound, which holds wherever the time begins.
    pub(super) bound: bool,
}

type Pieces<'p> = &'p [Piece];

/// Puts pieces together.
pub(super) fn claims(pieces: &[Piece]) -> Result<Vec<Claim>, Stuck> {
    let mut claims = Vec::new();
    let mut rest = Vec::new();
    for piece in pieces {
        match alone(piece.what) {
            Some(says) => claims.push(Claim { says, place: piece.place.clone() }),
            None => rest.push(piece.clone()),
        }
        if let What::Count(count) = piece.what {
            if count.noun != Counted::Unsaid {
                claims.push(Claim { says: Says::Counts(count.noun), place: piece.place.clone() });
            }
            if count.failed {
                claims.push(Claim { says: Says::Failures, place: piece.place.clone() });
            }
        }
    }
    let mut left = rest.as_slice();
    while let Some(first) = left.first() {
        let whole = left;
        let Ok(says) = together(&mut left) else { return Err(stuck(first)) };
        let taken = whole.len().saturating_sub(left.len());
        let Some(last) = taken.checked_sub(1).and_then(|last| whole.get(last)) else {
            return Err(stuck(first));
        };
        if let Some(says) = says {
            claims.push(Claim { says, place: first.place.start..last.place.end });
        }
    }
    Ok(claims)
}

/// Returns what a piece claims by itself, wherever it stands.
fn alone(what: What) -> Option<Says> {
    Some(match what {
        What::Key(named) => Says::Key(named),
        What::Everyone => Says::Everyone,
        What::Align(align) => Says::Align(align),
        What::EachItem => Says::EachItem,
        What::EachNoun => Says::EachNoun,
        What::Costs(units) => Says::Costs(units),
        What::CountedBy => Says::CountedBy,
        What::Failed => Says::Failures,
        What::Paced => Says::Paced,
        What::NoCarry => Says::NoCarry,
        _ => return None,
    })
}

/// Reads the pieces that make one claim.
fn together(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let hourly = preceded(is(What::Then), per).map(|time| Some(rate((false, Fraction::ONE), time, false)));
    let then = is(What::Then).value(None);
    let each = any.verify_map(|piece: Piece| match piece.what {
        What::WaitEach(time) => Some(Some(rate((false, Fraction::ONE), (time, false), false))),
        _ => None,
    });
    alt((burst, queue, lock, in_no, counted_first, timed_first, each, hourly, then)).parse_next(input)
}

/// "Ten at once", "a burst of ten", "six quick ones", "five, then one every minute".
fn burst(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let before = preceded(is(What::BurstBefore), terminated(count, opt(is(What::BurstAfter))));
    let after = terminated(count, is(What::BurstAfter));
    let quick = count.verify(|count| count.quick);
    let then = (is(What::Then), amount, per).void();
    let before_then = terminated(count, peek(then));
    alt((before, after, quick, before_then)).map(|count| Some(Says::Burst(count.number))).parse_next(input)
}

/// "Up to ten may wait", "a queue of ten".
fn queue(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let before = preceded(is(What::QueueBefore), terminated(count, opt(is(What::QueueAfter))));
    let after = terminated(count, (is(What::QueueAfter), opt(is(What::QueueAfter))));
    alt((before, after)).map(|count| Some(Says::Queue(count.number))).parse_next(input)
}

/// "Locked for an hour", "a two-day lock".
fn lock(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let length = any.verify_map(|piece: Piece| match piece.what {
        What::For(time) | What::Bare(time) => time.length,
        _ => None,
    });
    let then = opt(is(What::Then));
    let locked = preceded((then, is(What::Lock)), length);
    let length = any.verify_map(|piece: Piece| match piece.what {
        What::For(time) | What::Bare(time) => time.length,
        _ => None,
    });
    let after = preceded(opt(is(What::Then)), terminated(length, is(What::Lock)));
    alt((locked, after)).map(|length| Some(Says::Lock(length))).parse_next(input)
}

/// "In no two hours … more than eight".
fn in_no(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let time = any.verify_map(|piece: Piece| match piece.what {
        What::InNo(time) => Some(time),
        _ => None,
    });
    let (time, _, count) = (time, is(What::MoreThan), count).parse_next(input)?;
    Ok(Some(rate((true, count.number), (time, true), false)))
}

/// "Five per minute", "never more than five in any minute".
fn counted_first(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let amount = amount.parse_next(input)?;
    let time = per.parse_next(input)?;
    let closed = opt(is(What::NeverMore)).parse_next(input)?;
    Ok(Some(rate(amount, time, closed.is_some())))
}

/// "Every minute five", "any minute: at most five".
fn timed_first(input: &mut Pieces<'_>) -> ModalResult<Option<Says>> {
    let time = per.parse_next(input)?;
    let amount = amount.parse_next(input)?;
    let closed = opt(is(What::NeverMore)).parse_next(input)?;
    Ok(Some(rate(amount, time, closed.is_some())))
}

fn rate((never, count): (bool, Fraction), (time, any): (Time, bool), closed: bool) -> Says {
    // "Never more" behind a nominal claim says that it is meant as a bound.
    Says::Rate(Claimed { count, time, bound: never || any || closed })
}

/// Reads a number with what denies more of it; says whether that is "never".
fn amount(input: &mut Pieces<'_>) -> ModalResult<(bool, Fraction)> {
    let deny = alt((is(What::Never).value(true), is(What::Not).value(false)));
    let never = opt(terminated(deny, is(What::MoreThan))).parse_next(input)?;
    let count = count.parse_next(input)?;
    Ok((never.unwrap_or(false), count.number))
}

/// Reads a time that leads or follows a number; says whether it is any such time.
fn per(input: &mut Pieces<'_>) -> ModalResult<(Time, bool)> {
    let time = |piece: Piece| match piece.what {
        What::Per(time) | What::In(time) => Some((time, time.rolling)),
        What::Any(time) => Some((time, true)),
        _ => None,
    };
    any.verify_map(time).parse_next(input)
}

fn count(input: &mut Pieces<'_>) -> ModalResult<Count> {
    let piece = any.parse_next(input)?;
    if let What::Count(count) = piece.what { Ok(count) } else { fail() }
}

fn is<'p>(what: What) -> impl ModalParser<Pieces<'p>, Piece, ContextError> {
    any.verify(move |piece: &Piece| piece.what == what)
}

fn stuck(piece: &Piece) -> Stuck {
    let why = match piece.what {
        What::Count(_) => "the number stands beside nothing that says what it limits",
        What::Never | What::Not | What::NeverMore => "it cannot be told what is denied",
        What::MoreThan => "more than so many is no limit, unless \"no\" or \"never\" stands before it",
        What::Lock => "it does not say for how long",
        What::CountedKey => "no limit counts how many keys there are",
        What::BurstBefore | What::BurstAfter => "it does not say how many at once",
        What::QueueBefore | What::QueueAfter => "it does not say how many may wait",
        _ => "the time stands beside no number",
    };
    Stuck { place: piece.place.clone(), why: why.to_owned() }
}
