//! `GET /v1/policy`: the policy in force, as meant.

mod limits;
mod quota;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::Serialize;
use tidegate::policy_file::{
    self as file, ClientSees, Except, Identities, Matcher, Mode, OnMissingKey, OnStoreFailure, Pattern,
};
use utoipa::ToSchema;

use super::Api;
use limits::{LimitView, RunTimeView};

/// The policy in force: what is limited and how. Addresses, files and secrets are left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
pub(super) struct PolicyView<'a> {
    mode: ModeName,
    /// How many instances share the work.
    #[schema(minimum = 1)]
    instances: u32,
    /// What operators have laid over limits at run time, until each ends; the limits below are as that makes them.
    run_time_overrides: Vec<RunTimeView<'a>>,
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
    /// What it answers to all it applies to, if it lets nothing through; it has no limits then.
    #[schema(required, inline = false)]
    refuse: Option<RefuseView<'a>>,
    limits: Vec<LimitView<'a>>,
}

/// What a rule answers that lets nothing through.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Refuse)]
struct RefuseView<'a> {
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// Why, in words for the client.
    because: &'a str,
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

/// Returns the policy in force.
#[utoipa::path(
    get,
    path = "/v1/policy",
    operation_id = "policy",
    responses((status = 200, description = "The policy in force.", body = PolicyView<'_>))
)]
pub(super) async fn policy(State(api): State<Api>) -> Response {
    let in_force = api.limiter.snapshot();
    let view = PolicyView::of(in_force.policy(), in_force.identities());
    ([(CACHE_CONTROL, "no-store")], Json(view)).into_response()
}

impl<'a> PolicyView<'a> {
    fn of(policy: Option<&'a file::Policy>, identities: Option<&Identities>) -> Self {
        let view = |rule| RuleView::of(rule, identities);
        Self {
            mode: policy.map_or(ModeName::Enforce, |policy| ModeName::of(policy.mode)),
            instances: policy.map_or(1, |policy| policy.instances),
            run_time_overrides: policy.into_iter().flat_map(RunTimeView::all).collect(),
            rules: policy.into_iter().flat_map(|policy| &policy.rules).map(view).collect(),
            fallback: policy.and_then(|policy| policy.fallback.as_ref()).map(view),
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

impl MissingName {
    fn of(choice: OnMissingKey) -> Self {
        match choice {
            OnMissingKey::Refuse => Self::Refuse,
            OnMissingKey::Skip => Self::Skip,
            OnMissingKey::Shared => Self::Shared,
        }
    }
}

impl SeesName {
    fn of(choice: ClientSees) -> Self {
        match choice {
            ClientSees::All => Self::All,
            ClientSees::RetryAfter => Self::RetryAfter,
            ClientSees::Nothing => Self::Nothing,
        }
    }
}

impl<'a> RuleView<'a> {
    fn of(rule: &'a file::Rule, identities: Option<&Identities>) -> Self {
        Self {
            name: &rule.name,
            class: rule.class.name(),
            matches: rule.matches.iter().map(MatchView::of).collect(),
            except: rule.except.iter().map(ExceptView::of).collect(),
            guesses: rule.guesses.as_deref(),
            on_missing_key: MissingName::of(rule.on_missing_key),
            on_store_failure: match rule.on_store_failure {
                OnStoreFailure::Deny => FailureName::Deny,
                OnStoreFailure::Allow => FailureName::Allow,
                OnStoreFailure::Local => FailureName::Local,
            },
            client_sees: SeesName::of(rule.client_sees),
            mode: ModeName::of(rule.mode),
            refuse: rule
                .refuse
                .as_ref()
                .map(|refuse| RefuseView { status: refuse.status.as_u16(), because: &refuse.because }),
            limits: rule.limits.iter().map(|limit| LimitView::of(limit, identities)).collect(),
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
