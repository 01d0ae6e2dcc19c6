//! What all parsers over tokens are made of.

use std::borrow::Cow;

use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::token::any;

use super::lexer::{Kind, Token};

/// The tokens that are left.
pub(super) type Input<'t, 's> = &'t [Token<'s>];

/// Gives way to the next alternative.
pub(super) fn fail<T>() -> ModalResult<T> {
    Err(ErrMode::Backtrack(ContextError::new()))
}

/// Reads one word.
pub(super) fn word<'t, 's: 't>(
    expected: &'static str,
) -> impl ModalParser<Input<'t, 's>, Token<'s>, ContextError> {
    any.verify(move |token: &Token<'_>| token.word() == Some(expected))
}

/// Reads one of several words.
pub(super) fn one_of<'t, 's: 't>(
    list: &'static [&'static str],
) -> impl ModalParser<Input<'t, 's>, Token<'s>, ContextError> {
    any.verify(move |token: &Token<'_>| token.word().is_some_and(|word| list.contains(&word)))
}

/// Reads one sign.
pub(super) fn sign<'t, 's: 't>(expected: char) -> impl ModalParser<Input<'t, 's>, Token<'s>, ContextError> {
    any.verify(move |token: &Token<'_>| token.kind == Kind::Sign(expected))
}

/// Reads several words that follow each other.
pub(super) fn words<'t, 's: 't>(expected: &'static str) -> impl ModalParser<Input<'t, 's>, (), ContextError> {
    move |input: &mut Input<'t, 's>| {
        for expected in expected.split(' ') {
            word_of(expected, input)?;
        }
        Ok(())
    }
}

/// Reads the longest of several phrases that is there.
pub(super) fn any_of<'t, 's: 't>(
    list: &'static [&'static str],
) -> impl ModalParser<Input<'t, 's>, (), ContextError> {
    move |input: &mut Input<'t, 's>| {
        let begin = *input;
        let mut best = None;
        for phrase in list {
            let mut rest = begin;
            let is_there = phrase.split(' ').all(|expected| word_of(expected, &mut rest).is_ok());
            if is_there && best.is_none_or(|best: Input<'_, '_>| rest.len() < best.len()) {
                best = Some(rest);
            }
        }
        *input = best.map_or_else(fail, Ok)?;
        Ok(())
    }
}

fn word_of(expected: &str, input: &mut Input<'_, '_>) -> ModalResult<()> {
    any.verify(|token: &Token<'_>| token.word() == Some(expected)).void().parse_next(input)
}

/// Returns a word in the form in which words are compared: singular, in American spelling.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    const SPELT: [(&str, &str); 3] = [("isation", "ization"), ("our", "or"), ("centre", "center")];
    let mut word = Cow::Borrowed(word);
    for (british, american) in SPELT {
        if word.contains(british) {
            word = Cow::Owned(word.replace(british, american));
        }
    }
    let cut = if word.len() > 4 && word.ends_with("ies") {
        return Cow::Owned(format!("{}y", word.strip_suffix("ies").unwrap_or(&word)));
    } else if ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| word.ends_with(end)) {
        2
    } else {
        usize::from(word.len() > 2 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us"))
    };
    let end = word.len().saturating_sub(cut);
    match word {
        Cow::Borrowed(word) => Cow::Borrowed(word.get(..end).unwrap_or(word)),
        Cow::Owned(mut word) => {
            word.truncate(end);
            Cow::Owned(word)
        }
    }
}
