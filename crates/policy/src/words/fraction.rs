//! Exact numbers of a sentence: `0.5`, three quarters.

/// A number that is not negative, reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fraction {
    top: u64,
    bottom: u64,
}

impl Fraction {
    pub(super) const ZERO: Self = Self { top: 0, bottom: 1 };
    pub(super) const ONE: Self = Self { top: 1, bottom: 1 };

    /// Returns `top / bottom`; `None` when that is no number, or too large a one.
    pub(super) fn new(top: u128, bottom: u128) -> Option<Self> {
        let divisor = gcd(top, bottom);
        let top = u64::try_from(top.checked_div(divisor)?).ok()?;
        let bottom = u64::try_from(bottom.checked_div(divisor)?).ok()?;
        (bottom > 0).then_some(Self { top, bottom })
    }

    pub(super) fn whole(number: u64) -> Self {
        Self { top: number, bottom: 1 }
    }

    /// Reads digits before and after a decimal point.
    pub(super) fn decimal(digits: &str, decimals: &str) -> Option<Self> {
        if digits.len().saturating_add(decimals.len()) > 18 {
            return None;
        }
        let bottom = 10_u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        Self::new(format!("{digits}{decimals}").parse().ok()?, bottom)
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        let top = u128::from(self.top).checked_mul(other.top.into())?;
        Self::new(top, u128::from(self.bottom).checked_mul(other.bottom.into())?)
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let left = u128::from(self.top).checked_mul(other.bottom.into())?;
        let right = u128::from(other.top).checked_mul(self.bottom.into())?;
        Self::new(left.checked_add(right)?, u128::from(self.bottom).checked_mul(other.bottom.into())?)
    }

    /// Returns the number if it is a whole one.
    pub(super) fn as_whole(self) -> Option<u64> {
        (self.bottom == 1).then_some(self.top)
    }

    /// Returns numerator and denominator.
    pub(super) fn parts(self) -> (u64, u64) {
        (self.top, self.bottom)
    }
}

pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}
