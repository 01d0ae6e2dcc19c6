//! Lengths of time as people write them: 30 s, a minute and a half, three quarters of an hour, a calendar month.

use tidegate_algorithms::{Calendar, Span};
use winnow::combinator::{alt, opt, preceded, repeat};
use winnow::prelude::*;
use winnow::token::any;

use super::fraction::Fraction;
use super::lexer::{Kind, Token};
use super::number::number;
use super::phrase::{Input, any_of, fail, one_of, word, words};

/// A length of time with what is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Time {
    /// How long; `None` is a month, which has no length.
    pub(super) length: Option<Span>,
    /// Said to be any such time: rolling, sliding.
    pub(super) rolling: bool,
    /// Said to be one of the clock.
    pub(super) clock: bool,
    /// Said to be one of the calendar, or of UTC.
    pub(super) calendar: Option<Calendar>,
    /// Written as one unit without a number: "a minute", "an hour".
    pub(super) bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Micros(u64),
    Month,
}

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

const UNITS: [(&[&str], Unit); 9] = [
    (&["us", "µs", "microsecond", "microseconds"], Unit::Micros(1)),
    (&["ms", "msec", "msecs", "millisecond", "milliseconds"], Unit::Micros(MILLI)),
    (&["s", "sec", "secs", "second", "seconds"], Unit::Micros(SECOND)),
    (&["m", "min", "mins", "minute", "minutes"], Unit::Micros(MINUTE)),
    (&["h", "hr", "hrs", "hour", "hours"], Unit::Micros(HOUR)),
    (&["d", "day", "days"], Unit::Micros(DAY)),
    (&["w", "wk", "wks", "week", "weeks"], Unit::Micros(WEEK)),
    (&["fortnight", "fortnights"], Unit::Micros(2 * WEEK)),
    (&["month", "months"], Unit::Month),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mod {
    Rolling,
    Clock,
    Calendar,
    None,
}

/// Returns whether a word is a unit of time: one that is left over means a time that was not read.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(names, _)| names.contains(&word))
}

/// Reads a length of time with its article: "a minute", "30 seconds", "any" and "every" stand before it.
pub(super) fn time(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    (alt((quarters, halves, and_a_half, counted, bare)), opt(any_of(&PERIODS)))
        .map(|(time, _)| time)
        .parse_next(input)
}

/// Words that may follow: "any 60 minute period".
const PERIODS: [&str; 7] = ["period", "periods", "window", "windows", "stretch", "interval", "span"];

/// A quarter of an hour, three quarters of an hour.
fn quarters(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let one = alt((words("a quarter"), words("one quarter"), words("quarter"))).value(Fraction::new(1, 4));
    let three = alt((word("three").void(), any.verify(is_three).void()));
    let three = (three, word("quarters")).value(Fraction::new(3, 4));
    let of = alt((words("of an"), words("of a"), words("of one")));
    let (part, _, unit) = (alt((three, one)), opt(of), unit).parse_next(input)?;
    part.and_then(|part| scaled(part, unit)).map_or_else(fail, Ok)
}

fn is_three(token: &Token<'_>) -> bool {
    token.kind == Kind::Number(Fraction::whole(3))
}

/// Half a second, a half minute, half an hour.
fn halves(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let article = one_of(&["a", "an", "one"]);
    let half = (opt(one_of(&["a", "one"])), word("half"), opt(article));
    let unit = preceded(half, unit).parse_next(input)?;
    let time = Fraction::new(1, 2).and_then(|half| scaled(half, unit)).map_or_else(fail, Ok)?;
    Ok(Time { bare: true, ..time })
}

/// A minute and a half, two and a half hours.
fn and_a_half(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let article = opt(one_of(&["a", "an", "one"]));
    let after = (article, unit, words("and a half")).map(|(_, unit, ())| (Fraction::ONE, unit));
    let before = (number, words("and a half"), unit).map(|(count, (), unit)| (count, unit));
    let (count, unit) = alt((after, before)).parse_next(input)?;
    let half = Fraction::new(1, 2).and_then(|half| half.plus(count));
    half.and_then(|count| scaled(count, unit)).map_or_else(fail, Ok)
}

