//! A verdict as the API tells it.

mod json;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::Full;
use serde::ser::{Serialize, SerializeMap, Serializer};
use smallvec::SmallVec;
use tidegate::policy_file::HeaderStyle;
use tidegate::{Degraded, LimitDecision, Retry, Ruling, Span, Verdict};
use utoipa::ToSchema;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Ruling)]
pub(super) enum RulingName {
    /// It passes, after `delay_ms`.
    Allow,
    /// It is one too many: answer 429.
    Refuse,
    /// A key cannot be read from it in one way only, or is missing and required: answer 400.
    BadRequest,
    /// A rule lets nothing through: answer with its status.
    Denied,
    /// The store did not answer, and a limit denies then: answer 503.
    StoreDown,
    /// The store did not answer, and every limit allows then: it passes.
    Uncounted,
}

/// How a request was decided that the store did not decide.
#[derive(Debug, Clone, Copy, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Degraded)]
pub(super) enum DegradedName {
    /// It was denied, since nobody could tell.
    Deny,
    /// It passed, and nobody counted it.
    Allow,
    /// It was decided in this process alone, against this process's share of the limits.
    Local,
}

/// A verdict: whether a request may pass, why, and what every limit said.
#[derive(Debug, serde::Serialize, ToSchema)]
#[schema(as = Verdict)]
pub(super) struct Checked<'a> {
    /// Whether the request may pass.
    allowed: bool,
    ruling: RulingName,
    /// How the request was decided when the store did not decide it, as the limits' `on_store_failure` says.
    #[schema(required, inline = false)]
    degraded: Option<DegradedName>,
    /// How long an allowed request must be held before it starts, in milliseconds rounded up.
    delay_ms: u64,
    /// The same, exactly.
    delay_micros: u64,
    #[serde(flatten)]
    wait: Wait,
    /// The rule that lets nothing through, when the ruling is `denied`.
    #[schema(required, inline = false)]
    denial: Option<DenialView<'a>>,
    /// The limit that settled the matter: of a refusal, the one with the longest wait, else the tightest.
    #[schema(required)]
    limit: Option<&'a str>,
    /// The verdict in words, for people who may know the numbers.
    explain: String,
    /// What every limit said, in the order of the policy; shadow limits too.
    decisions: Vec<Decided<'a>>,
    /// The limits that did not look, because the call does not say what they count on.
    skipped: Vec<&'a str>,
    /// The header fields the gateway would send, which tell a client what the policy lets it see.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    headers: Joined,
    /// What a refund needs, when something was charged.
    #[schema(required, pattern = "^[0-9a-f]{32}$")]
    receipt: Option<String>,
}

/// A rule that lets nothing through.
#[derive(Debug, serde::Serialize, ToSchema)]
#[schema(as = Denial)]
struct DenialView<'a> {
    /// Its name.
    rule: &'a str,
    /// The status to answer with.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// Why, in words for the client.
    because: &'a str,
}

/// Which requests a limit counts.
#[derive(Debug, Clone, Copy, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Counts)]
enum CountsName {
    /// Every one.
    Every,
    /// Those that fail: the charge waits for the request's outcome.
    Failures,
}

/// When a refused request would pass if nothing else happened.
#[derive(Debug, serde::Serialize, ToSchema)]
struct Wait {
    /// In seconds, rounded up; null for an allowed request, or when waiting does not help.
    #[schema(required)]
    retry_after_seconds: Option<u64>,
    /// The same, exactly: one microsecond earlier it would be refused.
    #[schema(required)]
    retry_after_micros: Option<u64>,
    /// Whether waiting does not help: the request costs more than the limit holds.
    never: bool,
}

/// What one limit said.
#[derive(Debug, serde::Serialize, ToSchema)]
#[schema(as = Decision)]
struct Decided<'a> {
    /// Its name, `rule/limit`.
    limit: &'a str,
    /// The limit in words.
    says: &'a str,
    /// Whether it alone would let the request pass.
    allowed: bool,
    /// Whether it is only watched, and never refuses.
    shadow: bool,
    counts: CountsName,
    /// Whose terms these are, of a limit that has others for others: a plan, or a key that has an override.
    #[schema(required)]
    plan: Option<&'a str>,
    /// The units that a fresh state admits at once.
    capacity: u32,
    /// The units left now, after this request's when it was charged.
    remaining: u32,
    /// How long until one unit would be admitted; 0 when one is now, null for never.
    #[schema(required)]
    next_unit_micros: Option<u64>,
    /// How long until nothing of the past counts any more.
    #[schema(required)]
    reset_micros: Option<u64>,
    /// How long it alone would hold the request.
    delay_micros: u64,
    #[serde(flatten)]
    wait: Wait,
}

