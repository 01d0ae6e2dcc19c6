//! The book of receipts: what was charged, until it is given back or can no longer be.
//!
//! A receipt leaves the book before it is refunded, so that however many ask for it at once, one gets it. The book has
//! room for [`ROOM`] receipts; the oldest make room for new ones, and their charges stay. Every operation takes
//! constant time.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tidegate::Receipt;

/// The receipts kept at most: some 20 MB of them.
pub(super) const ROOM: usize = 1 << 16;
/// The hexadecimal digits of an id of 128 bits.
const DIGITS: usize = 32;

/// Receipts by the id their holder has for them.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    kept: HashMap<u128, Entry>,
    /// The ids of the last [`ROOM`] receipts that were kept, refunded ones among them, the oldest first.
    order: VecDeque<u128>,
}

#[derive(Debug)]
struct Entry {
    receipt: Receipt,
    /// Until when something can be given back; `None` for longer than a clock counts.
    until: Option<Instant>,
}

impl Entry {
    fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// The id of a receipt: 128 random bits, which nobody guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiptId(u128);

impl ReceiptId {
    /// Draws an id.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(super) fn draw() -> Result<Self, getrandom::Error> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits)?;
        Ok(Self(u128::from_ne_bytes(bits)))
    }

    /// Reads an id as [`ReceiptId::to_text`] writes it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let digits =
            text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(Self)
    }

    /// Writes the id in 32 hexadecimal digits.
    pub(super) fn to_text(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl Book {
    /// Keeps a receipt as long as there is room, at most `worth`.
    pub(super) fn keep(&self, id: ReceiptId, receipt: Receipt, worth: Duration, now: Instant) {
        let mut pages = self.0.lock();
        let pages = &mut *pages;
        while let Some(oldest) = pages.order.front() {
            let over = pages.kept.get(oldest).is_none_or(|entry| entry.is_over(now));
            if !over && pages.order.len() < ROOM {
                break;
            }
            pages.kept.remove(oldest);
            pages.order.pop_front();
        }
        pages.order.push_back(id.0);
        pages.kept.insert(id.0, Entry { receipt, until: now.checked_add(worth) });
    }

    /// Takes a receipt out, for good.
    pub(super) fn take(&self, id: ReceiptId, now: Instant) -> Option<Receipt> {
        let entry = self.0.lock().kept.remove(&id.0)?;
        (!entry.is_over(now)).then_some(entry.receipt)
    }
}

#[cfg(test)]
mod tests;
