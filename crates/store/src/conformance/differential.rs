//! Random runs against the naive store, decision by decision.

use tidegate_algorithms::{Anchor, Ask, Calendar, Quota, Span, Timestamp};

use super::{Bench, Harness, Naive, Numbers, block_on, built, day, noon, rate, secs};
use crate::{ChargeReceipt, Check, Decided, Give, LimitId, Refund, Store};

/// A hundred random runs with time going forward: over windows, locks, refills, forgetting, refunds, resets, changed
/// numbers and changed algorithms.
pub fn it_decides_as_the_naive_store_does(harness: &impl Harness) {
    let variants = |limit: u64, span: Span| {
        [
            built(Quota::fixed_window(limit, span, Anchor::Clock)),
            built(Quota::fixed_window(limit, span, Anchor::FirstHit)),
            built(Quota::sliding_log(limit, span)),
            built(Quota::sliding_counter(limit, span)),
            built(Quota::token_bucket(limit, rate(limit, span))),
            built(Quota::leaky_bucket(rate(limit, span), limit)),
            built(Quota::lockout(limit, span, Span::from_micros(span.as_micros() * 2 - 3))),
            built(Quota::calendar_window(limit, Calendar::Day)),
        ]
    };
    let numbers = [(4, secs(10)), (7, secs(10)), (3, Span::from_micros(7_000_003))];
    let plans: Vec<[Quota; 8]> = numbers.into_iter().map(|(limit, span)| variants(limit, span)).collect();
    for seed in 0..100 {
        let mut run = Run::new(harness, seed, &plans);
        for _ in 0..250 {
            run.forward();
            run.step();
        }
    }
}

/// A hundred random runs with time going back and forth by up to some minutes.
///
/// Nothing can be forgotten in so short a time: what is forgotten stays forgotten, whatever the clock says later. For
/// the same reason charges are given back at their own instant, which leaves no fraction that is soon whole.
pub fn it_decides_as_the_naive_store_does_while_time_goes_back(harness: &impl Harness) {
    let variants = |limit: u64| {
        [
            built(Quota::fixed_window(limit, day(), Anchor::Clock)),
            built(Quota::fixed_window(limit, day(), Anchor::FirstHit)),
            built(Quota::sliding_log(limit, day())),
            built(Quota::sliding_counter(limit, day())),
            built(Quota::token_bucket(limit, rate(1, secs(3_600)))),
            built(Quota::leaky_bucket(rate(1, secs(3_600)), limit)),
            built(Quota::lockout(limit, day(), secs(3_600))),
            built(Quota::calendar_window(limit, Calendar::Month)),
        ]
    };
    let plans = [variants(4), variants(7), variants(40)];
    for seed in 0..100 {
        let mut run = Run::new(harness, seed, &plans);
        run.refunds_at_once = true;
        for _ in 0..150 {
            run.now = noon().saturating_add(Span::from_micros(run.numbers.below(600_000_000)));
            run.step();
        }
    }
}

/// Receipts of one charge at both stores.
struct Pair {
    quota: Quota,
    receipts: [ChargeReceipt; 2],
}

struct Run<'h, H: Harness> {
    bench: Bench<'h, H>,
    naive: Naive,
    limits: Vec<LimitId>,
    plans: &'h [[Quota; 8]],
    numbers: Numbers,
    now: Timestamp,
    charges: Vec<Pair>,
    refunds_at_once: bool,
    seed: u64,
}

/// One limit an algorithm, where numbers change, and one where any quota may come.
const LIMITS: [&str; 9] = ["clock", "hit", "log", "counter", "token", "leaky", "lockout", "calendar", "any"];
const KEYS: [&[u8]; 4] = [b"ada", b"grace", b"edsger", b"\0{}"];

impl<'h, H: Harness> Run<'h, H> {
    fn new(harness: &'h H, seed: u64, plans: &'h [[Quota; 8]]) -> Self {
        let (bench, naive) = (Bench::new(harness), Naive::default());
        let limits: Vec<LimitId> = LIMITS.iter().map(|name| bench.limit(name)).collect();
        assert!(LIMITS.iter().map(|name| naive.limit(name)).eq(LIMITS.iter().map(|name| naive.limit(name))));
        Self {
            bench,
            naive,
            limits,
            plans,
            numbers: Numbers::new(seed),
            now: noon(),
            charges: Vec::new(),
            refunds_at_once: false,
            seed,
        }
    }

