//! Properties of all limits and of all sentences.

use std::sync::Arc;

use proptest::prelude::*;
use smallvec::SmallVec;
use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

use super::{Meaning, Reading, canonical, read, vocabulary};
use crate::cost::{Cost, CostHeader, CostItems, CostTable};
use crate::count::{Count, OnSuccess, Success};
use crate::key::{Key, Origin, Part, Pointer, Source, SourceKind};
use crate::problem::{At, Place};
use crate::values::Values;

const MAX: u64 = 1 << 30;

/// Names of keys as files have them: with hyphens, with what numbers and times are made of, with what lists hold.
const NAMES: [&str; 20] = [
    "account",
    "api_key",
    "x-user-id",
    "email",
    "phone_number",
    "2fa",
    "ip6",
    "request_id",
    "minute-plan",
    "holiday",
    "team/merchant",
    "header x-forwarded-host",
    "path id",
    "json /a/b",
    "once",
    "first_name",
    "the",
    "item",
    "queue",
    "lock_holder",
];

fn part(name: &str, called: &[&str], kind: SourceKind) -> Part {
    let from = Origin::One(Source { kind, normalize: Vec::new() });
    Part {
        name: name.to_owned(),
        called: called.iter().map(|name| (*name).to_owned()).collect(),
        from,
        at: At(Place::START),
    }
}

fn form(name: &str) -> Part {
    part(name, &[], SourceKind::Form(name.to_owned()))
}

fn key() -> impl Strategy<Value = Key> {
    let global =
        Part { name: "global".to_owned(), called: Vec::new(), from: Origin::Global, at: At(Place::START) };
    let address = part("client_ip", &[], SourceKind::ClientIp { ipv4: 32, ipv6: 64 });
    let named = prop_oneof![
        prop::sample::select(NAMES.as_slice()).prop_map(form),
        Just(address),
        Just(part("route", &[], SourceKind::Route)),
        Just(part("destination", &["phone number"], SourceKind::Form("to".to_owned()))),
        Just(part("org", &["organisation", "company"], SourceKind::Form("org".to_owned()))),
    ];
    let several = prop::collection::vec(named, 1..4).prop_map(|mut parts| {
        let mut seen = std::collections::BTreeSet::new();
        parts.retain(|part| seen.insert(part.name.clone()));
        Key { parts: SmallVec::from_vec(parts) }
    });
    prop_oneof![1 => Just(Key { parts: SmallVec::from_vec(vec![global]) }), 8 => several]
}

fn span() -> impl Strategy<Value = Span> {
    let longest = 400 * 86_400_u64;
    prop_oneof![
        (1_000..=longest * 1_000_000).prop_map(Span::from_micros),
        (1..=longest * 1_000).prop_map(Span::from_millis),
        (1..=longest).prop_map(Span::from_secs),
        (1..=longest / 60).prop_map(|minutes| Span::from_secs(minutes * 60)),
        prop::sample::select(vec![1_u64, 60, 3_600, 86_400, 7 * 86_400, 14 * 86_400])
            .prop_map(Span::from_secs),
    ]
}

fn units(least: u64) -> impl Strategy<Value = u64> {
    prop_oneof![least..=MAX, least..=20, prop::sample::select(vec![least, 1, 2, 12, 1_000, 100_000, MAX])]
}

fn rate() -> impl Strategy<Value = Rate> {
    (units(1), span()).prop_map(|(units, span)| Rate::new(units, span).unwrap())
}

/// All quotas there are.
fn quota() -> impl Strategy<Value = Quota> {
    let anchor = prop::sample::select(vec![Anchor::Clock, Anchor::FirstHit]);
    let calendar = prop::sample::select(vec![Calendar::Day, Calendar::Week, Calendar::Month]);
    prop_oneof![
        (units(0), span(), anchor)
            .prop_map(|(limit, window, anchor)| Quota::fixed_window(limit, window, anchor)),
        (units(0), calendar).prop_map(|(limit, calendar)| Quota::calendar_window(limit, calendar)),
        (0..=100_000_u64, span()).prop_map(|(limit, window)| Quota::sliding_log(limit, window)),
        (units(0), span()).prop_map(|(limit, window)| Quota::sliding_counter(limit, window)),
        (units(1), rate()).prop_map(|(capacity, refill)| Quota::token_bucket(capacity, refill)),
        (rate(), units(0)).prop_map(|(rate, queue)| Quota::leaky_bucket(rate, queue)),
        (units(1), span(), span())
            .prop_map(|(attempts, within, lock)| Quota::lockout(attempts, within, lock)),
    ]
    .prop_map(Result::unwrap)
}

fn cost() -> impl Strategy<Value = Cost> {
    let table = |name: &str| {
        let values = Values::default();
        CostTable { name: name.to_owned(), by: form("country"), default: 25, list: Vec::new(), values }
    };
    prop_oneof![
        4 => Just(Cost::Units(1)),
        1 => (0..=1_u32 << 30).prop_map(Cost::Units),
        1 => prop::sample::select(vec!["sms_cents", "price-2", "by"]).prop_map(move |name| Cost::Table(Arc::new(table(name)))),
        1 => Just(Cost::Header(CostHeader { part: form("header x-cost"), default: 1 })),
        1 => Just(Cost::Items(CostItems { text: "/items".to_owned(), pointer: Pointer::read("/items").unwrap() })),
    ]
}

fn count() -> impl Strategy<Value = Count> {
    let success = Success { statuses: vec![200..=200], header: None };
    prop_oneof![2 => Just(Count::Every), 1 => Just(Count::Failures { success, on_success: OnSuccess::Refund })]
}

fn unit() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![
        None,
        None,
        Some("cents"),
        Some("items"),
        Some("SMS messages"),
        Some("e-mails"),
        Some("GiB"),
        Some("points"),
    ])
}

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