impl<'a> Checked<'a> {
    pub(super) fn new(verdict: &'a Verdict, styles: &[HeaderStyle], receipt: Option<String>) -> Self {
        let delay = verdict.delay().as_micros();
        Self {
            allowed: verdict.is_allowed(),
            ruling: match verdict.ruling() {
                Ruling::Allow { .. } => RulingName::Allow,
                Ruling::Refuse { .. } => RulingName::Refuse,
                Ruling::BadRequest(_) => RulingName::BadRequest,
                Ruling::Denied(_) => RulingName::Denied,
                Ruling::StoreDown => RulingName::StoreDown,
                Ruling::Uncounted => RulingName::Uncounted,
            },
            degraded: verdict.degraded().map(DegradedName::of),
            delay_ms: delay.div_ceil(1_000),
            delay_micros: delay,
            wait: Wait::of(verdict.retry()),
            denial: DenialView::of(verdict.ruling()),
            limit: verdict.deciding().map(|decision| decision.limit.name()),
            explain: verdict.explain(),
            decisions: verdict.decisions().iter().map(Decided::new).collect(),
            skipped: verdict.skipped().iter().map(tidegate::Limit::name).collect(),
            headers: Joined(tidegate_tower::answer_fields(verdict, styles)),
            receipt,
        }
    }
}

impl Checked<'_> {
    /// Returns the verdict as the answer to a call.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.write().into()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl DegradedName {
    fn of(degraded: Degraded) -> Self {
        match degraded {
            Degraded::Denied => Self::Deny,
            Degraded::Uncounted => Self::Allow,
            Degraded::Local => Self::Local,
        }
    }
}

impl<'a> DenialView<'a> {
    fn of(ruling: &'a Ruling) -> Option<Self> {
        let Ruling::Denied(denial) = ruling else { return None };
        Some(Self { rule: &denial.rule, status: denial.status, because: &denial.because })
    }
}

impl<'a> Decided<'a> {
    fn new(of: &'a LimitDecision) -> Self {
        let decision = &of.decision;
        Self {
            limit: of.limit.name(),
            says: of.limit.words(),
            allowed: decision.is_admitted(),
            shadow: of.limit.is_shadow(),
            counts: if of.limit.counts().is_failures() { CountsName::Failures } else { CountsName::Every },
            plan: of.limit.plan(),
            capacity: decision.limit,
            remaining: decision.remaining,
            next_unit_micros: finite(decision.next_unit),
            reset_micros: finite(decision.reset_after),
            delay_micros: decision.delay().as_micros(),
            wait: Wait::of(decision.retry()),
        }
    }
}

impl Wait {
    fn of(retry: Option<Retry>) -> Self {
        let wait = retry.and_then(Retry::wait);
        Self {
            retry_after_seconds: wait.map(Span::ceil_secs),
            retry_after_micros: wait.map(Span::as_micros),
            never: retry == Some(Retry::Never),
        }
    }
}

/// Returns a span in microseconds, `None` for ever.
fn finite(span: Span) -> Option<u64> {
    (span != Span::MAX).then(|| span.as_micros())
}

/// The fields of an answer, those of one name joined as a list.
#[derive(Debug)]
struct Joined(HeaderMap);

impl Serialize for Joined {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names: SmallVec<[_; 8]> = self.0.keys().collect();
        names.sort_unstable_by_key(|name| name.as_str());
        let mut members = serializer.serialize_map(Some(names.len()))?;
        for name in names {
            // The fields are made of visible ASCII.
            let mut values = self.0.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
            match (values.next(), values.next()) {
                (Some(value), None) => members.serialize_entry(name.as_str(), value)?,
                (first, second) => {
                    let all: Vec<_> = first.into_iter().chain(second).chain(values).collect();
                    members.serialize_entry(name.as_str(), &all.join(", "))?;
                }
            }
        }
        members.end()
    }
}
