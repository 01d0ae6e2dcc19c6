//! Times with what leads them in.

use tidegate_algorithms::Span;
use winnow::combinator::{alt, opt, preceded};
use winnow::prelude::*;

use super::What;
use crate::words::phrase::{Input, any_of, one_of, sign, word, words};
use crate::words::span::{self, Time, time};

/// A time with what leads it in.
pub(super) fn timed(input: &mut Input<'_, '_>) -> ModalResult<What> {
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

pub(super) fn bare_time(input: &mut Input<'_, '_>) -> ModalResult<What> {
    time.map(What::Bare).parse_next(input)
}
