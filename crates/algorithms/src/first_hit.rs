//! What a refund does to a window that its first hit opened.
//!
//! The hit that opens a window also says when it ends. Without it the window would have been opened by a later charge,
//! and would end later: no later than a window opened now. So when the opener is given back beside others, the window's
//! end is put off to there. From then on those charged before stand in for the opener together: while one of them is
//! left the end stays, and when the last is given back it is put off once more. The state counts their units
//! ([`Window::early`]), or a key on which right codes overlap without a break would never forget a wrong one.
//!
//! A charge's receipt tells the end its window had then. The window now is the same one as long as that end lies after
//! the instant at which the present one was set; that is sure until the end the receipt tells.

use crate::fixed_window::Window;

/// A charge in a first-hit window: what its receipt tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) charged_at: u64,
    pub(crate) units: u32,
    /// The end of the window just after the charge.
    pub(crate) closes_at: u64,
    /// Whether it opened the window.
    pub(crate) opened: bool,
}

/// Takes a charge out of the window of length `window` that holds it; `None` where it cannot be told to.
///
/// The window need not be open any more. An end put off is `window` after `now`.
pub(crate) fn give_back(held: Window, hit: Hit, window: u64, now: u64) -> Option<Window> {
    let count = held.count.checked_sub(hit.units)?;
    let end_set_at = held.ends_at.saturating_sub(window);
    let put_off = Window { ends_at: now.saturating_add(window), count, early: count };
    if held.early == 0 {
        // The end was never put off, so it is the one every receipt of the window tells.
        let same = hit.closes_at == held.ends_at;
        return same.then_some(if hit.opened { put_off } else { Window { count, ..held } });
    }
    if hit.closes_at > held.ends_at || hit.closes_at <= end_set_at {
        return None;
    }
    // Who was charged in the very microsecond of the putting off counts as early: at worst it is put off once more.
    let early = hit.closes_at < held.ends_at || hit.charged_at <= end_set_at;
    match held.early.saturating_sub(hit.units) {
        _ if !early => Some(Window { count, early: held.early.min(count), ..held }),
        0 => Some(put_off),
        rest => Some(Window { count, early: rest.min(count), ..held }),
    }
}

#[cfg(test)]
mod tests;
