//! The numbers of the section: whole ones, and rates a second, which may be fractions and stay exact.

use crate::file::{Node, Report};

/// The most digits of a rate after its point.
const MOST_DIGITS: usize = 6;

/// Reads a whole number above zero.
pub(super) fn whole(node: &Node, what: &str, report: &mut Report) -> Option<u64> {
    let given = digits(node, what, report)?;
    match given.parse::<u64>() {
        Ok(0) => refuse(node, what, "is zero, and would let nothing through", report),
        Ok(number) => Some(number),
        Err(_) if is_negative(given) => refuse(node, what, "is negative", report),
        Err(_) if decimal(given).is_some() => refuse(node, what, "is no whole number", report),
        Err(_) => refuse(node, what, "is no number", report),
    }
}

/// Reads a rate a second, as so many units in so many seconds: 0.5 is one in two.
pub(super) fn per_second(node: &Node, what: &str, report: &mut Report) -> Option<(u64, u64)> {
    let given = digits(node, what, report)?;
    if is_negative(given) {
        return refuse(node, what, "is negative", report).map(|number| (number, 1));
    }
    let Some((units, seconds)) = decimal(given) else {
        let why = format!("is no number of at most {MOST_DIGITS} digits behind its point");
        return refuse(node, what, &why, report).map(|number| (number, 1));
    };
    if units == 0 {
        return refuse(node, what, "is zero, and nothing would ever come back", report)
            .map(|number| (number, 1));
    }
    let divisor = gcd(units, seconds);
    Some((units.checked_div(divisor)?, seconds.checked_div(divisor)?))
}

fn digits<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n str> {
    let Some(given) = node.scalar() else {
        let message = format!("{what} has to be a number, and this is {}", node.kind());
        report.add(node.place, message, "write one such as 100");
        return None;
    };
    if given.contains("${") {
        let message = format!("{what} is filled in by Spring: {given}");
        report.add(node.place, message, "write the number itself");
        return None;
    }
    Some(given.trim())
}

fn refuse(node: &Node, what: &str, why: &str, report: &mut Report) -> Option<u64> {
    let given = node.scalar().unwrap_or_default();
    report.add(node.place, format!("{what} {given} {why}"), "write one such as 100");
    None
}

fn is_negative(given: &str) -> bool {
    given.strip_prefix('-').is_some_and(|rest| decimal(rest).is_some())
}

/// Reads a decimal number as a fraction.
fn decimal(given: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = given.split_once('.').unwrap_or((given, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.trim_end_matches('0');
    if !is_digits(whole) || (!fraction.is_empty() && !is_digits(fraction)) || fraction.len() > MOST_DIGITS {
        return None;
    }
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    Some((whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(digits)?, scale))
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::decimal;

    /// A rate that went through a float would drift.
    #[test]
    fn decimals_are_exact_fractions() {
        assert_eq!(decimal("0.5"), Some((5, 10)));
        assert_eq!(decimal("10"), Some((10, 1)));
        assert_eq!(decimal("1.250"), Some((125, 100)));
        assert_eq!(decimal("0.000001"), Some((1, 1_000_000)));
        for none in ["", ".", ".5", "1.", "1e3", "0x10", "1_000", "0.0000001", "NaN", "1,5"] {
            assert!(matches!(decimal(none), None | Some((1, 1))), "{none}");
        }
    }
}
