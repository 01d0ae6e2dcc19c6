//! The measures counted plainly, every span against every request, and random attacks that hold them to it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// What is random of a request: how long after the last, whose, and what became of it.
type Drawn = (u64, bool, (usize, u32, u32), (bool, bool));

fn drawn() -> impl Strategy<Value = Drawn> {
    let gap = prop_oneof![4 => Just(0), 4 => 1..4_u64, 1 => 1..80_u64];
    let whose = (0..3_usize, 0..4_u32, prop_oneof![0..4_u32, Just(1)]);
    let fate = (prop::bool::weighted(0.7), prop::bool::weighted(0.1));
    (gap, prop::bool::weighted(0.8), whose, fate)
}

fn events(drawn: &[Drawn]) -> Vec<Event> {
    let mut micros = 990;
    let event = |(gap, is_adversary, (seat, subject, guesses), (admitted, degraded)): &Drawn| {
        micros += gap;
        Event {
            seat: *seat,
            role: if *is_adversary { Role::Adversary } else { Role::Person },
            who: Who::new(*subject, HOME),
            guesses: *guesses,
            admitted: *admitted,
            degraded: *degraded,
            ..passed(micros)
        }
    };
    drawn.iter().map(event).collect()
}

/// An attack, as lists that are gone through again for every figure.
struct Naive {
    wanted: Wanted,
    adversary: Vec<Event>,
    people: Vec<Event>,
}

impl Naive {
    fn of(wanted: &Wanted, events: &[Event]) -> Self {
        let within = |role| {
            let end = wanted.start.as_micros() + wanted.length.as_micros();
            let all = events.iter().filter(move |event| event.role == role && event.at.as_micros() < end);
            all.copied().collect()
        };
        Self { wanted: wanted.clone(), adversary: within(Role::Adversary), people: within(Role::Person) }
    }

    fn admitted(&self) -> impl Iterator<Item = &Event> {
        self.adversary.iter().filter(|event| event.admitted)
    }

    /// The instants of what the store has let through.
    fn instants(&self) -> Vec<u64> {
        self.admitted().filter(|event| !event.degraded).map(|event| event.at.as_micros()).collect()
    }

    fn begun(&self) -> u64 {
        self.adversary.first().map_or(0, |event| event.at.as_micros())
    }

    fn peaks(&self) -> Vec<u64> {
        let all = self.instants();
        let in_span = |from: u64, span: u64| all.iter().filter(|at| (from..from + span).contains(at)).count();
        let peak = |span: &Span| all.iter().map(|from| in_span(*from, span.as_micros()) as u64).max();
        self.wanted.spans.iter().map(|span| peak(span).unwrap_or(0)).collect()
    }

    fn first(&self) -> Vec<u64> {
        let all = self.instants();
        let within =
            |span: &Span| all.iter().filter(|at| **at <= self.begun() + span.as_micros()).count() as u64;
        self.wanted.first.iter().map(within).collect()
    }

    fn envelope(&self) -> u64 {
        let (all, LongRun { units, micros }) = (self.instants(), self.wanted.rate);
        let mut most = 0_i128;
        for (index, from) in all.iter().enumerate() {
            for (count, to) in (1_i128..).zip(&all[index..]) {
                let drained = i128::from(to - from) * i128::from(units);
                most = most.max(count * i128::from(micros) - drained);
            }
        }
        u64::try_from(most).unwrap().div_ceil(micros)
    }

    /// The times of all guesses, one by one.
    fn guesses(&self) -> Vec<u64> {
        let each = |event: &Event| vec![event.at.as_micros() - self.begun(); event.guesses as usize];
        self.admitted().flat_map(each).collect()
    }

    fn mean_seen(&self, guess: &Guess) -> f64 {
        let p = guess.chance_of_one();
        let each = self.guesses().into_iter().zip(0..);
        each.map(|(time, missed)| p * (1.0 - p).powi(missed) * float(time)).sum()
    }

