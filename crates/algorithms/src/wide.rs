//! Products that need more than 64 bits.
//!
//! Inside the domain a product of units and microseconds stays below 2^83 and a caller's longest delay, of any 64
//! bits, times a rate below 2^94, so `u128` holds them; results come back to 64 bits, and one past them stands for
//! "more than anything". Nearly every product fits 64 bits, and is then divided in 64.

/// Returns ⌊a·b / c⌋, `u64::MAX` when it does not fit or `c` is zero.
#[inline]
pub(crate) fn mul_div_floor(a: u64, b: u64, c: u64) -> u64 {
    div_floor(mul(a, b), c)
}

/// Returns ⌈a·b / c⌉, `u64::MAX` when it does not fit or `c` is zero.
#[inline]
pub(crate) fn mul_div_ceil(a: u64, b: u64, c: u64) -> u64 {
    div_ceil(mul(a, b), c)
}

/// Returns a·b, exactly.
#[inline]
pub(crate) fn mul(a: u64, b: u64) -> u128 {
    u128::from(a).saturating_mul(u128::from(b))
}

/// Returns ⌊a / c⌋, `u64::MAX` when it does not fit or `c` is zero.
#[inline]
pub(crate) fn div_floor(a: u128, c: u64) -> u64 {
    match u64::try_from(a) {
        // Most rates are one unit a period, and a division costs more than all else in a decision.
        Ok(small) if c == 1 => small,
        Ok(small) => small.checked_div(c).unwrap_or(u64::MAX),
        Err(_) => a.checked_div(u128::from(c)).and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX),
    }
}

/// Returns ⌈a / c⌉, `u64::MAX` when it does not fit or `c` is zero.
#[inline]
pub(crate) fn div_ceil(a: u128, c: u64) -> u64 {
    div_floor(a.saturating_add(u128::from(c.saturating_sub(1))), c)
}
