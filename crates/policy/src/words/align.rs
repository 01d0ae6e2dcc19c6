//! Where windows begin, as a sentence says it.

use tidegate_algorithms::{Calendar, Span};
use winnow::combinator::{alt, opt, preceded, repeat, terminated};
use winnow::prelude::*;
use winnow::token::any;

use super::lexer::Token;
use super::names::Names;
use super::phrase::{Input, any_of, fail, one_of, sign, stem, word, words};
use super::span::{Time, time};
use super::vocabulary;

/// Where windows are said to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// By the clock; with each full such time, if one is named.
    Clock(Option<Span>),
    /// With the first request.
    FirstHit,
    /// With each day, week or month of the calendar.
    Calendar(Calendar),
    /// In UTC.
    Utc,
}

const BEGINS: &[&str] = &[
    "begin",
    "beginning",
    "begins",
    "counted",
    "counting",
    "measured",
    "open",
    "opening",
    "opens",
    "reset",
    "resets",
    "resetting",
    "restart",
    "restarting",
    "restarts",
    "run",
    "running",
    "runs",
    "start",
    "starting",
    "starts",
];
const COUNTERS: &[&str] = &["clock", "count", "counter", "counting", "period", "window", "windows"];

/// Reads where windows begin, with the words that lead there: "the hour begins with the key's first call".
pub(super) fn align(names: &Names, input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let lead = preceded(lead, |input: &mut Input<'_, '_>| place(names, input));
    alt((calendar, lead, |input: &mut Input<'_, '_>| place(names, input))).parse_next(input)
}

/// "The counter restarts", "counting", "window opens".
fn lead(input: &mut Input<'_, '_>) -> ModalResult<()> {
    let counter = (opt(one_of(&["the", "a", "each", "every", "its"])), one_of(COUNTERS)).void();
    // Without its article, "a minute counted from" would lose its minute.
    let counter = alt((counter, (word("the"), time).void()));
    let begins = repeat::<_, _, Vec<_>, _, _>(1..3, one_of(BEGINS)).void();
    let again = opt(one_of(&["again", "anew", "afresh", "over"]));
    let mut begins = (begins, again).void();
    let whole = *input;
    if (counter, begins.by_ref()).parse_next(input).is_ok() {
        return Ok(());
    }
    *input = whole;
    begins.parse_next(input)
}

/// Where it begins: "from the first request", "on the full minute".
fn place(names: &Names, input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let first = |input: &mut Input<'_, '_>| first_hit(names, input);
    alt((first, full, word_clock, midnight)).parse_next(input)
}

/// "From the first request", "with the key's first call", "on first request".
fn first_hit(names: &Names, input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let _ = one_of(&["from", "with", "at", "on", "by"]).parse_next(input)?;
    let _ = opt(one_of(&["the", "its", "their", "a", "each", "every", "your"])).parse_next(input)?;
    let _ = opt(terminated(|input: &mut Input<'_, '_>| owner(names, input), word("'s"))).parse_next(input)?;
    let _ = one_of(&["first", "1st"]).parse_next(input)?;
    let noun =
        any.verify(|token: &Token<'_>| token.word().is_some_and(|word| vocabulary::is_noun(&stem(word))));
    let _ = (noun, opt(words("on"))).parse_next(input)?;
    Ok(Align::FirstHit)
}

fn owner(names: &Names, input: &mut Input<'_, '_>) -> ModalResult<()> {
    if names.read(input).is_ok() {
        return Ok(());
    }
    let is_head = |token: &Token<'_>| token.word().is_some_and(|word| names.is_head(word));
    any.verify(is_head).void().parse_next(input)
}

/// "From each full hour", "on the full minute", "every whole minute".
fn full(input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let lead = (one_of(&["from", "on", "at", "with", "by"]), opt(one_of(&["each", "every", "the", "a"])));
    let time = preceded((lead, one_of(&["full", "whole"])), time).parse_next(input)?;
    time_of_clock(time)
}

fn time_of_clock(time: Time) -> ModalResult<Align> {
    time.length.map_or_else(fail, |length| Ok(Align::Clock(Some(length))))
}

/// "By the clock".
fn word_clock(input: &mut Input<'_, '_>) -> ModalResult<Align> {
    any_of(&["by the clock", "on the clock", "with the clock"]).value(Align::Clock(None)).parse_next(input)
}

/// "At midnight", "on Mondays", "on the first of each month".
fn midnight(input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let midnight =
        any_of(&["at midnight", "from midnight", "with midnight", "every midnight", "each midnight"]);
    let monday =
        any_of(&["on monday", "on mondays", "every monday", "each monday", "from monday", "at monday"]);
    let month = any_of(&[
        "on the first of each month",
        "on the first of every month",
        "on the first of the month",
        "on the first day of each month",
        "on the first day of the month",
        "from the first of each month",
        "from the first of the month",
        "with the first of each month",
    ]);
    alt((
        midnight.value(Align::Calendar(Calendar::Day)),
        monday.value(Align::Calendar(Calendar::Week)),
        month.value(Align::Calendar(Calendar::Month)),
    ))
    .parse_next(input)
}

/// "From midnight to midnight", "Monday to Monday", "UTC".
fn calendar(input: &mut Input<'_, '_>) -> ModalResult<Align> {
    let from = || opt(word("from"));
    alt((
        (from(), words("midnight to midnight")).value(Align::Calendar(Calendar::Day)),
        (from(), words("monday to monday")).value(Align::Calendar(Calendar::Week)),
        (opt(sign('(')), opt(word("in")), word("utc"), opt(word("time")), opt(sign(')'))).value(Align::Utc),
    ))
    .parse_next(input)
}
