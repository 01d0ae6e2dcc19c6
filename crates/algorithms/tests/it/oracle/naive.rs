//! The contract's table, written plainly: whole microseconds, fractions as numerators over the rate's own
//! denominators, 128 bits for everything. An ask for nothing is always admitted.

use tidegate_algorithms::Calendar;

use crate::days::end_of;

/// What was charged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    at: i128,
    units: i128,
    /// Where what was charged ended just after: the window, or the queue.
    end: i128,
    /// The number of the charge in a window that keeps each.
    id: usize,
}

impl Receipt {
    fn new(at: i128, units: i128) -> Self {
        Self { at, units, end: 0, id: 0 }
    }
}

/// A limiter as simply as it can be told.
pub(crate) trait Limiter {
    /// Takes notice of an instant that may lie before the last.
    fn redate(&mut self, _now: i128) {}

    /// Whether `n` units pass at an instant not before the last, with at most this delay.
    fn admits(&self, n: i128, within: Option<i128>, at: i128) -> bool;

    /// Charges one unit or more.
    fn charge(&mut self, n: i128, now: i128) -> Receipt;

    fn refund(&mut self, receipt: &Receipt, now: i128);

    fn delay(&self, _now: i128) -> i128 {
        0
    }
}

pub(crate) struct ClockWindow {
    pub(crate) limit: i128,
    pub(crate) window: i128,
    pub(crate) index: i128,
    pub(crate) count: i128,
}

impl Limiter for ClockWindow {
    fn redate(&mut self, now: i128) {
        self.index = self.index.min(now / self.window);
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let count = if at / self.window == self.index { self.count } else { 0 };
        n == 0 || count + n <= self.limit
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        if now / self.window != self.index {
            (self.index, self.count) = (now / self.window, 0);
        }
        self.count += n;
        Receipt::new(now, n)
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        let same = receipt.at / self.window == self.index && now / self.window == self.index;
        self.count -= if same { receipt.units } else { 0 };
    }
}

pub(crate) struct CalendarWindow {
    pub(crate) limit: i128,
    pub(crate) calendar: Calendar,
    pub(crate) end: i128,
    pub(crate) count: i128,
}

impl CalendarWindow {
    fn end(&self, at: i128) -> i128 {
        end_of(self.calendar, at.try_into().unwrap()).into()
    }
}

impl Limiter for CalendarWindow {
    fn redate(&mut self, now: i128) {
        self.end = self.end.min(self.end(now));
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let count = if at < self.end { self.count } else { 0 };
        n == 0 || count + n <= self.limit
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        if now >= self.end {
            (self.end, self.count) = (self.end(now), 0);
        }
        self.count += n;
        Receipt { end: self.end, ..Receipt::new(now, n) }
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        let same = receipt.end == self.end && now < self.end;
        self.count -= if same { receipt.units } else { 0 };
    }
}

/// Every charge in the window, its opener first.
pub(crate) struct HitWindow {
    limit: i128,
    window: i128,
    end: i128,
    /// Whether a refund has put the end off.
    put_off: bool,
    /// The charges, each with whether it was made before that.
    hits: Vec<(Receipt, bool)>,
    charged: usize,
}

impl HitWindow {
    pub(crate) fn new(limit: i128, window: i128) -> Self {
        Self { limit, window, end: 0, put_off: false, hits: Vec::new(), charged: 0 }
    }

    fn count(&self) -> i128 {
        self.hits.iter().map(|(hit, _)| hit.units).sum()
    }

    /// Takes a charge out, if it is known for sure to be in the window.
    fn take(&mut self, receipt: &Receipt, now: i128) -> bool {
        let Some(found) = self.hits.iter().position(|(hit, _)| hit.id == receipt.id) else { return false };
        if self.put_off && receipt.end <= self.end - self.window {
            return false;
        }
        let (_, early) = self.hits.remove(found);
        let gone =
            if self.put_off { early && !self.hits.iter().any(|(_, early)| *early) } else { found == 0 };
        if gone {
            (self.end, self.put_off) = (now + self.window, true);
            self.hits.iter_mut().for_each(|(_, early)| *early = true);
        }
        true
    }
}

impl Limiter for HitWindow {
    fn redate(&mut self, now: i128) {
        self.end = self.end.min(now + self.window);
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let count = if at < self.end { self.count() } else { 0 };
        n == 0 || count + n <= self.limit
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        if now >= self.end || self.hits.is_empty() {
            (self.end, self.put_off) = (now + self.window, false);
            self.hits.clear();
        }
        self.charged += 1;
        let receipt = Receipt { end: self.end, id: self.charged, ..Receipt::new(now, n) };
        self.hits.push((receipt, false));
        receipt
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        if now < self.end {
            self.take(receipt, now);
        }
    }
}

/// A window of attempts, and a lock that the last of them starts.
pub(crate) struct Lockout {
    pub(crate) hits: HitWindow,
    pub(crate) lock: i128,
    pub(crate) locked_until: Option<i128>,
}

