//! What a store of the bench's own keeps of a key, and charges that it takes without having been asked.
//!
//! A replica learns of a charge that was made elsewhere, and a store that decides by what it read before adds to what is
//! there now. Neither can refuse any more, so a state then holds more than its quota admits:
//! - a window counts it, if it is the window of the charge and not over; a window from the first hit, also a lockout's, takes
//!   it into the one that is open, or opens one that lasts its whole length from then, and so never shortens another;
//! - a log holds the charge's stamp, and a counter adds it to the window of the charge;
//! - a bucket, which cannot hold less than nothing, owes it: the debt is paid out of what comes in before anybody else is
//!   admitted.
//!
//! What a charge that is taken so refuses is never less than nothing: nobody is admitted because of it.

use tidegate_algorithms::{
    Anchor, Ask, Change, Counter, FixedWindow, Lock, Log, Quota, Retry, Span, Stamp, State, Timestamp,
    Window, carry, decide, keep_until, peek,
};

/// A state under a quota, and what it owes.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) quota: Quota,
    pub(super) state: Option<State>,
    /// Units that were admitted and that a bucket had not, and the instant up to which they were paid.
    debt: u32,
    paid_until: Timestamp,
}

/// A charge that was decided by another state than the one it is taken to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    pub(super) quota: Quota,
    pub(super) units: u32,
    pub(super) at: Timestamp,
}

impl Kept {
    pub(super) fn fresh(quota: Quota) -> Self {
        Self { quota, state: None, debt: 0, paid_until: Timestamp::EPOCH }
    }

    /// Makes it ready to be decided on under a quota.
    pub(super) fn prepare(&mut self, quota: &Quota, now: Timestamp) {
        if self.quota != *quota {
            self.state = self.state.as_ref().and_then(|state| carry(&self.quota, state, quota, now));
            self.quota = *quota;
        }
        self.pay(now);
    }

    /// Returns whether it cannot be told from a fresh one from an instant on.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let is_over = |state| keep_until(&self.quota, state, now) <= now;
        self.debt == 0 && self.state.as_ref().is_none_or(is_over)
    }

    /// Takes a charge that was decided elsewhere.
    pub(super) fn take(&mut self, charge: &Charge, now: Timestamp) {
        self.prepare(&charge.quota, now);
        match charge.quota {
            Quota::FixedWindow(quota) => self.count(quota, charge, now),
            Quota::SlidingLog(quota) => self.stamp(quota.window(), charge, now),
            Quota::SlidingCounter(quota) => self.add(quota.window(), charge),
            Quota::Lockout(quota) => self.attempt(quota.attempts(), quota.lock(), charge, now),
            Quota::TokenBucket(_) | Quota::LeakyBucket(_) => {
                if self.debt == 0 {
                    self.paid_until = now;
                }
                self.debt = self.debt.saturating_add(charge.units);
                self.pay(now);
            }
        }
    }

    /// Pays what is owed out of what has come in: as it comes, so that nothing is lost for want of room.
    fn pay(&mut self, now: Timestamp) {
        while self.debt > 0 {
            let all = self.debt.min(self.quota.nominal());
            let asked = peek(&self.quota, self.state.as_ref(), Ask::units(all), self.paid_until);
            let wait = asked.retry().map_or(Some(Span::ZERO), Retry::wait);
            let Some(at) = wait.and_then(|wait| self.paid_until.checked_add(wait)).filter(|at| *at <= now)
            else {
                break;
            };
            self.charge(all, at);
            self.debt = self.debt.saturating_sub(all);
            self.paid_until = at;
        }
        if self.debt == 0 {
            return;
        }
        let there = peek(&self.quota, self.state.as_ref(), Ask::units(0), now).remaining.min(self.debt);
        self.debt = self.debt.saturating_sub(there);
        self.charge(there, now);
        self.paid_until = self.paid_until.max(now);
    }

    /// Charges what there is room for.
    fn charge(&mut self, units: u32, now: Timestamp) {
        decide(&self.quota, self.state.as_ref(), Ask::units(units), now).change.apply(&mut self.state);
    }

    fn count(&mut self, quota: FixedWindow, charge: &Charge, now: Timestamp) {
        if quota.anchor() == Anchor::FirstHit {
            match &mut self.state {
                Some(State::HitWindow(window)) if window.ends_at > now.as_micros() && window.count > 0 => {
                    window.count = window.count.saturating_add(charge.units);
                }
                _ => self.charge(charge.units, now),
            }
            return;
        }
        let Some(of) = window_of(charge).filter(|of| of.ends_at > now.as_micros()) else { return };
        match &mut self.state {
            Some(State::ClockWindow(window)) if window.ends_at == of.ends_at => {
                window.count = window.count.saturating_add(charge.units);
            }
            Some(State::ClockWindow(window)) if window.ends_at > of.ends_at => {}
            _ => self.state = Some(State::ClockWindow(of)),
        }
    }

    fn stamp(&mut self, window: Span, charge: &Charge, now: Timestamp) {
        if charge.at.saturating_add(window) <= now {
            return;
        }
        let held = self.state.take();
        let mut stamps = match &held {
            Some(State::Log(log)) => log.stamps().copied().collect(),
            _ => Vec::new(),
        };
        stamps.push(Stamp { at: charge.at.as_micros(), units: charge.units });
        stamps.sort_by_key(|stamp| stamp.at);
        self.state = Some(State::Log(Log::from_stamps(stamps)));
    }

    fn add(&mut self, window: Span, charge: &Charge) {
        let number = |micros: u64| micros.checked_div(window.as_micros()).unwrap_or(0);
        let (at, units) = (charge.at.as_micros(), charge.units);
        let new = |previous| Counter { charged_at: at, current: units, previous };
        let after = match &self.state {
            Some(State::Counter(held)) => {
                let (own, of) = (number(held.charged_at), number(at));
                let Counter { charged_at, current, previous } = *held;
                if of == own {
                    let charged_at = charged_at.max(at);
                    Counter { charged_at, current: current.saturating_add(units), previous }
                } else if of.saturating_add(1) == own {
                    Counter { previous: previous.saturating_add(units), ..*held }
                } else if of == own.saturating_add(1) {
                    new(current)
                } else if of > own {
                    new(0)
                } else {
                    *held
                }
            }
            _ => new(0),
        };
        self.state = Some(State::Counter(after));
    }

    fn attempt(&mut self, attempts: u32, lock: Span, charge: &Charge, now: Timestamp) {
        let micros = now.as_micros();
        match &mut self.state {
            Some(State::Lock(held)) if held.locked_until > micros => {}
            Some(State::Lock(held)) if held.locked_until == 0 && held.ends_at > micros && held.count > 0 => {
                let count = held.count.saturating_add(charge.units);
                let is_locked = count >= attempts;
                let locked_until = if is_locked { micros.saturating_add(lock.as_micros()) } else { 0 };
                *held = Lock { count: count.min(attempts), locked_until, ..*held };
            }
            _ => self.charge(charge.units.min(attempts), now),
        }
    }
}