    fn sustained(&self) -> (u64, u64) {
        let half = self.wanted.start.as_micros() + self.wanted.length.as_micros() / 2;
        let later = self.admitted().filter(|event| event.at.as_micros() >= half);
        later.fold((0, 0), |(requests, guesses), event| (requests + 1, guesses + u64::from(event.guesses)))
    }

    fn people(&self) -> PeopleSeen {
        let seats =
            |all: &mut dyn Iterator<Item = &Event>| all.map(|event| event.seat).collect::<BTreeSet<_>>();
        let through = seats(&mut self.people.iter().filter(|event| event.admitted));
        let people = seats(&mut self.people.iter());
        PeopleSeen {
            tries: self.people.len() as u64,
            denied: self.people.iter().filter(|event| !event.admitted).count() as u64,
            people: people.len() as u64,
            shut_out: people.difference(&through).count() as u64,
        }
    }

    fn curve(&self) -> Vec<(u64, u64)> {
        let all: Vec<u64> = self.admitted().map(|event| event.at.as_micros()).collect();
        let distinct: BTreeSet<u64> = all.iter().copied().collect();
        let by = |at: u64| all.iter().filter(|other| **other <= at).count() as u64;
        distinct.into_iter().map(|at| (at.saturating_sub(1_000), by(at))).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Guards every measure against an error of the streaming: ends, equal instants, requests of others, of refusals, and
    /// after the end.
    #[test]
    fn every_measure_is_what_plain_counting_gives(
        drawn in prop::collection::vec(drawn(), 0..90),
        (length, rate) in (1..400_u64, (0..7_u32, 1..50_u64)),
        spans in prop::collection::vec(0..500_u64, 0..5),
        mut numbers in prop::collection::vec(1..60_u64, 0..5),
    ) {
        numbers.sort_unstable();
        let guess = Guess::new(10, 2, 7).unwrap();
        let first = spans.iter().copied().filter(|span| *span <= length).collect::<Vec<_>>();
        let wanted = Wanted {
            length: Span::from_micros(length),
            first: micros(&first),
            rate: LongRun { units: rate.0, micros: rate.1 },
            guesses: numbers.clone(),
            guess: Some(guess),
            ..wanted(&spans)
        };
        let events = events(&drawn);
        let naive = Naive::of(&wanted, &events);
        let all = measured(wanted, &events);

        prop_assert_eq!(all.requests, naive.adversary.len() as u64);
        prop_assert_eq!(all.admitted, naive.admitted().count() as u64);
        prop_assert_eq!(all.admitted_with_store(), naive.instants().len() as u64);
        prop_assert_eq!(seen(&all.peaks), naive.peaks());
        prop_assert_eq!(seen(&all.first), naive.first());
        prop_assert_eq!(all.envelope, naive.envelope());
        prop_assert_eq!((all.sustained.0, all.sustained_guesses), naive.sustained());
        prop_assert_eq!(all.sustained.1, length - length / 2);
        prop_assert_eq!(all.people, naive.people());
        prop_assert_eq!(&all.curve, &naive.curve());
        let guesses = naive.guesses();
        let time = |number: &u64| guesses.get(usize::try_from(*number).unwrap() - 1).copied();
        prop_assert_eq!(all.guesses, guesses.len() as u64);
        prop_assert_eq!(&all.times, &numbers.iter().map(time).collect::<Vec<_>>());
        let subjects = naive.admitted().filter(|event| event.guesses > 0).map(|event| event.who.subject);
        prop_assert_eq!(all.subjects, subjects.collect::<BTreeSet<_>>().len() as u64);
        let guessing = all.guessing.unwrap();
        prop_assert_eq!(guessing.times, guess_numbers(&guess).map(|number| time(&number)));
        let mean = naive.mean_seen(&guess);
        prop_assert!((guessing.mean_seen - mean).abs() <= 1e-9 * mean, "{} is not {mean}", guessing.mean_seen);
    }
}