/// 30 seconds, two rolling hours, 1 hour 30 minutes.
fn counted(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let rolling = one_of(&["rolling", "sliding"]);
    let (_, before, count, mods, unit) =
        (opt(word("the")), opt(rolling), number, mods, unit).parse_next(input)?;
    let mut time = scaled(count, unit).map_or_else(fail, Ok)?;
    mark(&mut time, if before.is_some() { Mod::Rolling } else { mods }, unit);
    let mut smallest = unit;
    loop {
        let begin = *input;
        let more = preceded(opt(word("and")), (number, self::unit)).parse_next(input).ok();
        let Some((more, unit)) = more.filter(|(_, unit)| is_smaller(*unit, smallest)) else {
            *input = begin;
            return Ok(time);
        };
        let more = scaled(more, unit).and_then(|more| more.length);
        let sum = time.length.zip(more).map(|(a, b)| a.as_micros().saturating_add(b.as_micros()));
        time.length = sum.map(Span::from_micros);
        smallest = unit;
    }
}

/// A minute, the calendar month; the article has been read, or stands here.
fn bare(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let (_, mods, unit) = (opt(one_of(&["a", "an", "the"])), mods, unit).parse_next(input)?;
    let mut time = scaled(Fraction::ONE, unit).map_or_else(fail, Ok)?;
    mark(&mut time, mods, unit);
    time.bare = true;
    Ok(time)
}

fn is_smaller(unit: Unit, than: Unit) -> bool {
    matches!((unit, than), (Unit::Micros(unit), Unit::Micros(than)) if unit < than)
}

fn scaled(count: Fraction, unit: Unit) -> Option<Time> {
    let length = match unit {
        Unit::Micros(micros) => Some(Span::from_micros(count.times(Fraction::whole(micros))?.as_whole()?)),
        Unit::Month if count == Fraction::ONE => None,
        Unit::Month => return None,
    };
    Some(Time { length, ..Time::default() })
}

fn mark(time: &mut Time, mods: Mod, unit: Unit) {
    time.rolling = mods == Mod::Rolling;
    time.clock = mods == Mod::Clock;
    let calendar = match unit {
        Unit::Micros(DAY) => Some(Calendar::Day),
        Unit::Micros(WEEK) => Some(Calendar::Week),
        Unit::Month => Some(Calendar::Month),
        Unit::Micros(_) => None,
    };
    time.calendar = calendar.filter(|_| mods == Mod::Calendar);
}

/// What may stand between a number and its unit.
fn mods(input: &mut Input<'_, '_>) -> ModalResult<Mod> {
    let one = alt((
        one_of(&["rolling", "sliding"]).value(Mod::Rolling),
        word("clock").value(Mod::Clock),
        one_of(&["calendar", "utc"]).value(Mod::Calendar),
        one_of(&["full", "whole", "single", "one", "given"]).value(Mod::None),
    ));
    let all: Vec<Mod> = repeat(0..3, one).parse_next(input)?;
    Ok(all.into_iter().find(|one| *one != Mod::None).unwrap_or(Mod::None))
}

fn unit(input: &mut Input<'_, '_>) -> ModalResult<Unit> {
    any.verify_map(|token: Token<'_>| {
        let word = token.word()?;
        UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, unit)| *unit)
    })
    .parse_next(input)
}

/// Reads "hourly", "daily".
pub(super) fn adverb(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let micros = alt((
        word("hourly").value(Some(HOUR)),
        word("daily").value(Some(DAY)),
        word("weekly").value(Some(WEEK)),
        word("monthly").value(None),
    ));
    micros.map(|micros| Time { length: micros.map(Span::from_micros), ..Time::default() }).parse_next(input)
}

/// Reads "rps", "rpm" and their like, which say "per second".
pub(super) fn abbreviated(input: &mut Input<'_, '_>) -> ModalResult<Time> {
    let micros = alt((
        one_of(&["rps", "qps", "tps"]).value(SECOND),
        one_of(&["rpm", "qpm", "tpm"]).value(MINUTE),
        one_of(&["rph", "qph"]).value(HOUR),
        one_of(&["rpd", "qpd"]).value(DAY),
    ));
    micros.map(|micros| Time { length: Some(Span::from_micros(micros)), ..Time::default() }).parse_next(input)
}
