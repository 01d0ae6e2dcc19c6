//! `decide` against limiters that share nothing with it, decision by decision.
//!
//! `naive` keeps all it has ever admitted and works in plain fractions over 128 bits. Bounds have their own oracle,
//! the exhaustive search beside `src/bounds.rs`.

mod give_back;
mod naive;

use proptest::prelude::*;
use tidegate_algorithms::{Anchor, Answer, Ask, MAX_SPAN, Quota, Retry, Timestamp, refund};

use crate::play::{Jump, Move, World, histories, quotas, starts};
use naive::{Limiter, Receipt};

fn limiter(quota: &Quota) -> Box<dyn Limiter> {
    match quota {
        Quota::FixedWindow(quota) => {
            let (limit, window) = (quota.limit().into(), quota.window().as_micros().into());
            match quota.anchor() {
                Anchor::Clock => Box::new(naive::ClockWindow { limit, window, index: 0, count: 0 }),
                Anchor::FirstHit => Box::new(naive::HitWindow::new(limit, window)),
                Anchor::Calendar(calendar) => {
                    Box::new(naive::CalendarWindow { limit, calendar, end: 0, count: 0 })
                }
            }
        }
        Quota::SlidingLog(quota) => Box::new(naive::SlidingLog {
            limit: quota.limit().into(),
            window: quota.window().as_micros().into(),
            stamps: Vec::new(),
        }),
        Quota::SlidingCounter(quota) => Box::new(naive::SlidingCounter {
            limit: quota.limit().into(),
            window: quota.window().as_micros().into(),
            index: 0,
            previous: 0,
            current: 0,
        }),
        Quota::TokenBucket(quota) => Box::new(naive::TokenBucket {
            capacity: quota.capacity().into(),
            p: quota.refill().units().into(),
            q: quota.refill().micros().into(),
            credit: i128::from(quota.capacity()) * i128::from(quota.refill().micros()),
            date: 0,
        }),
        Quota::LeakyBucket(quota) => Box::new(naive::LeakyBucket {
            queue: quota.queue().into(),
            p: quota.rate().units().into(),
            q: quota.rate().micros().into(),
            free: 0,
        }),
        Quota::Lockout(quota) => Box::new(naive::Lockout {
            hits: naive::HitWindow::new(quota.attempts().into(), quota.within().as_micros().into()),
            lock: quota.lock().as_micros().into(),
            locked_until: None,
        }),
    }
}

/// Both at the same instant, asked the same.
struct Pair {
    real: World,
    naive: Box<dyn Limiter>,
    receipts: Vec<(tidegate_algorithms::Receipt, Receipt)>,
}

impl Pair {
    fn admits(&self, ask: Ask, at: i128) -> bool {
        let within = ask.max_delay();
        let within = (within != tidegate_algorithms::Span::MAX).then(|| i128::from(within.as_micros()));
        self.naive.admits(ask.cost().into(), within, at)
    }

    fn ask(&mut self, ask: Ask) -> Result<(), TestCaseError> {
        let now = i128::from(self.real.now.as_micros());
        if ask.cost() == 0 {
            // It takes no notice of time either.
            prop_assert!(self.real.ask(ask).decision.is_admitted());
            return Ok(());
        }
        self.naive.redate(now);
        let outcome = self.real.ask(ask);
        let decision = outcome.decision;
        prop_assert_eq!(decision.is_admitted(), self.admits(ask, now), "{:?} of {:?}", ask, self.real.quota);
        match decision.answer {
            Answer::Admit { delay } => {
                let most = i128::from(u64::MAX);
                prop_assert_eq!(i128::from(delay.as_micros()), self.naive.delay(now).min(most));
                if let Some(receipt) = outcome.receipt {
                    self.receipts.push((receipt, self.naive.charge(ask.cost().into(), now)));
                }
            }
            Answer::Refuse(Retry::After(wait)) => {
                let then = now + i128::from(wait.as_micros());
                prop_assert!(self.admits(ask, then), "refused when it may come again");
                prop_assert!(!self.admits(ask, then - 1), "admitted earlier than it may come again");
            }
            Answer::Refuse(Retry::Never) => {
                let last = i128::from(Timestamp::MAX.as_micros());
                prop_assert!(!self.admits(ask, last), "never, but by 2112");
            }
        }
        let remaining = decision.remaining;
        prop_assert!(remaining == 0 || self.admits(Ask::units(remaining), now), "remaining is too much");
        prop_assert!(!self.admits(Ask::units(remaining + 1), now), "remaining is too little");
        Ok(())
    }

    fn refund(&mut self, chosen: usize) {
        if self.receipts.is_empty() {
            return;
        }
        let (real, naive) = self.receipts.swap_remove(chosen % self.receipts.len());
        let world = &mut self.real;
        refund(&world.quota, world.state.as_ref(), &real, world.now).apply(&mut world.state);
        self.naive.refund(&naive, world.now.as_micros().into());
    }

    fn play(
        quota: Quota,
        start: u64,
        history: &[Move],
        refunds: &[Option<usize>],
    ) -> Result<(), TestCaseError> {
        // Only these keep a date that is a plain number of an instant; a bucket's fraction is lost by a step back.
        let steps_back = !matches!(quota, Quota::TokenBucket(_) | Quota::LeakyBucket(_));
        let back = steps_back && refunds.iter().all(Option::is_none);
        let mut pair = Self { real: World::new(quota, start), naive: limiter(&quota), receipts: Vec::new() };
        for (a_move, refund) in history.iter().zip(refunds) {
            let go = if back { World::go } else { World::go_on };
            go(&mut pair.real, a_move.jump);
            pair.ask(a_move.ask(&quota))?;
            if let Some(chosen) = refund {
                // At other instants than charges: of those of one instant the crate does not know which came first.
                pair.real.go_on(Jump::On(1 + u64::try_from(*chosen).unwrap() % 3_000));
                pair.refund(*chosen);
                pair.real.go_on(Jump::On(1));
                pair.ask(Ask::ONE)?;
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decisions_are_those_of_a_limiter_that_keeps_everything(
        quota in quotas(), start in starts(), history in histories(40),
    ) {
        Pair::play(quota, start, &history, &[None; 40])?;
    }

    #[test]
    fn refunds_are_too(
        quota in quotas(), start in starts(), history in histories(30),
        refunds in prop::collection::vec(prop::option::weighted(0.3, any::<usize>().prop_map(|n| n >> 1)), 30),
    ) {
        // In a bucket's first period after the epoch a refund may come out short (`a_refund_at_the_epoch…`).
        Pair::play(quota, start.max(MAX_SPAN.as_micros()), &history, &refunds)?;
    }
}