impl Limiter for Lockout {
    fn redate(&mut self, now: i128) {
        self.hits.redate(now);
        self.locked_until = self.locked_until.map(|until| until.min(now + self.lock));
    }

    fn admits(&self, n: i128, within: Option<i128>, at: i128) -> bool {
        match self.locked_until {
            Some(until) if at < until => n == 0,
            Some(_) => n <= self.hits.limit,
            None => self.hits.admits(n, within, at),
        }
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        if self.locked_until.take().is_some() {
            self.hits.hits.clear();
        }
        let receipt = self.hits.charge(n, now);
        self.locked_until = (self.hits.count() == self.hits.limit).then_some(now + self.lock);
        receipt
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        let set_at = self.hits.end - self.hits.window;
        let long_ago = self.hits.put_off && receipt.at + self.lock <= set_at;
        if now >= self.locked_until.unwrap_or(self.hits.end) || long_ago || !self.hits.take(receipt, now) {
            return;
        }
        self.locked_until = None;
        if now >= self.hits.end {
            self.hits.hits.clear();
        }
    }
}

pub(crate) struct SlidingLog {
    pub(crate) limit: i128,
    pub(crate) window: i128,
    pub(crate) stamps: Vec<(i128, i128)>,
}

impl Limiter for SlidingLog {
    fn redate(&mut self, now: i128) {
        self.stamps.iter_mut().for_each(|(at, _)| *at = now.min(*at));
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let within: i128 =
            self.stamps.iter().filter(|(then, _)| *then > at - self.window).map(|(_, n)| n).sum();
        n == 0 || within + n <= self.limit
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        // Who has left by the time of a charge has left for good, even if time goes back.
        self.stamps.retain(|(then, _)| *then > now - self.window);
        self.stamps.push((now, n));
        Receipt::new(now, n)
    }

    fn refund(&mut self, receipt: &Receipt, _: i128) {
        if let Some(found) = self.stamps.iter().position(|stamp| *stamp == (receipt.at, receipt.units)) {
            self.stamps.remove(found);
        }
    }
}

pub(crate) struct SlidingCounter {
    pub(crate) limit: i128,
    pub(crate) window: i128,
    pub(crate) index: i128,
    pub(crate) previous: i128,
    pub(crate) current: i128,
}

impl SlidingCounter {
    fn view(&self, at: i128) -> (i128, i128) {
        match at / self.window - self.index {
            0 => (self.previous, self.current),
            1 => (self.current, 0),
            _ => (0, 0),
        }
    }
}

impl Limiter for SlidingCounter {
    fn redate(&mut self, now: i128) {
        self.index = self.index.min(now / self.window);
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let (previous, current) = self.view(at);
        let left = self.window - at % self.window;
        n == 0 || previous * left + (current + n - 1) * self.window < self.limit * self.window
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        (self.previous, self.current) = self.view(now);
        self.index = now / self.window;
        self.current += n;
        Receipt::new(now, n)
    }

    fn refund(&mut self, receipt: &Receipt, _: i128) {
        match self.index - receipt.at / self.window {
            0 => self.current -= receipt.units,
            1 => self.previous -= receipt.units,
            _ => {}
        }
    }
}

pub(crate) struct TokenBucket {
    pub(crate) capacity: i128,
    pub(crate) p: i128,
    pub(crate) q: i128,
    /// In 1/q of a unit, at `date`.
    pub(crate) credit: i128,
    pub(crate) date: i128,
}

impl TokenBucket {
    fn credit(&self, at: i128) -> i128 {
        (self.credit + (at - self.date) * self.p).min(self.capacity * self.q)
    }
}

impl Limiter for TokenBucket {
    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        self.credit(at) >= n * self.q
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        (self.credit, self.date) = (self.credit(now) - n * self.q, now);
        Receipt::new(now, n)
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        let given = (receipt.units * self.q - (now - receipt.at) * self.p).max(0);
        (self.credit, self.date) = ((self.credit(now) + given).min(self.capacity * self.q), now);
    }
}

pub(crate) struct LeakyBucket {
    pub(crate) queue: i128,
    pub(crate) p: i128,
    pub(crate) q: i128,
    /// The next free slot, in 1/p microseconds since the epoch.
    pub(crate) free: i128,
}

impl LeakyBucket {
    /// How far the next free slot is, in 1/p microseconds.
    fn ahead(&self, at: i128) -> i128 {
        (self.free - at * self.p).max(0)
    }
}

impl Limiter for LeakyBucket {
    fn admits(&self, n: i128, within: Option<i128>, at: i128) -> bool {
        let last = self.ahead(at) + (n - 1) * self.q;
        n == 0 || last <= self.queue * self.q && within.is_none_or(|within| last <= within * self.p)
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        self.free = now * self.p + self.ahead(now) + n * self.q;
        Receipt { end: self.free, ..Receipt::new(now, n) }
    }

    fn refund(&mut self, receipt: &Receipt, _: i128) {
        if receipt.end == self.free {
            self.free -= receipt.units * self.q;
        }
    }

    fn delay(&self, now: i128) -> i128 {
        (self.ahead(now) + self.p - 1) / self.p
    }
}