    /// Lets some time pass: none, a little, to the microsecond of a refill, or more than any window.
    fn forward(&mut self) {
        let micros = match self.numbers.below(10) {
            0..4 => 0,
            4..7 => self.numbers.below(3_000_000),
            7 => 2_500_000,
            8 => 10_000_000,
            9 if self.numbers.below(20) == 0 => 43_200_000_000,
            _ => self.numbers.below(30_000_000),
        };
        self.now = self.now.saturating_add(Span::from_micros(micros));
    }

    fn step(&mut self) {
        match self.numbers.below(12) {
            0 => self.refund(),
            1 => self.reset(),
            what => self.ask(what == 2),
        }
    }

    /// Picks a limit, the one of any quota half of the time.
    fn limit(&mut self) -> usize {
        8.min(self.numbers.index(16))
    }

    fn ask(&mut self, peek: bool) {
        let count = 1 + self.numbers.below(4);
        let mut checks = Vec::new();
        for _ in 0..count {
            let which = self.limit();
            let plan = if which < 8 { which } else { self.numbers.index(8) };
            let quota = &self.numbers.pick(self.plans)[plan];
            let ask = Ask::units([0, 1, 1, 1, 2, 3, 9][self.numbers.index(7)]);
            let delays = [Span::MAX, Span::MAX, secs(2), Span::ZERO];
            let ask = ask.within(*self.numbers.pick(&delays));
            let key = *self.numbers.pick(&KEYS);
            let shadow = self.numbers.below(4) == 0;
            checks.push((which, Check { limit: self.limits[which], key, quota, ask, shadow }));
        }
        let ours: Vec<Check<'_>> = checks.iter().map(|(_, check)| *check).collect();
        let theirs: Vec<Check<'_>> = checks
            .iter()
            .map(|(which, check)| Check { limit: self.naive.limit(LIMITS[*which]), ..*check })
            .collect();
        let (got, want) = if peek {
            (self.bench.peek(&ours, self.now), block_on(self.naive.peek(&theirs, Some(self.now))))
        } else {
            (self.bench.decide(&ours, self.now), block_on(self.naive.decide(&theirs, Some(self.now))))
        };
        let want = want.unwrap_or_else(|error| panic!("{error}"));
        self.same(&ours, &got, &want);
        for ((got, want), check) in got.outcomes.iter().zip(&want.outcomes).zip(&ours) {
            if let (Some(ours), Some(theirs)) = (got.receipt, want.receipt) {
                self.charges.push(Pair { quota: *check.quota, receipts: [ours, theirs] });
            }
        }
    }

    fn same(&self, checks: &[Check<'_>], got: &Decided, want: &Decided) {
        let told = |decided: &Decided| {
            let outcomes = decided.outcomes.iter();
            let told: Vec<_> = outcomes
                .map(|it| (it.decision, it.receipt.map(|it| (it.units(), it.charged_at(), *it.receipt()))))
                .collect();
            (decided.admitted, decided.at, told)
        };
        assert_eq!(told(got), told(want), "seed {}: {checks:#?}", self.seed);
    }

    fn refund(&mut self) {
        if self.charges.is_empty() {
            return;
        }
        let at = self.numbers.index(self.charges.len());
        let pair = self.charges.swap_remove(at);
        if self.refunds_at_once {
            self.now = pair.receipts[0].charged_at();
        }
        let give = if self.numbers.below(4) == 0 { Give::All } else { Give::Charge };
        let [ours, theirs] = pair.receipts.map(|receipt| [Refund { receipt, quota: &pair.quota, give }]);
        self.bench.refund(&ours, self.now);
        let naive = block_on(self.naive.refund(&theirs, Some(self.now)));
        assert!(naive.is_ok());
    }

    fn reset(&mut self) {
        let (which, key) = (self.limit(), *self.numbers.pick(&KEYS));
        self.bench.wait(self.bench.store.reset(self.limits[which], key));
        assert!(block_on(self.naive.reset(self.naive.limit(LIMITS[which]), key)).is_ok());
    }
}
