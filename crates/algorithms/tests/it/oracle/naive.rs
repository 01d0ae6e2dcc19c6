//! The contract's table, written plainly: whole microseconds, fractions as numerators over the rate's own
//! denominators, 128 bits for everything. An ask for nothing is always admitted.

/// What was charged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    at: i128,
    units: i128,
    /// Where what was charged ended just after: the window, or the queue.
    end: i128,
    /// Whether the charge opened its window.
    opener: bool,
}

impl Receipt {
    fn new(at: i128, units: i128) -> Self {
        Self { at, units, end: 0, opener: false }
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

pub(crate) struct HitWindow {
    pub(crate) limit: i128,
    pub(crate) window: i128,
    pub(crate) opened: Option<i128>,
    pub(crate) count: i128,
}

impl HitWindow {
    fn open(&self, at: i128) -> bool {
        self.opened.is_some_and(|opened| at < opened + self.window)
    }
}

impl Limiter for HitWindow {
    fn redate(&mut self, now: i128) {
        self.opened = self.opened.map(|opened| opened.min(now));
    }

    fn admits(&self, n: i128, _: Option<i128>, at: i128) -> bool {
        let count = if self.open(at) { self.count } else { 0 };
        n == 0 || count + n <= self.limit
    }

    fn charge(&mut self, n: i128, now: i128) -> Receipt {
        let opener = !self.open(now);
        if opener {
            (self.opened, self.count) = (Some(now), 0);
        }
        self.count += n;
        Receipt { end: self.opened.unwrap() + self.window, opener, ..Receipt::new(now, n) }
    }

    fn refund(&mut self, receipt: &Receipt, now: i128) {
        if !self.open(now) || Some(receipt.end - self.window) != self.opened {
            return;
        }
        // The hit that opened the window is what ends it, and stays while there are others.
        if !receipt.opener || self.count == receipt.units {
            self.count -= receipt.units;
        }
        if self.count == 0 {
            self.opened = None;
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
