//! `GET` and `POST /v1/why`: what is behind a verdict, against what has been counted. A look: nothing is charged.
//!
//! Keys are named by keyed hashes, under the policy's `key_secret_file`, or else a secret of the limiter's own.

mod descriptors;
mod query;

use axum::Json;
use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::{Deserialize, Serialize};
use tidegate::Snapshot;
use tidegate::policy_file::Identities;
use tidegate::why::{KeyWhy, LimitWhy, Looked, RuleWhy, Why};
use utoipa::ToSchema;

pub(super) use query::describe;

use descriptors::{CallWhyView, DescriptorsCall};

use super::check::CheckCall;
use super::question::Question;
use super::verdict::Checked;
use super::{Api, call};
use crate::problem::Problem;

/// What to explain: a request, or a call of Envoy's about descriptors.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = WhyRequest)]
#[expect(dead_code, reason = "it only describes what is read as one or the other")]
enum WhyCall<'a> {
    #[serde(borrow)]
    Request(Box<CheckCall<'a>>),
    Descriptors(DescriptorsCall),
}

/// What is behind a verdict: of a request, or of a call of Envoy's.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = WhyAnswer)]
#[expect(dead_code, reason = "it only describes what is answered as one or the other")]
enum WhyAnswer<'a> {
    Request(WhyView<'a>),
    Descriptors(CallWhyView<'a>),
}

/// What is behind a verdict: every rule, and every limit of those that apply.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Why)]
struct WhyView<'a> {
    /// The path as rules compare it; null when it cannot be read in one way only.
    #[schema(required)]
    path: Option<&'a str>,
    /// Whether a trusted proxy's word for the client's address was taken.
    forwarded: bool,
    /// Every rule, in the order of the policy, the fallback last.
    rules: Vec<RuleView<'a>>,
    /// The verdict that a check would get now.
    verdict: Checked<'a>,
}

/// A rule, and whether it applies.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RuleWhy)]
struct RuleView<'a> {
    /// Its name.
    rule: &'a str,
    /// Whether it applies.
    applies: bool,
    /// Why, as the end of a sentence that begins with the rule.
    #[schema(example = "is for POST, and this is GET")]
    because: &'a str,
    /// Its limits, if it applies.
    limits: Vec<LimitView<'a>>,
}

/// A limit of a rule that applies. What it said stands among the verdict's decisions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LimitWhy)]
struct LimitView<'a> {
    /// Its name, `rule/limit`.
    limit: &'a str,
    /// The parts of its key; none when one of them cannot be read in one way only.
    key: Vec<PartView<'a>>,
    /// The key's name outside the process: a keyed hash, the same for the same key of this limit. Null when the limit
    /// counts everyone together, or nobody.
    #[schema(required, example = "hmac:900bb89f01dd05915c7caf3bbf7ce35c")]
    identity: Option<String>,
    looked: LookedName,
    /// What cannot be read, or is missing and required.
    #[schema(required)]
    problem: Option<String>,
    /// The units it was asked for.
    #[schema(required)]
    units: Option<u32>,
    /// Why these of its terms are the request's, where others have others.
    #[schema(required, example = "is the default plan")]
    terms: Option<&'a str>,
    /// What it did not heed: terms for the key that have ended, a plan or a cost named by somebody who is no trusted proxy.
    notes: &'a [String],
}

/// A part of a key. Its value is not told.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyPart)]
struct PartView<'a> {
    /// Its name in the policy.
    name: &'a str,
    /// Where it is read, in words.
    #[schema(example = "header x-api-key")]
    source: &'a str,
    /// Whether something was found there.
    found: bool,
}

/// What a limit did with the request.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Looked)]
enum LookedName {
    /// It was asked.
    Asked,
    /// It was not asked, since the request is turned away before.
    NotAsked,
    /// It did not look, since the request lacks its key.
    Skipped,
    /// Something of the request cannot be read, or is missing and required.
    Unreadable,
}

