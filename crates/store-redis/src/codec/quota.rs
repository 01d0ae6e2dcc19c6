//! A quota as bytes: its kind, then its numbers, each quota in one way only.
//!
//! Numbers are seven bits a byte, lowest first; spans are m·10^e microseconds written as the number 16·m + e, since people
//! choose round ones.

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

pub(super) const CLOCK: u8 = 1;
pub(super) const HIT: u8 = 2;
const DAY: u8 = 3;
const WEEK: u8 = 4;
const MONTH: u8 = 5;
const LOG: u8 = 6;
const COUNTER: u8 = 7;
/// A bucket with a rate of one unit in so many microseconds; the kind after it is of any other rate.
const TOKEN: u8 = 8;
const LEAKY: u8 = 10;
const LOCKOUT: u8 = 12;

/// Returns the code of a quota.
pub(crate) fn quota_code(quota: &Quota) -> Vec<u8> {
    let mut out = Vec::with_capacity(12);
    match quota {
        Quota::FixedWindow(quota) => {
            let (kind, window) = match quota.anchor() {
                Anchor::Clock => (CLOCK, Some(quota.window())),
                Anchor::FirstHit => (HIT, Some(quota.window())),
                Anchor::Calendar(Calendar::Day) => (DAY, None),
                Anchor::Calendar(Calendar::Week) => (WEEK, None),
                Anchor::Calendar(Calendar::Month) => (MONTH, None),
            };
            out.push(kind);
            number(&mut out, quota.limit().into());
            if let Some(window) = window {
                span(&mut out, window.as_micros());
            }
        }
        Quota::SlidingLog(quota) => {
            out.push(LOG);
            number(&mut out, quota.limit().into());
            span(&mut out, quota.window().as_micros());
        }
        Quota::SlidingCounter(quota) => {
            out.push(COUNTER);
            number(&mut out, quota.limit().into());
            span(&mut out, quota.window().as_micros());
        }
        Quota::TokenBucket(quota) => bucket(&mut out, TOKEN, quota.capacity(), quota.refill()),
        Quota::LeakyBucket(quota) => bucket(&mut out, LEAKY, quota.queue(), quota.rate()),
        Quota::Lockout(quota) => {
            out.push(LOCKOUT);
            number(&mut out, quota.attempts().into());
            span(&mut out, quota.within().as_micros());
            span(&mut out, quota.lock().as_micros());
        }
    }
    out
}

fn bucket(out: &mut Vec<u8>, kind: u8, units: u32, rate: Rate) {
    out.push(if rate.units() == 1 { kind } else { kind + 1 });
    number(out, units.into());
    if rate.units() != 1 {
        number(out, rate.units().into());
    }
    span(out, rate.micros());
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        out.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return;
        }
    }
}

fn span(out: &mut Vec<u8>, micros: u64) {
    let (mut mantissa, mut exponent) = (micros, 0);
    while mantissa != 0 && mantissa.is_multiple_of(10) && exponent < 15 {
        mantissa /= 10;
        exponent += 1;
    }
    number(out, mantissa.saturating_mul(16).saturating_add(exponent));
}

/// Reads a code from the front of `bytes`; `None` where none of ours stands there.
pub(super) fn read(bytes: &mut &[u8]) -> Option<Quota> {
    let whole = *bytes;
    let kind = read_byte(bytes)?;
    let units = read_number(bytes)?;
    let quota = match kind {
        CLOCK => Quota::fixed_window(units, read_span(bytes)?, Anchor::Clock),
        HIT => Quota::fixed_window(units, read_span(bytes)?, Anchor::FirstHit),
        DAY => Quota::calendar_window(units, Calendar::Day),
        WEEK => Quota::calendar_window(units, Calendar::Week),
        MONTH => Quota::calendar_window(units, Calendar::Month),
        LOG => Quota::sliding_log(units, read_span(bytes)?),
        COUNTER => Quota::sliding_counter(units, read_span(bytes)?),
        LOCKOUT => Quota::lockout(units, read_span(bytes)?, read_span(bytes)?),
        _ if kind & !1 == TOKEN => Quota::token_bucket(units, read_rate(bytes, kind)?),
        _ if kind & !1 == LEAKY => Quota::leaky_bucket(read_rate(bytes, kind)?, units),
        _ => return None,
    };
    let quota = quota.ok()?;
    // A quota has one code: whoever compares codes compares quotas.
    let read = whole.len().checked_sub(bytes.len())?;
    (whole.get(..read)? == quota_code(&quota)).then_some(quota)
}

fn read_rate(bytes: &mut &[u8], kind: u8) -> Option<Rate> {
    let units = if kind & 1 == 0 { 1 } else { read_number(bytes)? };
    Rate::from_parts(units, read_span(bytes)?.as_micros()).ok()
}

fn read_span(bytes: &mut &[u8]) -> Option<Span> {
    let number = read_number(bytes)?;
    let exponent = u32::try_from(number % 16).ok()?;
    (number / 16).checked_mul(10_u64.checked_pow(exponent)?).map(Span::from_micros)
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = read_byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn read_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}
