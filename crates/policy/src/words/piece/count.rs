//! Numbers with what they count, and what a request costs.

use winnow::combinator::{alt, opt, preceded};
use winnow::prelude::*;
use winnow::token::any;

use super::{Context, Count, Counted, What};
use crate::words::fraction::Fraction;
use crate::words::lexer::Token;
use crate::words::number::number;
use crate::words::phrase::{Input, any_of, fail, one_of, stem, word, words};
use crate::words::vocabulary;

impl Context {
    /// Reads what a request costs.
    pub(super) fn costs(&self, input: &mut Input<'_, '_>) -> ModalResult<What> {
        let one = |input: &mut Input<'_, '_>| match &self.items {
            Some(items) => items.read(input),
            None => fail(),
        };
        let each = (one_of(&["each", "every", "all"]), alt((one, one_of(&["item", "items"]).void())));
        let of = opt(any_of(&[
            "of a request",
            "of each request",
            "of every request",
            "in a request",
            "in each request",
        ]));
        let items = (each, of, one_of(&["counts", "count"])).value(What::EachItem);
        // "Each attempt counts" is what they do anyway; "each mail counts" may be meant of many in one request.
        let whole = ["request", "attempt", "call", "try", "hit", "one"];
        let part = any.verify(|token: &Token<'_>| {
            let noun = token.word().map(stem).unwrap_or_default();
            vocabulary::is_noun(&noun) && !whole.contains(&&*noun)
        });
        let nouns = (one_of(&["each", "every"]), part, one_of(&["counts", "count"])).value(What::EachNoun);
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
        if let Ok(what) = alt((items, nouns, units)).parse_next(input) {
            return Ok(what);
        }
        let by = alt((words("counted by"), words("weighed by"), words("counted in"), words("by")));
        let Some(cost) = &self.cost else { return fail() };
        preceded((by, opt(word("the"))), |input: &mut Input<'_, '_>| cost.read(input))
            .value(What::CountedBy)
            .parse_next(input)
    }

    /// Reads a number with what it counts.
    pub(super) fn count(&self, input: &mut Input<'_, '_>) -> ModalResult<What> {
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
        if let Some(items) = &self.items
            && items.read(input).is_ok()
        {
            return Ok(Some(Counted::Items));
        }
        // An email address is a key, and an email is what is sent to it.
        let mut after = *input;
        if self.names.read(&mut after).is_ok() && input.len().saturating_sub(after.len()) > 1 {
            return fail();
        }
        let begin = *input;
        let token = any.parse_next(input)?;
        let known = |word: &str| {
            let singular = stem(word);
            let pair = input.first().and_then(Token::word).map(|next| format!("{singular}_{}", stem(next)));
            if vocabulary::is_failed(word) || vocabulary::is_failure(&singular) {
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
            match &*singular {
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