/// Returns the window of the clock or the calendar that a charge was made in, with nothing else in it.
fn window_of(charge: &Charge) -> Option<Window> {
    match decide(&charge.quota, None, Ask::units(charge.units), charge.at).change {
        Change::Put(State::ClockWindow(window)) => Some(window),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidegate_algorithms::Rate;

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::saturating_from_micros(secs * 1_000_000 + (1 << 40) / 60_000_000 * 60_000_000)
    }

    fn after(quota: Quota, own: u32, charges: &[(u32, u64)], now: u64) -> u32 {
        let mut kept = Kept::fresh(quota);
        kept.charge(own, at(1));
        for (units, made) in charges {
            kept.take(&Charge { quota, units: *units, at: at(*made) }, at(now));
        }
        kept.prepare(&quota, at(now));
        peek(&quota, kept.state.as_ref(), Ask::units(0), at(now)).remaining
    }

    /// Guards against a replica that forgets a charge it learns of, counts it in a window it does not belong to, or keeps
    /// it for longer than its own.
    #[test]
    fn a_charge_made_elsewhere_counts_where_it_belongs_and_no_longer() {
        let minute = Span::from_secs(60);
        let quotas = [
            Quota::fixed_window(10, minute, Anchor::Clock).unwrap(),
            Quota::fixed_window(10, minute, Anchor::FirstHit).unwrap(),
            Quota::sliding_log(10, minute).unwrap(),
            Quota::sliding_counter(10, minute).unwrap(),
            Quota::lockout(10, minute, minute).unwrap(),
            Quota::token_bucket(10, Rate::new(1, Span::from_secs(600)).unwrap()).unwrap(),
            Quota::leaky_bucket(Rate::new(1, Span::from_secs(600)).unwrap(), 9).unwrap(),
        ];
        for quota in quotas {
            assert_eq!(after(quota, 2, &[(3, 5)], 10), 5, "{quota:?}");
            assert_eq!(after(quota, 2, &[(9, 5), (7, 6)], 10), 0, "{quota:?}");
        }
        let [clock, _, log, counter, ..] = quotas;
        // Made in the last minute, and learned of in this one.
        assert_eq!(after(clock, 0, &[(3, 55)], 65), 10);
        assert_eq!(after(log, 0, &[(3, 55)], 65), 7);
        assert_eq!(after(log, 0, &[(3, 5)], 65), 10);
        assert!(after(counter, 0, &[(10, 55)], 60) < 2);
    }

    /// Guards against a replica that gives away what it owes.
    #[test]
    fn a_bucket_owes_what_it_had_not_and_pays_it_first() {
        let quota = Quota::token_bucket(4, Rate::new(1, Span::from_secs(10)).unwrap()).unwrap();
        let owed = [(4, 1), (4, 1)];
        assert_eq!(after(quota, 4, &owed, 1), 0);
        let mut owing = Kept::fresh(quota);
        owing.charge(4, at(0));
        for (units, made) in owed {
            owing.take(&Charge { quota, units, at: at(made) }, at(1));
        }
        let left = |kept: &mut Kept, secs: u64| {
            kept.prepare(&quota, at(secs));
            peek(&quota, kept.state.as_ref(), Ask::ONE, at(secs)).remaining
        };
        // Eight units take eighty seconds to come in, whether or not somebody looks in between.
        for (secs, known) in [(2, 0), (79, 0), (80, 0), (89, 0), (90, 1), (101, 2), (1_000, 4)] {
            assert_eq!(left(&mut owing.clone(), secs), known, "{secs}");
        }
        for secs in 2..90 {
            assert_eq!(left(&mut owing, secs), 0, "{secs}");
        }
        assert_eq!((left(&mut owing, 90), left(&mut owing, 101)), (1, 2));
    }
}
