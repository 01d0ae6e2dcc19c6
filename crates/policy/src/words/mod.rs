//! The words of a limit, held against its numbers.
//!
//! A policy says each limit twice: in numbers, which are carried out, and in a sentence, which people read. `read`
//! takes the sentence apart and holds every claim against the numbers: what is nominal ("n per T") against the nominal
//! numbers, what is a bound ("never", "in any") against the most that any span admits. `canonical` writes the sentence
//! that says just what the numbers say.
//!
//! A sentence is tokens (`lexer`), then pieces such as a count or a time (`piece`), then claims (`claim`), and the
//! claims are judged (`judge`). A word that is in no piece and in no list leaves the sentence unread: nobody can say
//! what it adds.

mod align;
mod canonical;
mod claim;
mod doubt;
mod fraction;
mod judge;
mod lexer;
mod names;
mod number;
mod numbers;
mod phrase;
mod piece;
mod span;
mod vocabulary;

use std::ops::Range;

use tidegate_algorithms::Quota;

use crate::cost::Cost;
use crate::count::Count;
use crate::key::Key;
use crate::limit::{Limit, Terms};

pub use canonical::canonical;
pub(crate) use canonical::refusing;

/// What a sentence is held against: some terms of a limit, on its key, at its cost.
#[derive(Debug, Clone, Copy)]
pub struct Meaning<'a> {
    /// The algorithm with its numbers.
    pub quota: &'a Quota,
    /// What is counted on.
    pub key: &'a Key,
    /// What the units are, when they are not requests.
    pub unit: Option<&'a str>,
    /// How many units a request takes.
    pub cost: &'a Cost,
    /// Which requests count.
    pub count: &'a Count,
}

impl Limit {
    /// Returns what the sentence of some of the limit's terms has to say.
    pub fn meaning<'a>(&'a self, terms: &'a Terms) -> Meaning<'a> {
        Meaning {
            quota: &terms.quota,
            key: &self.key,
            unit: self.unit.as_deref(),
            cost: &self.cost,
            count: &self.count,
        }
    }
}

/// What came of reading a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// It says what the numbers say.
    Agrees {
        /// Claims that are nominally right, and that a reader may take for more than is so.
        misleading: Vec<Misleading>,
    },
    /// It says something else than the numbers; never empty.
    Contradicts(Vec<Contradiction>),
    /// It cannot be told what it says, or it does not say all.
    Unclear(Unclear),
}

/// A claim that the numbers do not bear out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Where the claim stands in the sentence, in bytes.
    pub place: Range<usize>,
    /// The claim as it is written.
    pub claim: String,
    /// What is so.
    pub fact: String,
    /// The sentence to write if the numbers are meant.
    pub sentence: String,
    /// What to write as numbers if the sentence is meant.
    pub numbers: String,
}

/// A claim that is nominally right, with the figure that it hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misleading {
    /// Where the claim stands in the sentence, in bytes.
    pub place: Range<usize>,
    /// The claim as it is written.
    pub claim: String,
    /// What is so, with the figure.
    pub fact: String,
    /// What to do about it.
    pub remedy: String,
}

/// Why it cannot be told what a sentence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclear {
    /// Where reading ended, in bytes; the whole sentence where something is missing.
    pub place: Range<usize>,
    /// Why.
    pub why: String,
    /// The sentence that Tidegate would write.
    pub sentence: String,
}

/// Reads a sentence and holds every claim of it against the numbers. No sentence makes it panic.
pub fn read(says: &str, meaning: &Meaning<'_>) -> Reading {
    claims(says, meaning).map_or_else(
        |(place, why)| Reading::Unclear(Unclear { place, why, sentence: canonical(meaning) }),
        |claims| judge::judge(says, &claims, meaning),
    )
}

/// Reads the claims of a sentence; the error says where and why it cannot be read.
fn claims(says: &str, meaning: &Meaning<'_>) -> Result<Vec<claim::Claim>, (Range<usize>, String)> {
    if let Some(place) = lexer::megaseconds(says) {
        return Err((place, "\"Ms\" are not milliseconds; write ms".to_owned()));
    }
    let text = lexer::lower(says);
    let tokens = lexer::tokens(&text).map_err(|unreadable| (unreadable.place, unreadable.why))?;
    let cost = match meaning.cost {
        Cost::Table(table) => names::Noun::of(table.name()),
        Cost::Header(header) => names::Noun::of(&header.part.name),
        Cost::Units(_) | Cost::Items(_) => None,
    };
    let items = match meaning.cost {
        Cost::Items(items) => items.pointer().rsplit('/').next().and_then(names::Noun::of),
        Cost::Units(_) | Cost::Table(_) | Cost::Header(_) => None,
    };
    let unit = meaning.unit.and_then(names::Noun::of);
    let context = piece::Context { names: names::Names::of(meaning.key), unit, cost, items };
    let told = |stuck: piece::Stuck| (stuck.place, stuck.why);
    let pieces = context.pieces(&tokens).map_err(told)?;
    let claims = claim::claims(&pieces).map_err(told)?;
    let doubts = doubt::Doubts { tokens: &tokens, pieces: &pieces, claims: &claims };
    doubts.first().map_or(Ok(claims.clone()), |stuck| Err(told(stuck)))
}

#[cfg(test)]
mod tests;
