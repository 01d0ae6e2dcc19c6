//! `GET /v1/policy`: the policy in force, as meant.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::Serialize;
use tidegate::policy_file::{
    self as file, ClientSees, Except, Matcher, Mode, OnMissingKey, OnStoreFailure, Pattern,
};
use tidegate::{Anchor, Calendar, Quota, Rate};
use utoipa::ToSchema;

use super::Api;

/// The policy in force: what is limited and how. Addresses, files and secrets are left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
pub(super) struct PolicyView<'a> {
    mode: ModeName,
    /// How many instances share the work.
    #[schema(minimum = 1)]
    instances: u32,
    /// The rules, in the order of the file; every one that matches applies.
    rules: Vec<RuleView<'a>>,
    /// The rule for requests that no enforced limit looked at.
    #[schema(required, inline = false)]
    fallback: Option<RuleView<'a>>,
}

/// Whether refusals are carried out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Mode)]
enum ModeName {
    /// They are.
    Enforce,
    /// They are counted and reported only.
    Shadow,
}

/// What a rule applies to, and its limits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rule)]
struct RuleView<'a> {
    name: &'a str,
    /// What kind of endpoint it guards.
    #[schema(example = "verify")]
    class: &'static str,
    /// What it applies to: any of these; every request when there is none.
    matches: Vec<MatchView<'a>>,
    /// What it leaves out: any of these.
    except: Vec<ExceptView<'a>>,
    /// The code that a request guesses at.
    #[schema(required)]
    guesses: Option<&'a str>,
    on_missing_key: MissingName,
    on_store_failure: FailureName,
    client_sees: SeesName,
    mode: ModeName,
    limits: Vec<LimitView<'a>>,
}

/// Conditions that all have to hold; an empty list holds always.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Match)]
struct MatchView<'a> {
    methods: &'a [String],
    /// Path patterns, any of them.
    paths: Vec<&'a str>,
    /// Hosts, any of them; `.example.com` is every one below it.
    hosts: Vec<&'a str>,
}

/// Conditions that all have to hold; an empty list holds always.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Except)]
struct ExceptView<'a> {
    /// Networks of the client's address, any of them.
    clients: Vec<String>,
    #[serde(flatten)]
    matching: MatchView<'a>,
}

/// What happens to a request that lacks a limit's key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OnMissingKey)]
enum MissingName {
    /// It is refused with 400.
    Refuse,
    /// The limit does not look at it.
    Skip,
    /// It is counted together with all others that lack it.
    Shared,
}

/// What happens when the store does not answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OnStoreFailure)]
enum FailureName {
    /// Requests are refused with 503.
    Deny,
    /// Requests pass.
    Allow,
    /// This process goes on limiting by itself.
    Local,
}

/// What a client is told about a limit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ClientSees)]
enum SeesName {
    /// Numbers and remaining units, on every answer.
    All,
    /// When to come back, on a refusal.
    RetryAfter,
    /// That it was refused.
    Nothing,
}

/// One algorithm with its numbers on one key, in numbers and in words.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Limit)]
struct LimitView<'a> {
    /// `rule/limit`.
    name: &'a str,
    /// The limit in words.
    says: &'a str,
    #[schema(required)]
    note: Option<&'a str>,
    /// The names of what is counted on.
    key: Vec<&'a str>,
    quota: QuotaView,
    /// How many units a request takes.
    #[schema(minimum = 1)]
    cost: u32,
    /// What the units are, when they are not requests.
    #[schema(required)]
    unit: Option<&'a str>,
    mode: ModeName,
}

/// An algorithm with its numbers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "algorithm", rename_all = "snake_case")]
#[schema(as = Quota)]
enum QuotaView {
    /// A count that starts afresh with each window.
    FixedWindow {
        limit: u32,
        /// Of the calendar, the longest there is.
        window_micros: u64,
        anchor: AnchorName,
        /// Which windows of the calendar, with that anchor.
        #[schema(required, inline = false)]
        calendar: Option<CalendarName>,
    },
    /// The exact count over the last window.
    SlidingLog { limit: u32, window_micros: u64 },
    /// The weighted estimate of the count over the last window.
    SlidingCounter { limit: u32, window_micros: u64 },
    /// Credit that refills continuously up to a capacity.
    TokenBucket { capacity: u32, refill: RateView },
    /// A queue that is served at an even rate.
    LeakyBucket { rate: RateView, queue: u32 },
    /// A count of attempts within a window, and a lock after the last.
    Lockout { attempts: u32, within_micros: u64, lock_micros: u64 },
}

/// Where windows begin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Anchor)]
enum AnchorName {
    /// At multiples of the window since the epoch.
    Clock,
    /// At the first admitted request after the last window.
    FirstHit,
    /// With each day, week or month of the calendar, in UTC.
    Calendar,
}

/// A kind of window of the calendar, in UTC.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Calendar)]
enum CalendarName {
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight to the next.
    Week,
    /// From the first of a month to the first of the next.
    Month,
}

/// A rate of `units` in `per_micros`, as a reduced fraction.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rate)]
struct RateView {
    units: u32,
    per_micros: u64,
}

