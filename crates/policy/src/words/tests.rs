//! Properties of all limits and of all sentences.

mod limits;

use proptest::prelude::*;
use smallvec::SmallVec;
use tidegate_algorithms::{Quota, Span};

use self::limits::{cost, count, form, key, part, quota, unit};
use super::{Meaning, Reading, canonical, read, vocabulary};
use crate::cost::Cost;
use crate::count::Count;
use crate::key::{Key, SourceKind};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// Guards against a sentence of ours that we ourselves read otherwise, or not at all: whoever takes it over would be
    /// refused for it.
    #[test]
    fn the_sentence_that_tidegate_writes_reads_back_to_the_same_numbers(
        quota in quota(), key in key(), unit in unit(), cost in cost(), count in count(),
    ) {
        let meaning = Meaning { quota: &quota, key: &key, unit, cost: &cost, count: &count };
        let sentence = canonical(&meaning);
        let reading = read(&sentence, &meaning);
        prop_assert!(matches!(reading, Reading::Agrees { .. }), "{sentence}\n{reading:?}");
    }

    /// Guards against two limits that have one sentence.
    #[test]
    fn a_sentence_of_other_numbers_does_not_agree(a in quota(), b in quota(), key in key()) {
        let meaning = |quota| Meaning { quota, key: &key, unit: None, cost: &Cost::Units(1), count: &Count::Every };
        let sentence = canonical(&meaning(&a));
        let agrees = matches!(read(&sentence, &meaning(&b)), Reading::Agrees { .. });
        prop_assert!(!agrees || is_alike(&a, &b), "{sentence} agrees with {b:?}");
    }
}

/// Returns whether one sentence may stand for both: a window of the clock and an estimated one have the same numbers.
fn is_alike(a: &Quota, b: &Quota) -> bool {
    let numbers = |quota: &Quota| match quota {
        Quota::FixedWindow(quota) => (quota.limit(), quota.window()),
        Quota::SlidingLog(quota) => (quota.limit(), quota.window()),
        Quota::SlidingCounter(quota) => (quota.limit(), quota.window()),
        _ => (u32::MAX, Span::ZERO),
    };
    a == b || numbers(a) == numbers(b)
}

/// What sentences are made of, and what they are not.
const SOUP: [&str; 96] = [
    "a",
    "an",
    "the",
    "per",
    "each",
    "every",
    "any",
    "no",
    "not",
    "never",
    "more",
    "than",
    "at",
    "most",
    "up",
    "to",
    "once",
    "twice",
    "then",
    "one",
    "two",
    "five",
    "ten",
    "twenty",
    "hundred",
    "thousand",
    "million",
    "dozen",
    "half",
    "quarter",
    "quarters",
    "of",
    "and",
    "or",
    "fewer",
    "second",
    "seconds",
    "minute",
    "hour",
    "holiday",
    "week",
    "month",
    "fortnight",
    "ms",
    "s",
    "m",
    "M",
    "h",
    "d",
    "rolling",
    "calendar",
    "clock",
    "utc",
    "midnight",
    "monday",
    "first",
    "request",
    "requests",
    "failed",
    "wrong",
    "item",
    "items",
    "counts",
    "count",
    "may",
    "wait",
    "waiting",
    "queue",
    "burst",
    "lock",
    "locked",
    "for",
    "in",
    "within",
    "account",
    "client",
    "ip",
    "everyone",
    "together",
    "other",
    "further",
    "5",
    "10",
    "1,000",
    "1.000",
    "1,5",
    "20'000",
    "5k",
    "1/2",
    "5-10",
    "18446744073709551615",
    "0.5",
    "'s",
    ",",
    ".",
    "/",
];

fn anywhere(says: &str) {
    let quota = Quota::sliding_log(5, Span::from_secs(60)).unwrap();
    let address = part("client", &[], SourceKind::ClientIp { ipv4: 32, ipv6: 64 });
    let key = Key { parts: SmallVec::from_vec(vec![form("account"), address]) };
    let meaning =
        Meaning { quota: &quota, key: &key, unit: None, cost: &Cost::Units(1), count: &Count::Every };
    let places = match read(says, &meaning) {
        Reading::Agrees { misleading } => misleading.into_iter().map(|one| one.place).collect(),
        Reading::Contradicts(all) => all.into_iter().map(|one| one.place).collect(),
        Reading::Unclear(unclear) => vec![unclear.place],
    };
    for place in places {
        assert!(says.get(place.clone()).is_some(), "{place:?} is no place of {says:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    /// Guards against a sentence that ends the process, or is told of at a place where it is not.
    #[test]
    fn no_words_make_it_panic(words in prop::collection::vec(prop::sample::select(SOUP.as_slice()), 0..24), glued in any::<bool>()) {
        anywhere(&words.join(if glued { "" } else { " " }));
    }

    /// Guards the same with any text at all.
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), "[ -~]{0,60}", "[0-9., '_’\u{a0}kM/-]{0,30}"]) {
        anywhere(&text);
    }
}

/// Guards against a sentence that takes minutes: reading gives up what it has read no more than a few times.
#[test]
fn a_long_sentence_is_read_in_time_that_grows_with_it() {
    for word in [
        "a ",
        "one ",
        "hundred and ",
        "half a ",
        "per account and ",
        "the first ",
        "never more ",
        "( ",
        "5 ",
        "1,000",
    ] {
        anywhere(&word.repeat(2_000));
    }
}

/// Guards the page against a list that is not the one sentences are read with.
#[test]
fn the_page_lists_the_words_that_add_nothing() {
    let page = include_str!("../../../../docs/words.md");
    let lists = page.split("## Words that add nothing").nth(1).unwrap();
    let blocks: Vec<&str> =
        lists.split("```").skip(1).step_by(2).map(|block| &block["text".len()..]).collect();
    let [fillers, phrases, nouns] = blocks.as_slice() else { panic!("{} lists", blocks.len()) };
    let sorted = |words: &mut Vec<String>| {
        words.sort();
        words.dedup();
    };
    let mut shown: Vec<String> = fillers.split_whitespace().map(str::to_owned).collect();
    let mut read: Vec<String> = vocabulary::FILLERS.join(" ").split_whitespace().map(str::to_owned).collect();
    sorted(&mut shown);
    sorted(&mut read);
    assert_eq!(shown, read);
    assert_eq!(phrases.trim().lines().collect::<Vec<_>>(), vocabulary::FILLER_PHRASES);
    let nouns: Vec<String> = nouns.split_whitespace().map(|noun| noun.replace('-', "_")).collect();
    assert_eq!(nouns, vocabulary::NOUNS.split_whitespace().collect::<Vec<_>>());
}
