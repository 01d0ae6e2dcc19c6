//! Words that say what a number or a time is for: a burst, a queue, a lock, a denial.

use winnow::combinator::{alt, not, opt, peek, preceded};
use winnow::prelude::*;
use winnow::token::any;

use super::What;
use crate::words::lexer::Token;
use crate::words::number::number;
use crate::words::phrase::{Input, any_of, one_of, sign, stem, word, words};
use crate::words::span::time;
use crate::words::vocabulary;

/// Phrases that stand for themselves.
pub(super) fn fixed(input: &mut Input<'_, '_>) -> ModalResult<What> {
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
pub(super) fn wait_each(input: &mut Input<'_, '_>) -> ModalResult<What> {
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
pub(super) fn queue(input: &mut Input<'_, '_>) -> ModalResult<What> {
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
pub(super) fn burst(input: &mut Input<'_, '_>) -> ModalResult<What> {
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
pub(super) fn lock(input: &mut Input<'_, '_>) -> ModalResult<What> {
    let out = opt(any_of(&["you out", "them out", "it out", "out"]));
    (one_of(&["lock", "locks", "locked", "lockout", "block", "blocks", "blocked"]), out)
        .value(What::Lock)
        .parse_next(input)
}

/// "Never more", "no … more than".
pub(super) fn negation(input: &mut Input<'_, '_>) -> ModalResult<What> {
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

pub(super) fn then(input: &mut Input<'_, '_>) -> ModalResult<What> {
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
