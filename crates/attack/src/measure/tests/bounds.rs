//! Random requests at random limits: what is seen stays within the closed forms, whoever else was there before.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate::{Anchor, Limit, Quota, Rate};

use super::*;
use crate::act::{Act, Actor, Answer, Chance, Seat};
use crate::simulate::{Course, simulate};
use crate::target::Bare;
use crate::world::Setting;

const START: u64 = 1_800_000_000_000_000;
const MILLISECOND: u64 = 1_000;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![Just(1), Just(10), 2..50_u64].prop_map(Span::from_millis)
}

fn quota() -> impl Strategy<Value = Quota> {
    let anchors = prop_oneof![Just(Anchor::Clock), Just(Anchor::FirstHit)];
    let rate = || (1..6_u64, span()).prop_map(|(units, period)| Rate::new(units, period).unwrap());
    prop_oneof![
        (0..6_u64, span(), anchors)
            .prop_map(|(limit, window, anchor)| Quota::fixed_window(limit, window, anchor)),
        (0..6_u64, span()).prop_map(|(limit, window)| Quota::sliding_log(limit, window)),
        (0..6_u64, span()).prop_map(|(limit, window)| Quota::sliding_counter(limit, window)),
        (1..6_u64, rate()).prop_map(|(capacity, refill)| Quota::token_bucket(capacity, refill)),
        (0..6_u64, rate()).prop_map(|(queue, rate)| Quota::leaky_bucket(rate, queue)),
        (1..6_u64, span(), span())
            .prop_map(|(attempts, within, lock)| Quota::lockout(attempts, within, lock)),
    ]
    .prop_map(Result::unwrap)
}

/// Does what was drawn: so many requests about a subject, so long after the last.
struct Drawn {
    now: u64,
    acts: std::vec::IntoIter<(u64, u32, u32)>,
}

impl Actor for Drawn {
    fn next(&mut self, _last: Option<&Answer>, _chance: &mut Chance) -> Option<Act> {
        let (gap, requests, subject) = self.acts.next()?;
        self.now += gap;
        Some(Act::one(at(self.now), Who::new(subject, HOME)).times(requests))
    }
}

fn acts() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
    let gap = prop_oneof![Just(0), 1..3_u64, 900..1_100_u64, Just(10 * MILLISECOND), 0..60 * MILLISECOND];
    prop::collection::vec((gap, 1..12_u32, prop_oneof![4 => Just(0), 1 => 0..3_u32]), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    /// Guards the whole way from requests to figures: no span holds more than the limits let through for the keys that were
    /// touched, whether people used them before or stores are several.
    #[test]
    fn no_span_holds_more_than_its_bound(
        quotas in prop::collection::vec(quota(), 1..3),
        adversary in acts(),
        person in acts(),
        (instances, shared, late) in (1..3_u32, any::<bool>(), 0..30 * MILLISECOND),
    ) {
        let spans = [1, 2, 999, 1_000, 1_001, 10_000, 25_000, 50_000, 500_000];
        let windows = quotas.iter().map(|quota| quota.window().as_micros());
        let spans: Vec<u64> = spans.into_iter().chain(windows).collect();
        let length = Span::from_secs(4);
        let limits = (0..).zip(&quotas).map(|(index, quota): (u32, _)| Limit::new(index.to_string(), *quota));
        let setting = Setting { instances, shared, ..Setting::default() };
        let mut world = World::new(Arc::new(Bare::limits(limits)), setting).unwrap();
        let seats = vec![
            Seat::person(Drawn { now: START, acts: person.into_iter() }),
            Seat::adversary(Drawn { now: START + late, acts: adversary.into_iter() }),
        ];
        let mut measure = Measure::new(Wanted { start: at(START), length, ..wanted(&spans) });
        let course = Course { until: at(START).saturating_add(length), most_requests: u64::MAX, seed: 1 };
        simulate(&mut world, seats, Vec::new(), course, &mut |event| measure.event(event));
        let all = measure.finish(&world, world.exposure());
        prop_assert!(all.peaks.iter().all(|peak| peak.bound.is_some()) || all.requests == 0);
        prop_assert!(!all.is_exceeded(), "{:?}", all);
    }
}
