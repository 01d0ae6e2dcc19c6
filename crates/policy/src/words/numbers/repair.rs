//! The numbers for which a claim would be so, as a policy file writes them.

use tidegate_algorithms::{Quota, Span};

use crate::words::claim::Claimed;
use crate::words::fraction::Fraction;

pub(super) fn bucket(count: Fraction) -> String {
    format!("a `token_bucket` with `capacity: {}`", whole(count))
}

/// Returns the numbers that a nominal claim stands for, as a policy file writes them.
pub(super) fn numbers(quota: &Quota, claimed: Claimed) -> String {
    let (count, length) = (whole(claimed.count), claimed.time.length.unwrap_or(Span::ZERO));
    match quota {
        Quota::TokenBucket(_) => format!("`refill: {}`", rate_of(claimed)),
        Quota::LeakyBucket(_) => format!("`rate: {}`", rate_of(claimed)),
        Quota::Lockout(_) => format!("`attempts: {count}, within: {length}`"),
        _ => format!("`limit: {count}, window: {length}`"),
    }
}

/// Writes a rate of whole units.
fn rate_of(claimed: Claimed) -> String {
    let (top, bottom) = claimed.count.parts();
    let length = claimed.time.length.unwrap_or(Span::ZERO);
    format!("{top} per {}", Span::from_micros(length.as_micros().saturating_mul(bottom)))
}

pub(super) fn whole(count: Fraction) -> String {
    match count.parts() {
        (top, 1) => top.to_string(),
        (top, bottom) => format!("{top}/{bottom}"),
    }
}
