//! The units of time that Envoy knows.

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit as Reply;
use tidegate::Span;

/// A unit with its seconds, as Envoy reckons them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    reply: Reply,
    seconds: u64,
    override_name: &'static str,
}

/// By the number that an override names it with, which has no week.
const OVERRIDES: [(i32, Reply); 6] = [
    (1, Reply::Second),
    (2, Reply::Minute),
    (3, Reply::Hour),
    (4, Reply::Day),
    (5, Reply::Month),
    (6, Reply::Year),
];

const ALL: [Unit; 7] = [
    unit(Reply::Second, 1, "envoy override/second"),
    unit(Reply::Minute, 60, "envoy override/minute"),
    unit(Reply::Hour, 3_600, "envoy override/hour"),
    unit(Reply::Day, 86_400, "envoy override/day"),
    unit(Reply::Week, 7 * 86_400, "envoy override/week"),
    unit(Reply::Month, 30 * 86_400, "envoy override/month"),
    unit(Reply::Year, 365 * 86_400, "envoy override/year"),
];

const fn unit(reply: Reply, seconds: u64, override_name: &'static str) -> Unit {
    Unit { reply, seconds, override_name }
}

impl Unit {
    /// Returns the unit that an override names by a number.
    pub(super) fn of_override(number: i32) -> Option<Self> {
        let (_, reply) = OVERRIDES.iter().find(|(known, _)| *known == number)?;
        ALL.into_iter().find(|unit| unit.reply == *reply)
    }

    /// Returns the unit that a window is exactly as long as.
    pub(super) fn of_window(window: Span) -> Option<Self> {
        ALL.into_iter().find(|unit| Span::from_secs(unit.seconds) == window)
    }

    /// Returns its length.
    pub(super) fn seconds(self) -> u64 {
        self.seconds
    }

    /// Returns the name that counts of limits that come along are kept under: no rule is called so.
    pub(super) fn override_name(self) -> &'static str {
        self.override_name
    }

    /// Returns it as an answer names it.
    pub(super) fn reply(self) -> Reply {
        self.reply
    }
}

/// Returns whether a limit is one that came along with a descriptor, by its name.
pub(super) fn is_override(limit: &str) -> bool {
    ALL.iter().any(|unit| unit.override_name == limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_has_every_unit_but_the_week_and_a_window_is_one_only_when_it_is_as_long() {
        let seconds: Vec<_> = (0..8).map(|number| Unit::of_override(number).map(Unit::seconds)).collect();
        let [month, year] = [30, 365].map(|days| Some(days * 86_400));
        assert_eq!(seconds, [None, Some(1), Some(60), Some(3_600), Some(86_400), month, year, None]);
        let reply = |seconds| Unit::of_window(Span::from_secs(seconds)).map(Unit::reply);
        assert_eq!(reply(604_800), Some(Reply::Week));
        assert_eq!(reply(600), None);
    }
}
