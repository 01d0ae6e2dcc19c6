//! What the parts of a key are called in a sentence.

use winnow::prelude::*;

use super::fraction::Fraction;
use super::lexer::{self, Kind};
use super::phrase::{Input, fail, stem};
use crate::key::{Key, Part};

/// What a client's address is called, beside its own name.
const ADDRESS: [&str; 9] = [
    "client",
    "IP",
    "IP address",
    "client IP",
    "client address",
    "client IP address",
    "address",
    "source IP",
    "source IP address",
];
/// The names that nothing but an address has.
const ONLY_ADDRESS: [&str; 6] =
    ["IP", "IP address", "client IP", "client IP address", "source IP", "source IP address"];
/// What the pattern of the rule that matched is called.
const ROUTE: [&str; 2] = ["endpoint", "route"];

/// What all are called that are counted together.
pub(super) const TOGETHER: [&str; 30] = [
    "everyone together",
    "everyone counted together",
    "everyone combined",
    "everyone taken together",
    "everybody together",
    "everybody counted together",
    "everybody combined",
    "all together",
    "altogether",
    "all callers together",
    "all callers counted together",
    "all callers combined",
    "all clients together",
    "all clients counted together",
    "all clients combined",
    "all users together",
    "all users combined",
    "all requests together",
    "all requests combined",
    "all traffic together",
    "all traffic combined",
    "shared by everyone",
    "shared by everybody",
    "shared by all",
    "shared by all callers",
    "shared by all clients",
    "overall",
    "in total",
    "globally",
    "as a whole",
];

/// A key that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// The part of the limit's key at this index.
    Part(usize),
    /// An address, which the limit does not count on.
    ForeignAddress,
}

/// One word of a name.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Text(String),
    Number(Fraction),
    Sign(char),
}

/// The names of a key's parts.
pub(super) struct Names {
    list: Vec<(Vec<Word>, Named)>,
}

impl Names {
    pub(super) fn of(key: &Key) -> Self {
        let mut list = Vec::new();
        for (index, part) in key.parts.iter().enumerate() {
            // A part's own name is nobody else's, whatever others are called.
            let own = |at: usize| u8::from(at > 0);
            let names = names(part).into_iter().enumerate();
            list.extend(names.filter_map(|(at, name)| Some((in_words(name)?, Named::Part(index), own(at)))));
        }
        if !key.parts.iter().any(Part::may_be_address) {
            let foreign = ONLY_ADDRESS.iter();
            list.extend(foreign.filter_map(|name| Some((in_words(name)?, Named::ForeignAddress, 2))));
        }
        // The longest name first.
        list.sort_by_key(|(words, _, rank)| (std::cmp::Reverse(words.len()), *rank));
        let list = list.into_iter().map(|(words, named, _)| (words, named)).collect();
        Self { list }
    }

    /// Reads a name, singular or plural.
    pub(super) fn read(&self, input: &mut Input<'_, '_>) -> ModalResult<Named> {
        for (words, named) in &self.list {
            if starts_with(input, words) {
                *input = input.get(words.len()..).unwrap_or_default();
                return Ok(*named);
            }
        }
        fail()
    }

    /// Returns whether a word is the last of a name: "the key" is short for "the API key".
    pub(super) fn is_head(&self, word: &str) -> bool {
        let word = Word::Text(stem(word).into_owned());
        self.list.iter().any(|(words, _)| words.last() == Some(&word))
    }
}

/// A noun of the file, such as `unit: cents`, to be found in a sentence.
pub(super) struct Noun(Vec<Word>);

impl Noun {
    pub(super) fn of(text: &str) -> Option<Self> {
        in_words(text).map(Self)
    }

    pub(super) fn read(&self, input: &mut Input<'_, '_>) -> ModalResult<()> {
        if !starts_with(input, &self.0) {
            return fail();
        }
        *input = input.get(self.0.len()..).unwrap_or_default();
        Ok(())
    }
}

fn starts_with(input: &Input<'_, '_>, words: &[Word]) -> bool {
    let is_same = |kind: Kind<'_>, word: &Word| match (kind, word) {
        (Kind::Word(given), Word::Text(word)) => stem(given) == *word,
        (Kind::Number(given), Word::Number(number)) => given == *number,
        (Kind::Sign(given), Word::Sign(sign)) => given == *sign,
        _ => false,
    };
    words.len() <= input.len() && input.iter().zip(words).all(|(token, word)| is_same(token.kind, word))
}

fn in_words(name: &str) -> Option<Vec<Word>> {
    let name = lexer::lower(&spoken(name));
    let tokens = lexer::tokens(&name).ok()?;
    let word = |kind| match kind {
        Kind::Word(word) => Word::Text(stem(word).into_owned()),
        Kind::Number(number) => Word::Number(number),
        Kind::Sign(sign) => Word::Sign(sign),
    };
    let words: Vec<Word> = tokens.into_iter().map(|token| word(token.kind)).collect();
    (!words.is_empty()).then_some(words)
}

fn names(part: &Part) -> Vec<&str> {
    let own = own_name(part);
    let mut names = vec![own];
    // A key that is written where it is used is named after its source: `header x-api-key`.
    names.extend(own.split_once(' ').map(|(_, value)| value.trim_start_matches('/')));
    names.extend(part.called.iter().map(String::as_str));
    if part.is_address() {
        names.extend(ADDRESS);
    }
    if part.is_route() {
        names.extend(ROUTE);
    }
    names
}

/// Returns a part's name, without the name of the team whose file declares it.
fn own_name(part: &Part) -> &str {
    match part.name.rsplit_once('/') {
        Some((_, own)) if !part.name.contains(' ') => own,
        _ => &part.name,
    }
}

/// Returns a name of the file as one speaks it.
pub(super) fn spoken(name: &str) -> String {
    name.replace(['-', '_', '/'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says what is counted on: "per client IP and endpoint", "for everyone together".
pub(super) fn per_key(key: &Key) -> String {
    if key.is_global() {
        return "for everyone together".to_owned();
    }
    let name = |part: &Part| match part.called.first() {
        Some(called) => called.clone(),
        None if part.name == "client_ip" => "client IP".to_owned(),
        None if part.is_route() => "endpoint".to_owned(),
        None => spoken(own_name(part)),
    };
    // Two parts that are called the same go by their own names.
    let name = |part: &Part| {
        let said = name(part);
        let is_same = |other: &&Part| other.name != part.name && own_names(other).contains(&said);
        if key.parts.iter().any(|other| is_same(&other)) { spoken(own_name(part)) } else { said }
    };
    let names: Vec<String> = key.parts.iter().map(name).collect();
    format!("per {}", names.join(" and "))
}

fn own_names(part: &Part) -> Vec<String> {
    names(part).into_iter().map(spoken).collect()
}
