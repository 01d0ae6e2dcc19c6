//! What Envoy is told of each descriptor.
//!
//! Of a bucket, `requests_per_unit` is what it holds and its unit the time in which an empty one fills, as in the
//! `RateLimit-Policy` field. Envoy shows these numbers to clients when it is told to (`enable_x_ratelimit_headers`), and
//! makes a `Retry-After` of `duration_until_reset` (`enable_retry_after_header`): what a rule does not let clients see is
//! therefore not said here either.

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus as Status, RateLimit,
};
use envoy_types::pb::google::protobuf::Duration;
use tidegate::policy_file::Policy;
use tidegate::{
    Anchor, DescriptorAnswer, DescriptorStatus, DescriptorsVerdict, Disclosure, LimitDecision, Quota, Ruling,
    Span, Timestamp,
};

use super::answer::any_over;
use super::unit::{Unit, is_override};

/// The wait that Envoy is told where the store does not answer: nobody knows, and most such times are short.
const STORE_RETRY: Duration = Duration { seconds: 1, nanos: 0 };

/// Returns a status for each descriptor, in order.
pub(super) fn statuses(policy: &Policy, decided: &DescriptorsVerdict, refused: bool) -> Vec<Status> {
    // Refused by no limit of its own (the store is gone, a rule lets nothing through): every descriptor that a rule is about
    // says so, or all where none is.
    let whole = refused && !any_over(decided);
    let none_matched = decided.answers.iter().all(|answer| answer.rules.is_empty());
    let status = |answer: &DescriptorAnswer| {
        if whole && (none_matched || !answer.rules.is_empty()) {
            let waits = *decided.verdict.ruling() == Ruling::StoreDown;
            let duration_until_reset = waits.then_some(STORE_RETRY);
            return Status { code: Code::OverLimit.into(), duration_until_reset, ..Status::default() };
        }
        match answer.status {
            DescriptorStatus::Unmatched => passed(0),
            DescriptorStatus::Unlimited => passed(u32::MAX),
            DescriptorStatus::Decided { by, over } => {
                let one = decided.verdict.decisions().get(by);
                one.map_or_else(
                    || passed(0),
                    |one| limited(policy, answer, (one, over), decided.verdict.at()),
                )
            }
        }
    };
    decided.answers.iter().map(status).collect()
}

fn passed(limit_remaining: u32) -> Status {
    Status { code: Code::Ok.into(), limit_remaining, ..Status::default() }
}

fn limited(
    policy: &Policy,
    answer: &DescriptorAnswer,
    (one, over): (&LimitDecision, bool),
    at: Option<Timestamp>,
) -> Status {
    let code = if over { Code::OverLimit } else { Code::Ok };
    let seen = one.limit.disclosure();
    let tells_wait = seen == Disclosure::All || (seen == Disclosure::RetryAfter && over);
    let wait = until_reset(one, at).filter(|_| tells_wait);
    let mut status = Status {
        code: code.into(),
        duration_until_reset: wait.map(|wait| Duration { seconds: seconds(wait), nanos: 0 }),
        ..Status::default()
    };
    if seen == Disclosure::All {
        let unit = Unit::of_window(one.limit.quota().window());
        status.current_limit = Some(RateLimit {
            requests_per_unit: one.decision.limit,
            unit: unit.map_or(0, |unit| unit.reply().into()),
            name: name(policy, answer, one.limit.name()),
        });
        status.limit_remaining = if over { 0 } else { one.decision.remaining };
    }
    status
}

/// Returns the name of a limit: its rule's label, or its own. Envoy puts it between quotes as it is.
fn name(policy: &Policy, answer: &DescriptorAnswer, limit: &str) -> String {
    if is_override(limit) {
        return String::new();
    }
    let rules = answer.rules.iter().filter_map(|index| policy.rules.get(*index));
    let rule = rules.into_iter().find(|rule| rule.limits.iter().any(|own| own.name == limit));
    let label = rule.and_then(|rule| rule.envoy.label.as_deref()).unwrap_or(limit);
    let plain = |char| if matches!(char, ' '..='~') && !matches!(char, '"' | '\\') { char } else { '_' };
    label.chars().map(plain).collect()
}

/// Returns how long what is told lasts: a refusal's wait, a window's rest, else until a unit comes back when none is left,
/// else until all are. `None` for ever.
fn until_reset(one: &LimitDecision, at: Option<Timestamp>) -> Option<Span> {
    let decision = &one.decision;
    let rest = at.and_then(|at| rest_of_window(one.limit.quota(), at));
    let wait = match decision.retry() {
        // What is never admitted is refused for this window at least.
        Some(retry) => retry.wait().or(rest)?,
        None => {
            rest.unwrap_or(if decision.remaining == 0 { decision.next_unit } else { decision.reset_after })
        }
    };
    (wait != Span::MAX).then_some(wait)
}

/// Returns how long a window of the clock still is; a whole one at its first instant.
fn rest_of_window(quota: &Quota, at: Timestamp) -> Option<Span> {
    let Quota::FixedWindow(window) = quota else { return None };
    if window.anchor() != Anchor::Clock {
        return None;
    }
    let length = window.window().as_micros();
    let elapsed = at.as_micros().checked_rem(length)?;
    Some(Span::from_micros(length.saturating_sub(elapsed)))
}

/// Returns whole seconds, rounded up: Envoy drops fractions.
fn seconds(wait: Span) -> i64 {
    i64::try_from(wait.ceil_secs()).unwrap_or(i64::MAX)
}
