//! How long a blind guess takes: somebody who tries codes at random, as often as limits let him, until one is right.
//!
//! Every try hits with the same chance p = v / S, for v codes that are right at once out of S. Of n tries one hits with
//! 1 − (1 − p)ⁿ. Codes that are shown for a few steps of a clock overlap, and somebody who does not repeat himself while
//! one is shown has the same chances to first order. What is counted from limits is exact; chances and times are
//! floating-point numbers, which are only shown.

mod allowance;
mod mean;
mod remedy;
mod times;

use std::fmt;

use tidegate_policy::Code;

pub use allowance::Allowance;
pub use remedy::{lowered, stretched};
pub use times::{DAY, GuessTimes, YEAR};

use crate::figures::{float, whole};

/// The most codes that are right at once.
const MAX_VALID: u32 = 10_000;

/// A code that is guessed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess {
    alphabet: u32,
    length: u32,
    space: u128,
    valid: u32,
}

impl Guess {
    /// Builds the guess at a code of so many characters out of an alphabet of so many, of which `valid` are right at once.
    ///
    /// # Errors
    /// When there is no such code, or there are more than 2^128.
    pub fn new(alphabet: u32, length: u32, valid: u32) -> Result<Self, GuessError> {
        if alphabet < 2 || length == 0 {
            return Err(GuessError::NoCode);
        }
        let space = u128::from(alphabet).checked_pow(length).ok_or(GuessError::TooLong)?;
        let most = u32::try_from(space).unwrap_or(u32::MAX).min(MAX_VALID);
        if valid == 0 || valid > most {
            return Err(GuessError::Valid { most });
        }
        Ok(Self { alphabet, length, space, valid })
    }

    /// Builds the guess at a code of a policy.
    ///
    /// # Errors
    /// As [`Guess::new`].
    pub fn of(code: &Code) -> Result<Self, GuessError> {
        Self::new(code.alphabet, code.digits, code.valid_at_once())
    }

    /// Returns how many codes there are.
    pub fn space(&self) -> u128 {
        self.space
    }

    /// Returns how many of them are right at once.
    pub fn valid(&self) -> u32 {
        self.valid
    }

    /// Returns the chance that one try hits.
    pub fn chance_of_one(&self) -> f64 {
        f64::from(self.valid) / float(self.space)
    }

    /// Returns the natural logarithm of the chance that one try misses; minus infinity when all codes are right.
    pub(crate) fn ln_miss(&self) -> f64 {
        (-self.chance_of_one()).ln_1p()
    }

    /// Returns the chance that at least one of so many tries hits, 1 − (1 − p)ⁿ.
    pub fn chance_of(&self, tries: u128) -> f64 {
        if tries == 0 { 0.0 } else { -(float(tries) * self.ln_miss()).exp_m1() }
    }

    /// Returns the chance that one of so many tries hits, of which none is made twice at a code that stays the same: for
    /// one right code n / S, and 1 when all are tried.
    ///
    /// For v right codes it is 1 − ∏ (1 − n / (S − i)) over i < v: that none of them is among the n.
    pub fn chance_without_repeats(&self, tries: u128) -> f64 {
        let missed = (0..self.valid).map(|taken| {
            let left = self.space.saturating_sub(taken.into());
            if tries >= left { f64::NEG_INFINITY } else { (-float(tries) / float(left)).ln_1p() }
        });
        -missed.sum::<f64>().exp_m1()
    }

    /// Returns how many tries it takes on average, 1 / p.
    pub fn mean_tries(&self) -> f64 {
        self.chance_of_one().recip()
    }

    /// Returns how many tries a chance stands for, ln(1 − chance) / ln(1 − p): as many keep below it, one more reaches it.
    pub fn tries_at(&self, chance: f64) -> f64 {
        (-chance).ln_1p() / self.ln_miss()
    }

    /// Returns the fewest tries whose chance is at least so much, for a chance above 0 and below 1.
    pub fn tries_for(&self, chance: f64) -> u128 {
        let near = whole(self.tries_at(chance).ceil()).max(1);
        // The quotient is a rounded one, and may miss a whole number by a hair.
        let fewer = near.saturating_sub(1).max(1);
        if self.chance_of(fewer) >= chance { fewer } else { near }
    }

    /// Returns the most tries whose chance is at most so much.
    pub fn most_tries(&self, chance: f64) -> u128 {
        whole(self.tries_at(chance).floor())
    }

    /// Returns the fewest characters of this alphabet, with as many codes right at once, for which so many tries hit with at
    /// most a chance; `None` when no length up to 2^128 codes does.
    pub fn length_for(&self, tries: u128, chance: f64) -> Option<u32> {
        (1..=128)
            .map_while(|length| match Self::new(self.alphabet, length, self.valid) {
                Err(GuessError::TooLong) => None,
                other => Some((length, other)),
            })
            .find(|(_, guess)| guess.as_ref().is_ok_and(|guess| guess.chance_of(tries) <= chance))
            .map(|(length, _)| length)
    }

    /// Returns how many sources together try every code while it lives, when each is let through so often; `None` when none
    /// is let through at all.
    pub fn sources_to_exhaust(&self, tries_of_each: u128) -> Option<u128> {
        (tries_of_each > 0).then(|| self.space.div_ceil(tries_of_each))
    }
}

impl fmt::Display for Guess {
    /// Writes the code: `6 digits, 3 valid at once`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match (self.alphabet, self.length) {
            (10, 1) => "digit",
            (10, _) => "digits",
            (_, 1) => "character",
            _ => "characters",
        };
        write!(f, "{} {noun}", self.length)?;
        if self.alphabet != 10 {
            write!(f, " of {}", self.alphabet)?;
        }
        write!(f, ", {} valid at once", self.valid)
    }
}

/// Numbers that are no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuessError {
    /// The alphabet has fewer than two characters, or the code none.
    NoCode,
    /// There are more than 2^128 codes.
    TooLong,
    /// No code is right, or more are than there are, or than can be summed.
    Valid {
        /// The most that can be right.
        most: u32,
    },
}

impl fmt::Display for GuessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCode => f.write_str("a code has at least one character, out of at least two"),
            Self::TooLong => f.write_str(
                "there are more than 2^128 such codes, which nobody guesses; 38 digits are enough",
            ),
            Self::Valid { most } => write!(f, "from 1 to {most} codes can be valid at once"),
        }
    }
}

impl std::error::Error for GuessError {}

#[cfg(test)]
mod tests;