/// Returns the policy in force.
#[utoipa::path(
    get,
    path = "/v1/policy",
    operation_id = "policy",
    responses((status = 200, description = "The policy in force.", body = PolicyView<'_>))
)]
pub(super) async fn policy(State(api): State<Api>) -> Response {
    let policy = api.limiter.policy();
    let view = PolicyView::of(policy.as_deref());
    ([(CACHE_CONTROL, "no-store")], Json(view)).into_response()
}

impl<'a> PolicyView<'a> {
    fn of(policy: Option<&'a file::Policy>) -> Self {
        Self {
            mode: policy.map_or(ModeName::Enforce, |policy| ModeName::of(policy.mode)),
            instances: policy.map_or(1, |policy| policy.instances),
            rules: policy.into_iter().flat_map(|policy| &policy.rules).map(RuleView::of).collect(),
            fallback: policy.and_then(|policy| policy.fallback.as_ref()).map(RuleView::of),
        }
    }
}

impl ModeName {
    fn of(mode: Mode) -> Self {
        match mode {
            Mode::Enforce => Self::Enforce,
            Mode::Shadow => Self::Shadow,
        }
    }
}

impl<'a> RuleView<'a> {
    fn of(rule: &'a file::Rule) -> Self {
        Self {
            name: &rule.name,
            class: rule.class.name(),
            matches: rule.matches.iter().map(MatchView::of).collect(),
            except: rule.except.iter().map(ExceptView::of).collect(),
            guesses: rule.guesses.as_deref(),
            on_missing_key: match rule.on_missing_key {
                OnMissingKey::Refuse => MissingName::Refuse,
                OnMissingKey::Skip => MissingName::Skip,
                OnMissingKey::Shared => MissingName::Shared,
            },
            on_store_failure: match rule.on_store_failure {
                OnStoreFailure::Deny => FailureName::Deny,
                OnStoreFailure::Allow => FailureName::Allow,
                OnStoreFailure::Local => FailureName::Local,
            },
            client_sees: match rule.client_sees {
                ClientSees::All => SeesName::All,
                ClientSees::RetryAfter => SeesName::RetryAfter,
                ClientSees::Nothing => SeesName::Nothing,
            },
            mode: ModeName::of(rule.mode),
            limits: rule.limits.iter().map(LimitView::of).collect(),
        }
    }
}

impl<'a> MatchView<'a> {
    fn of(matcher: &'a Matcher) -> Self {
        let host = |host: &'a file::HostPattern| match host {
            file::HostPattern::Exact(name) | file::HostPattern::Below(name) => name.as_str(),
        };
        Self {
            methods: &matcher.methods,
            paths: matcher.paths.iter().map(Pattern::text).collect(),
            hosts: matcher.hosts.iter().map(host).collect(),
        }
    }
}

impl<'a> ExceptView<'a> {
    fn of(except: &'a Except) -> Self {
        Self {
            clients: except.clients.iter().map(ToString::to_string).collect(),
            matching: MatchView::of(&except.matcher),
        }
    }
}

impl<'a> LimitView<'a> {
    fn of(limit: &'a file::Limit) -> Self {
        Self {
            name: &limit.name,
            says: &limit.terms.says,
            note: limit.terms.note.as_deref(),
            key: limit.key.names().collect(),
            quota: QuotaView::of(&limit.terms.quota),
            cost: limit.cost.usual(),
            unit: limit.unit.as_deref(),
            mode: ModeName::of(limit.mode),
        }
    }
}

impl QuotaView {
    fn of(quota: &Quota) -> Self {
        match quota {
            Quota::FixedWindow(quota) => {
                let (anchor, calendar) = AnchorName::of(quota.anchor());
                let window_micros = quota.window().as_micros();
                Self::FixedWindow { limit: quota.limit(), window_micros, anchor, calendar }
            }
            Quota::SlidingLog(quota) => {
                Self::SlidingLog { limit: quota.limit(), window_micros: quota.window().as_micros() }
            }
            Quota::SlidingCounter(quota) => {
                Self::SlidingCounter { limit: quota.limit(), window_micros: quota.window().as_micros() }
            }
            Quota::TokenBucket(quota) => {
                Self::TokenBucket { capacity: quota.capacity(), refill: RateView::of(quota.refill()) }
            }
            Quota::LeakyBucket(quota) => {
                Self::LeakyBucket { rate: RateView::of(quota.rate()), queue: quota.queue() }
            }
            Quota::Lockout(quota) => Self::Lockout {
                attempts: quota.attempts(),
                within_micros: quota.within().as_micros(),
                lock_micros: quota.lock().as_micros(),
            },
        }
    }
}

impl AnchorName {
    fn of(anchor: Anchor) -> (Self, Option<CalendarName>) {
        match anchor {
            Anchor::Clock => (Self::Clock, None),
            Anchor::FirstHit => (Self::FirstHit, None),
            Anchor::Calendar(Calendar::Day) => (Self::Calendar, Some(CalendarName::Day)),
            Anchor::Calendar(Calendar::Week) => (Self::Calendar, Some(CalendarName::Week)),
            Anchor::Calendar(Calendar::Month) => (Self::Calendar, Some(CalendarName::Month)),
        }
    }
}

impl RateView {
    fn of(rate: Rate) -> Self {
        Self { units: rate.units(), per_micros: rate.micros() }
    }
}
