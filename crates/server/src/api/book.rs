//! The book of receipts: what was charged, until it is given back or can no longer be.
//!
//! A receipt leaves the book before it is refunded, so that however many ask for it at once, one gets it. The book has
//! room for [`ROOM`] receipts; the oldest make room for new ones, and their charges stay. Every operation takes
//! constant time and looks at one place: an id says where its receipt stands, and is random for the rest.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tidegate::Receipt;

/// The receipts kept at most: some 20 MB of them. As many as the last digits of an id tell apart.
pub(super) const ROOM: usize = 1 << PLACE_BITS;
/// The bits of an id that say where its receipt stands.
const PLACE_BITS: u32 = 16;
/// The hexadecimal digits of an id of 128 bits.
const DIGITS: usize = 32;
/// How many ids' randomness is asked of the system at once: such a call costs as much as keeping several receipts.
const DRAWN_AT_ONCE: usize = 32;

/// Receipts by the id their holder has for them.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    /// The last receipts that were kept, at most [`ROOM`], the oldest first. What was taken leaves its place empty.
    kept: VecDeque<Option<Entry>>,
    /// How many stood before them.
    gone: u128,
}

#[derive(Debug)]
struct Entry {
    id: ReceiptId,
    receipt: Receipt,
    /// Until when something can be given back; `None` for longer than a clock counts.
    until: Option<Instant>,
}

impl Entry {
    fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// The id of a receipt: its place, and 112 random bits, which nobody guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiptId(u128);

impl ReceiptId {
    /// Makes the id of a place out of randomness.
    fn of(place: u128, random: u128) -> Self {
        Self((random << PLACE_BITS) | (place % (1 << PLACE_BITS)))
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

/// Returns 128 random bits.
fn random() -> Result<u128, getrandom::Error> {
    thread_local! {
        static DRAWN: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
    }
    DRAWN.with_borrow_mut(|drawn| {
        if drawn.is_empty() {
            let mut bytes = [[0; 16]; DRAWN_AT_ONCE];
            getrandom::fill(bytes.as_flattened_mut())?;
            drawn.extend(bytes.map(u128::from_ne_bytes));
        }
        Ok(drawn.pop().unwrap_or_default())
    })
}

impl Book {
    /// Keeps a receipt as long as there is room, at most `worth`, and returns the id that it is asked for by.
    ///
    /// # Errors
    /// When the system has no randomness to give; the receipt is gone then.
    pub(super) fn keep(
        &self,
        receipt: Receipt,
        worth: Duration,
        now: Instant,
    ) -> Result<ReceiptId, getrandom::Error> {
        // Before the lock, since nobody knows how long the system takes.
        let random = random()?;
        let mut pages = self.0.lock();
        pages.make_room(now);
        let id = ReceiptId::of(pages.next(), random);
        pages.kept.push_back(Some(Entry { id, receipt, until: now.checked_add(worth) }));
        Ok(id)
    }

    /// Takes a receipt out, for good.
    pub(super) fn take(&self, id: ReceiptId, now: Instant) -> Option<Receipt> {
        let entry = self.0.lock().slot(id)?.take()?;
        (!entry.is_over(now)).then_some(entry.receipt)
    }
}

impl Pages {
    /// Returns the place of the receipt that is kept next, counted from the first one ever.
    fn next(&self) -> u128 {
        self.gone.saturating_add(self.kept.len() as u128)
    }

    /// Drops the oldest as long as they are worth nothing, or one for want of room.
    fn make_room(&mut self, now: Instant) {
        while let Some(oldest) = self.kept.front() {
            let over = oldest.as_ref().is_none_or(|entry| entry.is_over(now));
            if !over && self.kept.len() < ROOM {
                break;
            }
            self.kept.pop_front();
            self.gone = self.gone.saturating_add(1);
        }
    }

    /// Returns where a receipt of this id stands.
    fn slot(&mut self, id: ReceiptId) -> Option<&mut Option<Entry>> {
        // Places count on and on, their last bits stand in the id: so far behind the first one is this.
        let behind = id.0.wrapping_sub(self.gone) % (1 << PLACE_BITS);
        let slot = self.kept.get_mut(usize::try_from(behind).ok()?)?;
        slot.as_ref().is_some_and(|entry| entry.id == id).then_some(slot)
    }
}

#[cfg(test)]
mod tests;
