//! The mean time to a hit.
//!
//! The hit comes at a time T, counted in whole microseconds from the first try. A variable that is never negative has the
//! mean E\[T\] = Σ P(T > t) over t = 0, 1, 2, … (Feller, An Introduction to Probability Theory and Its Applications, vol. 1,
//! XI.1, theorem 2), and T is past t when all tries up to t have missed: P(T > t) = qᴬ⁽ᵗ⁾, with q = 1 − p and A(t) the most
//! tries from idle. Written over tries that is the sum of p·qⁿ⁻¹ times the time of the n-th. Two closed forms follow from
//! it, which the tests hold it to:
//!
//! - for a bucket, A(t) = B + ⌊R·t⌋: E\[T\] = qᴮ / (p·R), the long run with the burst B taken off;
//! - for L at once in each window W: E\[T\] = W·qᴸ / (1 − qᴸ), about W / (p·L) − W/2.
//!
//! Here the sum is taken piece by piece, for any limits and any of them together: as long as A stays the same, exactly;
//! where it grows by few tries, as the mean of a piece's two ends. A piece takes so few that its ends differ by less than
//! [`PIECE`], so the result is off by half of that at most, and for limits that let tries through evenly by a millionth.
//! What is left once it no longer matters goes at the long-run rate, q^A / (−ln q · R).

use tidegate_algorithms::{LongRun, Span};

use super::allowance::Allowance;
use crate::figures::{float, whole};

/// How much the chance to have missed so far may fall within a piece, as a share.
const PIECE: f64 = 1.0 / 256.0;
/// The share of the sum that the rest may have, to be taken at the long-run rate.
const REST: f64 = 1e-9;

/// Returns the mean time to a hit in seconds, where a try misses with a chance whose logarithm is `ln_miss`; `None` for
/// never.
pub(super) fn mean(allowance: Allowance<'_>, ln_miss: f64) -> Option<f64> {
    let first = allowance.seconds_to(1)?;
    let LongRun { units, micros } = allowance.long_run()?;
    if units == 0 {
        return None;
    }
    if ln_miss.is_infinite() {
        return Some(first);
    }
    let tries_at = |micros: u64| allowance.from_idle(Span::from_micros(micros));
    let missed = |tries: u128| (float(tries) * ln_miss).exp();
    let slowest = float(micros) / (f64::from(units) * -ln_miss);
    let few = whole((PIECE / -ln_miss).floor());
    let (mut total, mut at, mut width) = (0.0, 0_u64, 1_u64);
    loop {
        let begins = tries_at(at);
        let rest = missed(begins) * slowest;
        if rest <= REST * total {
            return Some((total + rest) / 1e6);
        }
        let piece = Piece { at, begins, few }.narrowed(width, tries_at);
        total += float(piece.width) * f64::midpoint(missed(begins), missed(piece.ends));
        width = piece.next;
        at = match at.checked_add(piece.width) {
            Some(next) => next,
            None => return Some((total + missed(piece.ends) * slowest) / 1e6),
        };
    }
}

/// Where a piece begins: its time, the tries made by then, and how many more it may take.
struct Piece {
    at: u64,
    begins: u128,
    few: u128,
}

/// A piece that takes few tries.
struct Narrowed {
    width: u64,
    /// The tries made by its last microsecond.
    ends: u128,
    /// The width to begin the next with.
    next: u64,
}

impl Piece {
    /// Halves a width until few tries fall into it; the next piece is twice as wide as one that needed no halving.
    fn narrowed(&self, first: u64, tries_at: impl Fn(u64) -> u128) -> Narrowed {
        let mut width = first.min((u64::MAX - self.at).saturating_add(1)).max(1);
        loop {
            let ends = tries_at(self.at.saturating_add(width - 1));
            if width == 1 || ends.saturating_sub(self.begins) <= self.few {
                let next = if width == first { width.saturating_mul(2) } else { width };
                return Narrowed { width, ends, next };
            }
            width /= 2;
        }
    }
}
