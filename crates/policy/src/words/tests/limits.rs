//! All limits there are.

use std::sync::Arc;

use proptest::prelude::*;
use smallvec::SmallVec;
use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

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

pub(super) fn part(name: &str, called: &[&str], kind: SourceKind) -> Part {
    let from = Origin::One(Source { kind, normalize: Vec::new() });
    Part {
        name: name.to_owned(),
        called: called.iter().map(|name| (*name).to_owned()).collect(),
        from,
        at: At(Place::START),
    }
}

pub(super) fn form(name: &str) -> Part {
    part(name, &[], SourceKind::Form(name.to_owned()))
}

pub(super) fn key() -> impl Strategy<Value = Key> {
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
pub(super) fn quota() -> impl Strategy<Value = Quota> {
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

pub(super) fn cost() -> impl Strategy<Value = Cost> {
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

pub(super) fn count() -> impl Strategy<Value = Count> {
    let success = Success { statuses: vec![200..=200], header: None };
    prop_oneof![2 => Just(Count::Every), 1 => Just(Count::Failures { success, on_success: OnSuccess::Refund })]
}

pub(super) fn unit() -> impl Strategy<Value = Option<&'static str>> {
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
