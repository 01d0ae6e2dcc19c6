//! A quota in bytes, the same in every build and on every machine.

use tidegate_algorithms::{Anchor, Calendar, Quota, Rate, Span};

/// The bytes of a quota.
pub(in crate::memory) const CODE: usize = 22;

/// What a quota is made of, in one form for all: a kind, an anchor, and three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    kind: u8,
    anchor: u8,
    units: u32,
    first: u64,
    second: u64,
}

/// Writes a quota down. Two quotas have the same code only if they are equal.
pub(in crate::memory) fn code(quota: &Quota) -> [u8; CODE] {
    let parts = parts(quota);
    let mut code = [0; CODE];
    let fields = [parts.kind, parts.anchor].into_iter().chain(parts.units.to_le_bytes());
    let fields = fields.chain(parts.first.to_le_bytes()).chain(parts.second.to_le_bytes());
    for (byte, field) in code.iter_mut().zip(fields) {
        *byte = field;
    }
    code
}

/// Reads what [`code`] wrote; `None` when it stands for no quota.
pub(super) fn decode(code: &[u8; CODE]) -> Option<Quota> {
    let [kind, anchor, rest @ ..] = code;
    let (units, rest) = rest.split_first_chunk()?;
    let (first, second) = rest.split_first_chunk()?;
    let parts = Parts {
        kind: *kind,
        anchor: *anchor,
        units: u32::from_le_bytes(*units),
        first: u64::from_le_bytes(*first),
        second: u64::from_le_bytes(second.try_into().ok()?),
    };
    let quota = quota(parts)?;
    // Only what would be written again so: a field that means nothing is no reason to guess.
    (self::parts(&quota) == parts).then_some(quota)
}

fn parts(quota: &Quota) -> Parts {
    let (kind, anchor, units, first, second) = match quota {
        Quota::FixedWindow(quota) => {
            let anchor = match quota.anchor() {
                Anchor::Clock => 0,
                Anchor::FirstHit => 1,
                Anchor::Calendar(Calendar::Day) => 2,
                Anchor::Calendar(Calendar::Week) => 3,
                Anchor::Calendar(Calendar::Month) => 4,
            };
            (0, anchor, quota.limit(), quota.window().as_micros(), 0)
        }
        Quota::SlidingLog(quota) => (1, 0, quota.limit(), quota.window().as_micros(), 0),
        Quota::SlidingCounter(quota) => (2, 0, quota.limit(), quota.window().as_micros(), 0),
        Quota::TokenBucket(quota) => {
            (3, 0, quota.capacity(), quota.refill().units().into(), quota.refill().micros())
        }
        Quota::LeakyBucket(quota) => {
            (4, 0, quota.queue(), quota.rate().units().into(), quota.rate().micros())
        }
        Quota::Lockout(quota) => {
            (5, 0, quota.attempts(), quota.within().as_micros(), quota.lock().as_micros())
        }
    };
    Parts { kind, anchor, units, first, second }
}

fn quota(parts: Parts) -> Option<Quota> {
    let Parts { kind, anchor, units, first, second } = parts;
    let units = u64::from(units);
    let (window, lock) = (Span::from_micros(first), Span::from_micros(second));
    match (kind, anchor) {
        (0, anchor) => {
            let anchor = match anchor {
                0 => Anchor::Clock,
                1 => Anchor::FirstHit,
                2 => Anchor::Calendar(Calendar::Day),
                3 => Anchor::Calendar(Calendar::Week),
                4 => Anchor::Calendar(Calendar::Month),
                _ => return None,
            };
            Quota::fixed_window(units, window, anchor)
        }
        (1, 0) => Quota::sliding_log(units, window),
        (2, 0) => Quota::sliding_counter(units, window),
        (3, 0) => Quota::token_bucket(units, Rate::from_parts(first, second).ok()?),
        (4, 0) => Quota::leaky_bucket(Rate::from_parts(first, second).ok()?, units),
        (5, 0) => Quota::lockout(units, window, lock),
        _ => return None,
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_algorithms::{MAX_LOG_UNITS, MAX_SPAN, MAX_UNITS, MIN_SPAN};

    fn ends_of_the_domain() -> Vec<Quota> {
        let (shortest, longest) = (MIN_SPAN, MAX_SPAN);
        let (most, log) = (u64::from(MAX_UNITS), u64::from(MAX_LOG_UNITS));
        let fastest = Rate::new(most, shortest).unwrap();
        let slowest = Rate::new(1, longest).unwrap();
        vec![
            Quota::fixed_window(most, longest, Anchor::Clock).unwrap(),
            Quota::fixed_window(0, shortest, Anchor::FirstHit).unwrap(),
            Quota::calendar_window(7, Calendar::Day).unwrap(),
            Quota::calendar_window(7, Calendar::Week).unwrap(),
            Quota::calendar_window(7, Calendar::Month).unwrap(),
            Quota::sliding_log(log, longest).unwrap(),
            Quota::sliding_counter(most, shortest).unwrap(),
            Quota::token_bucket(most, fastest).unwrap(),
            Quota::token_bucket(1, slowest).unwrap(),
            Quota::token_bucket(5, Rate::new(2_000_003, Span::from_secs(1)).unwrap()).unwrap(),
            Quota::leaky_bucket(fastest, 0).unwrap(),
            Quota::leaky_bucket(slowest, most).unwrap(),
            Quota::lockout(1, shortest, longest).unwrap(),
            Quota::lockout(most, longest, shortest).unwrap(),
        ]
    }

    /// A quota that cannot be read again would make a snapshot worthless, and all that was used up free.
    #[test]
    fn every_quota_is_read_as_it_was_written() {
        for quota in ends_of_the_domain() {
            assert_eq!(decode(&code(&quota)), Some(quota));
        }
    }

    /// The names of states that are left beside others are made of these bytes: another layout needs another version.
    #[test]
    fn the_bytes_are_the_same_for_ever() {
        let quota = Quota::lockout(5, Span::from_secs(1), Span::from_secs(2)).unwrap();
        let mut bytes = [0; CODE];
        bytes[0] = 5;
        bytes[2] = 5;
        bytes[6..9].copy_from_slice(&[0x40, 0x42, 0x0f]);
        bytes[14..17].copy_from_slice(&[0x80, 0x84, 0x1e]);
        assert_eq!(code(&quota), bytes);
    }

    #[test]
    fn what_stands_for_no_quota_is_none() {
        for quota in ends_of_the_domain() {
            for (at, value) in [(0, 6), (1, 5), (5, 0xff), (13, 0xff), (21, 0xff)] {
                let mut bytes = code(&quota);
                bytes[at] = value;
                assert!(decode(&bytes).is_none_or(|read| code(&read) == bytes), "{quota:?}");
            }
        }
        assert_eq!(decode(&[0; CODE]), None, "no window has no length");
    }
}
