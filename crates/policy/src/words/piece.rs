//! Pieces of a sentence: counts, times, keys and the words that say what they are for.

use std::ops::Range;

use tidegate_algorithms::Span;
use winnow::combinator::{alt, not, opt, peek, preceded, repeat};
use winnow::prelude::*;
use winnow::token::any;

use super::align::{Align, align};
use super::fraction::Fraction;
use super::lexer::{Kind, Token};
use super::names::{Named, Names, Noun, TOGETHER};
use super::number::{is_numeral, number};
use super::phrase::{Input, any_of, fail, one_of, sign, stem, word, words};
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

    /// Reads what a request costs.
    fn costs(&self, input: &mut Input<'_, '_>) -> ModalResult<What> {
        let each = any_of(&["each item", "every item", "all items"]);
        let of = opt(any_of(&[
            "of a request",
            "of each request",
            "of every request",
            "in a request",
            "in each request",
        ]));
        let items = (each, of, one_of(&["counts", "count"])).value(What::EachItem);
        let subject = any_of(&[
            "a request",
            "each request",
            "every request",
            "one request",
            "requests",
            "a call",
            "each call",
        ]);
        let units = (
            subject,
            one_of(&["counts", "count", "costs", "cost", "takes", "take"]),
            opt(word("as")),
            number,
        );
        let units = (units, opt(one_of(&["unit", "units"]))).map(|((.., number), _)| What::Costs(number));
        if let Ok(what) = alt((items, units)).parse_next(input) {
            return Ok(what);
        }
        let by = alt((words("counted by"), words("weighed by"), words("counted in"), words("by")));
        let Some(cost) = &self.cost else { return fail() };
        preceded((by, opt(word("the"))), |input: &mut Input<'_, '_>| cost.read(input))
            .value(What::CountedBy)
            .parse_next(input)
    }

    /// Reads a number with what it counts.
    fn count(&self, input: &mut Input<'_, '_>) -> ModalResult<What> {
        let adverb = alt((
            word("once").value(Fraction::ONE),
            word("twice").value(Fraction::whole(2)),
            word("thrice").value(Fraction::whole(3)),
            any_of(&["none", "nobody", "no one"]).value(Fraction::ZERO),
            any_of(&["another one", "another", "a single one", "a single", "just one"]).value(Fraction::ONE),
        ));
        let number = alt((adverb, number)).parse_next(input)?;
        let mut count = Count { number, noun: Counted::Unsaid, failed: false, quick: false };
        let more = ["more", "other", "others", "further", "additional", "back", "extra"];
        let is_more = |token: &Token<'_>| token.word().is_some_and(|word| more.contains(&word));
        let _: Option<Token<'_>> = opt(any.verify(is_more)).parse_next(input)?;
        while let Ok(noun) = self.noun(&mut count, input) {
            count.noun = noun.unwrap_or(count.noun);
        }
        if self.names.read(&mut { *input }).is_ok() {
            return Ok(What::CountedKey);
        }
        Ok(What::Count(count))
    }

    /// Reads one word of what is counted, and what it says of it; most say nothing new.
    fn noun(&self, count: &mut Count, input: &mut Input<'_, '_>) -> ModalResult<Option<Counted>> {
        if let Some(unit) = &self.unit
            && unit.read(input).is_ok()
        {
            return Ok(Some(Counted::Unit));
        }
        // An email address is a key, and an email is what is sent to it.
        let mut after = *input;
        if self.names.read(&mut after).is_ok() && input.len().saturating_sub(after.len()) > 1 {
            return fail();
        }
        let begin = *input;
        let token = any.parse_next(input)?;
        let known = |word: &str| {
            let stem = stem(word);
            let pair = input
                .first()
                .and_then(Token::word)
                .map(|next| format!("{stem} {}", super::phrase::stem(next)));
            if vocabulary::is_failed(word) || vocabulary::is_failure(&stem) {
                count.failed = true;
                return Some((0, None));
            }
            if word == "quick" {
                count.quick = true;
                return Some((0, None));
            }
            if pair.is_some_and(|pair| vocabulary::is_noun(&pair)) {
                return Some((1, Some(Counted::Requests)));
            }
            match &*stem {
                "item" => Some((0, Some(Counted::Items))),
                "unit" => Some((0, Some(Counted::Units))),
                stem if vocabulary::is_noun(stem) => Some((0, Some(Counted::Requests))),
                _ => None,
            }
        };
        let Some((more, noun)) = token.word().and_then(known) else {
            *input = begin;
            return fail();
        };
        *input = input.get(more..).unwrap_or_default();
        Ok(noun)
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

/// Phrases that stand for themselves.
fn fixed(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let carry = any_of(&[
        "unused ones do not carry over",
        "unused requests do not carry over",
        "nothing carries over",
        "unused ones are not carried over",
        "unused ones expire",
        "what is not used does not carry over",
    ]);
    let failures = any_of(&[
        "only failures count",
        "counting failures only",
        "only failures are counted",
        "failures only",
        "only failed ones count",
        "only failed requests count",
    ]);
    let paced = any_of(&["evenly spaced", "evenly paced", "spaced evenly", "paced to", "paced at", "paced"]);
    alt((carry.value(What::NoCarry), failures.value(What::Failed), paced.value(What::Paced)))
        .parse_next(input)
}

/// "Then wait 20 seconds for each further one".
fn wait_each(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let each = (
        any_of(&["for each", "for every", "before each", "before every"]),
        opt(any_of(&["further", "more", "next", "other", "new"])),
    );
    let noun =
        any.verify(|token: &Token<'_>| token.word().is_some_and(|word| vocabulary::is_noun(&stem(word))));
    let wait = preceded((opt(word("then")), one_of(&["wait", "waits"])), time);
    (wait, each, noun).map(|(time, ..)| What::WaitEach(time)).parse_next(input)
}

/// "A queue of 50", "may wait in line".
fn queue(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let of = opt(alt((
        any_of(&["of up to", "of at most", "of", "up to", "for", "size"]),
        sign(':').void(),
        sign('=').void(),
    )));
    let before = (opt(any_of(&["with a", "a", "the", "max", "its"])), word("queue"), of, peek(number))
        .value(What::QueueBefore);
    let modal = opt(any_of(&["may", "can", "to", "is allowed to", "are allowed to", "in", "will"]));
    let waits = one_of(&["wait", "waits", "waiting", "queue", "queued", "queues", "queueing", "queuing"]);
    let where_ = any_of(&["in line", "in a queue", "in the queue", "in turn", "for their turn"]);
    let after = (modal, waits, opt(where_)).value(What::QueueAfter);
    let place =
        (opt(one_of(&["place", "places"])), any_of(&["in the queue", "in a queue"])).value(What::QueueAfter);
    alt((before, after, place)).parse_next(input)
}

/// "A burst of 100", "at once".
fn burst(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let lead = any_of(&[
        "burst",
        "bursts",
        "bucket",
        "capacity",
        "starts with",
        "start with",
        "begins with",
        "begin with",
    ]);
    let of = opt(alt((
        any_of(&["of up to", "of at most", "up to", "of", "to", "size", "at"]),
        sign(':').void(),
        sign('=').void(),
    )));
    let before = (lead, of, peek(alt((number.void(), word("once").void())))).value(What::BurstBefore);
    let after = any_of(&[
        "all at once",
        "at once",
        "at one go",
        "at first",
        "at the start",
        "back to back",
        "immediately",
        "in a burst",
        "in a row",
        "in bursts",
        "in one go",
        "in one burst",
        "in quick succession",
        "in rapid succession",
        "instantly",
        "quickly",
        "right away",
        "straight away",
        "straightaway",
        "to begin with",
        "to start with",
        "up front",
        "upfront",
    ]);
    alt((before, after.value(What::BurstAfter))).parse_next(input)
}

/// "Locked out", "block".
fn lock(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let out = opt(any_of(&["you out", "them out", "it out", "out"]));
    (one_of(&["lock", "locks", "locked", "lockout", "block", "blocks", "blocked"]), out)
        .value(What::Lock)
        .parse_next(input)
}

/// "Never more", "no … more than".
fn negation(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let closed = any_of(&["never more", "not more", "no more", "and no more"]);
    let than = not(word("than"));
    alt((
        any_of(&["no more than", "not more than"]).value(What::Nothing),
        (closed, than).value(What::NeverMore),
        any_of(&["never", "at no time", "at no point"]).value(What::Never),
        words("more than").value(What::MoreThan),
        one_of(&["no", "not", "cannot"]).value(What::Not),
    ))
    .parse_next(input)
}

fn then(input: &mut Input<'_, '_>) -> ModalResult<What> {
    any_of(&[
        "then",
        "thereafter",
        "afterwards",
        "afterward",
        "after which",
        "after that",
        "from then on",
        "from there on",
        "and then",
    ])
    .value(What::Then)
    .parse_next(input)
}

/// A time with what leads it in.
fn timed(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let every_other = preceded((opt(word("in")), words("every other")), time).verify_map(|time: Time| {
        let twice = time.length.filter(|_| time.bare)?.as_micros().saturating_mul(2);
        Some(What::Per(Time { length: Some(Span::from_micros(twice)), ..time }))
    });
    let within = any_of(&["in", "over", "during", "within", "inside", "for", "per", "at", "across"]);
    let whichever = preceded(one_of(&["whichever", "whatever"]), time);
    let whichever = (
        whichever,
        one_of(&["you", "one"]),
        one_of(&["pick", "picks", "choose", "chooses", "take", "takes", "look"]),
    );
    let any_time = preceded((opt(within), word("any")), time);
    let rolling = preceded(
        opt((
            opt(any_of(&["in", "over", "during", "within", "per", "every", "each", "in each", "in every"])),
            opt(one_of(&["a", "the", "each", "every"])),
        )),
        time,
    )
    .verify(|time| time.rolling);
    let any_time = alt((any_time, whichever.map(|(time, ..)| time), rolling)).map(What::Any);
    let in_no = preceded(words("in no"), time).map(What::InNo);
    let per = alt((
        any_of(&["per", "every", "each", "by", "in each", "in every", "for each", "for every"]),
        sign('/').void(),
    ));
    let a_bare = preceded(one_of(&["a", "an"]), time).verify(|time| time.bare);
    let per =
        alt((a_bare, preceded(per, time), preceded(opt(word("then")), span::adverb), span::abbreviated));
    let inside = preceded(
        any_of(&["in", "within", "inside", "over", "during", "in the space of", "in a", "inside of"]),
        time,
    );
    alt((
        every_other,
        any_time,
        in_no,
        preceded(word("for"), time).map(What::For),
        inside.map(What::In),
        per.map(What::Per),
    ))
    .parse_next(input)
}

fn bare_time(input: &mut Input<'_, '_>) -> ModalResult<What> {
    time.map(What::Bare).parse_next(input)
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
    let phrase = any_of(FILLER_PHRASES);
    let all: Vec<()> = repeat(1..2, alt((phrase, word.void()))).parse_next(input)?;
    if all.is_empty() { fail() } else { Ok(What::Nothing) }
}