/// Explains a request, or a call of Envoy's about descriptors.
///
/// It is answered against what has been counted, and nothing is charged: `peek` is understood.
#[utoipa::path(
    post,
    path = "/v1/why",
    operation_id = "why",
    request_body = WhyCall<'_>,
    responses((status = 200, description = "What is behind the verdict, whatever it is.", body = WhyAnswer<'_>))
)]
pub(super) async fn post(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let body = call::bytes(request).await?;
    let in_force = api.limiter.snapshot();
    if DescriptorsCall::is_meant(&body) {
        let call = call::parse::<DescriptorsCall>(&body)?;
        return call.explain(&in_force).await;
    }
    let call = call::parse::<CheckCall<'_>>(&body)?;
    let question = call.question(&api.names.of(&in_force))?;
    Ok(Api::explain(&in_force, &question).await)
}

/// Explains a request without a body.
///
/// It is answered against what has been counted, and nothing is charged.
#[utoipa::path(
    get,
    path = "/v1/why",
    operation_id = "why_query",
    responses(
        (status = 200, description = "What is behind the verdict, whatever it is.", body = WhyView<'_>),
        (
            status = 414,
            description = "The query is too long; send a POST.",
            body = Problem,
            content_type = "application/problem+json"
        ),
        (
            status = 422,
            description = "A parameter cannot be used; `member` names it and `detail` says what to do.",
            body = Problem,
            content_type = "application/problem+json"
        ),
    )
)]
pub(super) async fn get(State(api): State<Api>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let call = query::read(query.as_deref().unwrap_or_default())?;
    let in_force = api.limiter.snapshot();
    let question = call.question(&api.names.of(&in_force))?;
    Ok(Api::explain(&in_force, &question).await)
}

impl Api {
    async fn explain(in_force: &Snapshot, question: &Question<'_>) -> Response {
        let why = in_force.why(&question.request(), Some(&question.keys), question.options).await;
        let styles = in_force.policy().map_or(&[][..], |policy| &policy.headers);
        let view = WhyView::of(&why, in_force.identities(), Checked::new(&why.verdict, styles, None));
        ([(CACHE_CONTROL, "no-store")], Json(view)).into_response()
    }
}

impl<'a> WhyView<'a> {
    fn of(why: &'a Why, identities: Option<&Identities>, verdict: Checked<'a>) -> Self {
        Self {
            path: why.path.as_deref().ok(),
            forwarded: why.client.is_some_and(|client| client.peer_trusted),
            rules: why.rules.iter().map(|rule| RuleView::of(rule, identities)).collect(),
            verdict,
        }
    }
}

impl<'a> RuleView<'a> {
    fn of(rule: &'a RuleWhy, identities: Option<&Identities>) -> Self {
        Self {
            rule: &rule.name,
            applies: rule.applies,
            because: &rule.because,
            limits: rule.limits.iter().map(|limit| LimitView::of(limit, identities)).collect(),
        }
    }
}

impl<'a> LimitView<'a> {
    fn of(limit: &'a LimitWhy, identities: Option<&Identities>) -> Self {
        let (looked, problem, units, terms) = match &limit.looked {
            Looked::Asked { units, terms, decision } => {
                let looked = if decision.is_some() { LookedName::Asked } else { LookedName::NotAsked };
                (looked, None, Some(*units), terms.as_ref().map(|terms| terms.because.as_str()))
            }
            Looked::Skipped => (LookedName::Skipped, None, None, None),
            Looked::Unreadable(bad) => (LookedName::Unreadable, Some(bad.to_string()), None, None),
        };
        Self {
            limit: &limit.name,
            key: limit.key.iter().map(PartView::of).collect(),
            identity: identities.and_then(|identities| limit.identity(identities)),
            looked,
            problem,
            units,
            terms,
            notes: &limit.notes,
        }
    }
}

impl<'a> PartView<'a> {
    fn of(part: &'a KeyWhy) -> Self {
        Self { name: &part.name, source: &part.source, found: part.value.is_some() }
    }
}
