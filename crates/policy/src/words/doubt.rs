//! What makes a sentence doubtful although every word of it was read: words that are dropped as fillers, and pieces that are
//! put together over them, may turn its meaning round.

use super::claim::{Claim, Says};
use super::lexer::{Kind, Token};
use super::phrase::stem;
use super::piece::{Piece, Stuck, What};
use super::vocabulary::is_noun;

/// Words that add a condition, another key or another limit where they stand outside of what was read.
const DOUBTFUL: [&str; 10] =
    ["per", "together", "also", "same", "that", "which", "who", "where", "only", "just"];
/// Words that lead in a number, and mean something else where none follows.
const LEADING: [&str; 2] = ["with", "after"];
/// What may stand between such a word and its number.
const BETWEEN: [&str; 15] = [
    "a", "an", "the", "up", "to", "at", "most", "any", "each", "every", "as", "many", "room", "for", "places",
];
/// Words of limiting: between "never" and "more than" they turn it round.
const LIMITING: [&str; 9] =
    ["limit", "limited", "limits", "cap", "capped", "caps", "throttled", "restricted", "held"];
/// What one does not do more often: "do not send more than".
const DOING: [&str; 9] = ["send", "make", "use", "ask", "try", "take", "submit", "get", "receive"];
/// A part of a sentence that consists of these announces the rest of it.
const HEADINGS: [&str; 10] =
    ["a", "the", "hard", "max", "maximum", "limit", "limits", "limited", "cap", "please"];

/// A sentence with what was read of it.
pub(super) struct Doubts<'a> {
    pub(super) tokens: &'a [Token<'a>],
    pub(super) pieces: &'a [Piece],
    pub(super) claims: &'a [Claim],
}

impl Doubts<'_> {
    /// Returns the first doubt there is.
    pub(super) fn first(&self) -> Option<Stuck> {
        self.signs()
            .or_else(|| self.loose())
            .or_else(|| self.clauses())
            .or_else(|| self.denials())
            .or_else(|| self.order())
            .or_else(|| self.turns())
            .or_else(|| self.keys())
            .or_else(|| self.locks())
            .or_else(|| self.twice())
    }

    /// Returns whether a token is part of no piece.
    fn is_loose(&self, token: &Token<'_>) -> bool {
        !self.pieces.iter().any(|piece| piece.place.start <= token.start && token.end <= piece.place.end)
    }

    /// Returns the tokens between two places that belong to no piece.
    fn between(&self, start: usize, end: usize) -> impl Iterator<Item = &Token<'_>> {
        self.tokens.iter().filter(move |token| start <= token.start && token.end <= end)
    }

    fn next_piece(&self, at: usize) -> Option<&Piece> {
        self.pieces.iter().filter(|piece| piece.place.start >= at).min_by_key(|piece| piece.place.start)
    }

    /// Signs that compare, add or begin.
    fn signs(&self) -> Option<Stuck> {
        let last = self.tokens.len().saturating_sub(1);
        let wrong = |(at, token): &(usize, &Token<'_>)| match token.kind {
            // Between two keys it is "and".
            Kind::Sign('+') => !self.follows_key(token.start) || !self.is_key_at(token.end),
            Kind::Sign('!') => *at != last,
            Kind::Sign(sign) => *at == 0 && sign != '(',
            _ => false,
        };
        let (_, token) = self.tokens.iter().enumerate().find(wrong)?;
        self.is_loose(token).then(|| at(token, "it cannot be told what this sign says of the number"))
    }

    /// Words that were dropped and must not be.
    fn loose(&self) -> Option<Stuck> {
        let everyone = self.claims.iter().any(|claim| claim.says == Says::Everyone);
        for (place, token) in self.tokens.iter().enumerate() {
            let Some(word) = token.word() else { continue };
            let before = place.checked_sub(1).and_then(|place| self.tokens.get(place)).and_then(Token::word);
            let after = self.tokens.get(place.saturating_add(1)).and_then(Token::word);
            if word == "second" && matches!(before, Some("every" | "each")) && after.is_some_and(is_counted) {
                return Some(at(token, "\"every second\" may be one in two, or once in a second"));
            }
            if !self.is_loose(token) {
                continue;
            }
            let two_before =
                place.checked_sub(2).and_then(|place| self.tokens.get(place)).and_then(Token::word);
            if self.is_harmless(token, before, two_before) {
                continue;
            }
            if DOUBTFUL.contains(&word) || (everyone && matches!(word, "each" | "every" | "you")) {
                return Some(at(token, format!("it cannot be told what \"{word}\" adds")));
            }
            if LEADING.contains(&word) && !self.leads(token.end) {
                return Some(at(token, format!("it cannot be told what \"{word}\" adds")));
            }
            if word == "and" && self.follows_key(token.start) && after.is_some_and(is_counted) {
                return Some(at(token, "what stands beside the key is no part of it"));
            }
        }
        None
    }

    /// Returns whether a doubtful word is one of those turns of phrase in which it adds nothing.
    fn is_harmless(&self, token: &Token<'_>, before: Option<&str>, two_before: Option<&str>) -> bool {
        let next = self.next_piece(token.end);
        match token.word() {
            Some("that") => before == Some("happen"),
            Some("with") => self.is_key_at(token.end),
            Some("same") => matches!(two_before, Some("from" | "by")) && self.is_key_at(token.end),
            Some("who") => next.is_some_and(|next| next.what == What::Failed),
            Some("where") => next.is_some_and(|next| {
                matches!(next.what, What::EachItem | What::EachNoun | What::CountedBy | What::Costs(_))
            }),
            _ => false,
        }
    }

    /// Returns whether a key stands right there.
    fn is_key_at(&self, at: usize) -> bool {
        self.next_piece(at).is_some_and(|next| {
            matches!(next.what, What::Key(_)) && self.between(at, next.place.start).next().is_none()
        })
    }

    /// Returns whether a number follows, with nothing but small words in between.
    fn leads(&self, end: usize) -> bool {
        let Some(next) = self.next_piece(end) else { return false };
        let is_number =
            matches!(next.what, What::Count(_) | What::BurstBefore | What::QueueBefore | What::Failed);
        is_number
            && self
                .between(end, next.place.start)
                .all(|token| token.word().is_some_and(|word| BETWEEN.contains(&word)))
    }

    fn follows_key(&self, start: usize) -> bool {
        let before = self.pieces.iter().filter(|piece| piece.place.end <= start);
        before.max_by_key(|piece| piece.place.end).is_some_and(|piece| {
            matches!(piece.what, What::Key(_)) && self.between(piece.place.end, start).next().is_none()
        })
    }

    /// Parts of the sentence of which nothing was read: "further requests are accepted".
    fn clauses(&self) -> Option<Stuck> {
        let ends = |token: &Token<'_>| {
            matches!(
                token.kind,
                Kind::Sign(',' | ';' | ':' | '.' | '(' | ')' | '\u{2013}' | '\u{2014}' | '\u{2192}')
            )
        };
        for clause in self.tokens.split(ends) {
            let words: Vec<&str> = clause.iter().filter_map(Token::word).collect();
            let is_empty = clause.iter().all(|token| self.is_loose(token));
            let is_heading = words.iter().all(|word| HEADINGS.contains(word));
            if let (true, true, false, Some(first)) = (is_empty, words.len() > 1, is_heading, clause.first())
            {
                return Some(at(first, "this part of the sentence says nothing that a limit carries out"));
            }
        }
        None
    }

    /// "No" and "never" far from what they deny.
    fn denials(&self) -> Option<Stuck> {
        for pair in self.pieces.windows(2) {
            let [deny, more] = pair else { continue };
            if more.what != What::MoreThan {
                continue;
            }
            let mut between = self.between(deny.place.end, more.place.start);
            let turns = match deny.what {
                What::Not => between.any(|token| token.word().is_none_or(|word| !DOING.contains(&word))),
                What::Never | What::InNo(_) => {
                    between.any(|token| token.word().is_none_or(|word| LIMITING.contains(&word)))
                }
                _ => false,
            };
            if turns {
                return Some(stuck(deny, "it cannot be told what is denied"));
            }
        }
        None
    }

    /// What comes after "at once" and after "then".
    fn order(&self) -> Option<Stuck> {
        for (place, piece) in self.pieces.iter().enumerate() {
            let next = self.pieces.get(place.saturating_add(1));
            let behind = self.pieces.get(place.saturating_add(2));
            if piece.what == What::BurstAfter
                && let Some(time) = next.filter(|next| matches!(next.what, What::Per(_) | What::In(_)))
                && self.between(piece.place.end, time.place.start).next().is_none()
            {
                return Some(stuck(time, "it cannot be told whether this is how often, or how many at once"));
            }
            if let Some(time) = next.filter(|next| self.is_parted(piece, next)) {
                return Some(stuck(time, "it cannot be told whether this is how often, or how far apart"));
            }
            if piece.what != What::Then {
                continue;
            }
            let is_count = |piece: &Piece| matches!(piece.what, What::Count(_));
            if self.closes(place) {
                continue;
            }
            match next.map(|next| (next, next.what)) {
                Some((_, What::Count(_) | What::Lock | What::WaitEach(_) | What::For(_) | What::Bare(_))) => {
                }
                Some((time, What::Per(_))) if behind.is_some_and(is_count) || self.is_adverb(time) => {}
                _ => return Some(stuck(piece, "it does not say what comes then")),
            }
        }
        None
    }

    /// Returns whether a number and a time beside it are parted: "five attempts, each a minute", "a minute after five".
    fn is_parted(&self, first: &Piece, second: &Piece) -> bool {
        let is_time = |piece: &Piece| matches!(piece.what, What::Per(_) | What::In(_) | What::Any(_));
        let is_count = |piece: &Piece| matches!(piece.what, What::Count(_));
        let mut between = self.between(first.place.end, second.place.start);
        if is_count(first) && is_time(second) {
            between.any(|token| token.kind == Kind::Sign(','))
        } else {
            is_time(first) && is_count(second) && between.any(|token| token.word() == Some("after"))
        }
    }

    /// Returns whether a piece is "after that" behind what comes then: "and five a second after that".
    fn closes(&self, place: usize) -> bool {
        let Some(piece) = self.pieces.get(place) else { return false };
        let first = self.between(piece.place.start, piece.place.end).next().and_then(Token::word);
        let is_after = first.is_some_and(|word| word.contains("after"));
        let before = place.checked_sub(1).and_then(|place| self.pieces.get(place));
        let is_time = before.is_some_and(|before| matches!(before.what, What::Per(_) | What::For(_)));
        is_after && is_time && self.claims.iter().any(|claim| matches!(claim.says, Says::Burst(_)))
    }

    /// Returns whether a time stands as "hourly" or "every hour".
    fn is_adverb(&self, piece: &Piece) -> bool {
        let first = self.between(piece.place.start, piece.place.end).next().and_then(Token::word);
        first.is_some_and(|word| matches!(word, "every" | "each") || word.ends_with("ly"))
    }

    /// Turns of phrase that make something else of a number: "five and up", "five more a minute", "five a minute are held back".
    fn turns(&self) -> Option<Stuck> {
        let adds = self.claims.iter().any(|claim| matches!(claim.says, Says::Burst(_) | Says::Queue(_)));
        let mut is_stated = false;
        for (place, token) in self.tokens.iter().enumerate() {
            let Some(word) = token.word() else { continue };
            let after = self.tokens.get(place.saturating_add(1)).and_then(Token::word);
            let within =
                self.pieces.iter().find(|it| it.place.start <= token.start && token.end <= it.place.end);
            if within.is_some_and(|piece| matches!(piece.what, What::Per(_) | What::In(_) | What::Any(_))) {
                is_stated = true;
            }
            let counts = within.is_some_and(|piece| matches!(piece.what, What::Count(_)));
            let refuses = matches!(word, "held" | "throttled" | "restricted" | "charged");
            let goes_on = matches!(after, Some("at" | "to" | "by")) || self.waits_next(token.end);
            let is_wrong = match (word, after) {
                ("and", Some("up" | "more")) => within.is_none() && !self.leads(token.end),
                ("each" | "every", Some("of")) => within.is_none(),
                ("more" | "extra" | "other" | "others" | "additional", _) => counts && !adds,
                ("of", _) => within.is_none() && self.follows_time(token.start),
                _ => refuses && within.is_none() && is_stated && !goes_on,
            };
            if is_wrong {
                return Some(at(token, format!("it cannot be told what \"{word}\" makes of the number")));
            }
        }
        None
    }

    fn waits_next(&self, end: usize) -> bool {
        self.next_piece(end).is_some_and(|piece| matches!(piece.what, What::QueueAfter))
    }

    fn follows_time(&self, start: usize) -> bool {
        let before = self.pieces.iter().filter(|piece| piece.place.end <= start);
        before.max_by_key(|piece| piece.place.end).is_some_and(|piece| {
            matches!(piece.what, What::Per(_) | What::In(_) | What::Any(_))
                && self.between(piece.place.end, start).next().is_none()
        })
    }

    /// Of a key in several parts: "per account from any client", "for each client, and for each account".
    fn keys(&self) -> Option<Stuck> {
        let is_key = |piece: &&Piece| matches!(piece.what, What::Key(_));
        let keys: Vec<&Piece> = self.pieces.iter().filter(is_key).collect();
        for pair in keys.windows(2) {
            let [first, second] = pair else { continue };
            let any = |token: &&Token<'_>| token.word() == Some("any");
            let near = first.place.start.saturating_sub("any ".len());
            let found =
                self.between(near, first.place.start).chain(self.between(first.place.end, second.place.end));
            let mut found = found.filter(any);
            if let Some(token) = found.next() {
                return Some(at(token, "with any of these, one of the others alone is counted on"));
            }
            let between = || self.between(first.place.end, second.place.start);
            let is_parted = between().any(|token| matches!(token.kind, Kind::Sign(',' | ';')));
            let leads_anew = self
                .between(first.place.end, second.place.end)
                .any(|token| matches!(token.word(), Some("per" | "each" | "every")));
            if is_parted && leads_anew && between().any(|token| token.word() == Some("and")) {
                return Some(stuck(second, "it cannot be told whether each has a limit of its own"));
            }
        }
        None
    }

    /// A lock that begins later, or is shorter than it sounds.
    fn locks(&self) -> Option<Stuck> {
        let lock = self.pieces.iter().find(|piece| piece.what == What::Lock)?;
        let is_time = |piece: &&Piece| matches!(piece.what, What::For(_) | What::Bare(_) | What::In(_));
        let time = self.pieces.iter().filter(|piece| piece.place.start >= lock.place.end).find(is_time)?;
        let turns = |words: &'static [&str]| {
            move |token: &&Token<'_>| token.word().is_some_and(|word| words.contains(&word))
        };
        let before = &["after", "up", "most", "within", "least", "until"];
        let behind = &["or", "less", "fewer", "longer"];
        let end = time.place.end.saturating_add(" or fewer".len());
        let token = self.between(lock.place.end, time.place.start).find(turns(before));
        let token = token.or_else(|| self.between(time.place.end, end).find(turns(behind)))?;
        Some(at(token, "it cannot be told how long the lock lasts"))
    }

    /// Claims of one kind that stand there twice: two limits, or two keys' limits.
    fn twice(&self) -> Option<Stuck> {
        let kinds: [fn(&Says) -> bool; 4] = [
            |says| matches!(says, Says::Burst(_)),
            |says| matches!(says, Says::Queue(_)),
            |says| matches!(says, Says::Lock(_)),
            |says| matches!(says, Says::Rate(rate) if !rate.bound),
        ];
        let second =
            kinds.iter().find_map(|is_kind| self.claims.iter().filter(|it| is_kind(&it.says)).nth(1))?;
        let why = "it says this twice; each limit has a sentence of its own";
        Some(Stuck { place: second.place.clone(), why: why.to_owned() })
    }
}

/// Returns whether a word is what may be counted.
fn is_counted(word: &str) -> bool {
    matches!(word, "one" | "ones" | "key" | "keys" | "pair" | "line" | "place") || is_noun(&stem(word))
}

fn at(token: &Token<'_>, why: impl Into<String>) -> Stuck {
    Stuck { place: token.start..token.end, why: why.into() }
}

fn stuck(piece: &Piece, why: &str) -> Stuck {
    Stuck { place: piece.place.clone(), why: why.to_owned() }
}
