//! What is behind the verdict on a call of Envoy's about descriptors.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tidegate::policy_file::{Counting, Descriptor, Identities};
use tidegate::why::{CallWhy, DescriptorWhy};
use tidegate::{CheckOptions, DescriptorAsk, DescriptorStatus, Snapshot};
use utoipa::ToSchema;

use super::super::fields::{Members, Whole};
use super::super::verdict::Checked;
use super::RuleView;
use crate::envoy::{MAX_DESCRIPTORS, MAX_ENTRIES, MAX_HITS};
use crate::problem::Problem;

/// A descriptor's entries, and its units.
type Asked<'a> = (Vec<(&'a str, &'a str)>, Option<u32>);

/// A call as Envoy makes it: a domain, and descriptors that are decided each like a request of its own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DescriptorsRequest)]
pub(super) struct DescriptorsCall {
    /// The domain.
    #[schema(min_length = 1, example = "shop")]
    domain: String,
    /// The descriptors.
    #[schema(min_items = 1, max_items = 128)]
    descriptors: Vec<DescriptorCall>,
}

/// A descriptor.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Descriptor)]
struct DescriptorCall {
    /// The entries in their order.
    #[schema(min_items = 1, max_items = 64)]
    entries: Vec<EntryCall>,
    /// The units to ask for instead of each limit's own cost; 0 asks without taking.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 1_073_741_824)]
    hits: Option<Whole>,
}

/// An entry of a descriptor.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DescriptorEntry)]
struct EntryCall {
    /// Its key.
    #[schema(min_length = 1, example = "remote_address")]
    key: String,
    /// Its value.
    #[schema(example = "192.0.2.7")]
    value: String,
}

/// What is behind the verdict on a call: of each descriptor every rule, and every limit of those that apply.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DescriptorsWhy)]
pub(super) struct CallWhyView<'a> {
    /// The descriptors, in the order of the call.
    descriptors: Vec<DescriptorView<'a>>,
    /// The verdict on the call, which is answered `OVER_LIMIT` unless it is allowed.
    verdict: Checked<'a>,
}

/// What is behind the answer for one descriptor.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DescriptorWhy)]
struct DescriptorView<'a> {
    status: StatusName,
    /// The limit that is told: the tightest, or of a refusal the one with the longest wait.
    #[schema(required)]
    limit: Option<&'a str>,
    /// Every rule, in the order of the policy, the fallback last. One that another replaces does not apply.
    rules: Vec<RuleView<'a>>,
}

/// What is said of a descriptor.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DescriptorStatus)]
enum StatusName {
    /// Limits admit it.
    Ok,
    /// One of them refuses it.
    Over,
    /// A rule says that it is unlimited.
    Unlimited,
    /// No limit has decided anything of it.
    Unmatched,
}

impl DescriptorsCall {
    /// Returns whether a body is one, and no request: it has a member that only calls have.
    pub(super) fn is_meant(body: &[u8]) -> bool {
        let members = serde_json::from_slice::<Members<IgnoredAny>>(body);
        members
            .is_ok_and(|members| ["domain", "descriptors"].iter().any(|name| members.0.contains_key(*name)))
    }

    /// Explains it against what has been counted.
    pub(super) async fn explain(self, in_force: &Snapshot) -> Result<Response, Problem> {
        self.check()?;
        let parts = self.descriptors.iter().enumerate().map(|(place, one)| one.read(place));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let asks: Vec<DescriptorAsk<'_>> = parts
            .iter()
            .map(|(entries, hits)| {
                let descriptor = Descriptor { domain: &self.domain, entries };
                DescriptorAsk { descriptor, hits: *hits, limit: None }
            })
            .collect();
        let policy = in_force.policy();
        let counting = policy.and_then(|policy| Some(policy.envoy.as_ref()?.counting));
        let counting = counting.unwrap_or(Counting::AllOrNothing);
        let why = in_force.why_descriptors(&asks, counting, CheckOptions::default()).await;
        let styles = policy.map_or(&[][..], |policy| &policy.headers);
        let view = CallWhyView::of(&why, in_force.identities(), Checked::new(&why.verdict, styles, None));
        Ok(([(CACHE_CONTROL, "no-store")], Json(view)).into_response())
    }

    /// Checks what types cannot say.
    fn check(&self) -> Result<(), Problem> {
        if self.domain.is_empty() {
            return Err(Problem::of_member("domain", "is empty; send the domain that Envoy asks under"));
        }
        if !(1..=MAX_DESCRIPTORS).contains(&self.descriptors.len()) {
            let why = format!("are none, or too many; send 1 to {MAX_DESCRIPTORS}");
            return Err(Problem::of_member("descriptors", why));
        }
        Ok(())
    }
}

impl DescriptorCall {
    fn read(&self, place: usize) -> Result<Asked<'_>, Problem> {
        let member = || format!("descriptors[{place}].entries");
        if !(1..=MAX_ENTRIES).contains(&self.entries.len()) {
            return Err(Problem::of_member(
                member(),
                format!("are none, or too many; send 1 to {MAX_ENTRIES}"),
            ));
        }
        if self.entries.iter().any(|entry| entry.key.is_empty()) {
            return Err(Problem::of_member(member(), "have one without a key; give it one"));
        }
        let entries = self.entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_str()));
        let hits = |Whole(units)| {
            let fits = u32::try_from(units).ok().filter(|_| units <= MAX_HITS);
            let why = format!("are more than any limit holds; send 0 to {MAX_HITS}");
            fits.ok_or_else(|| Problem::of_member(format!("descriptors[{place}].hits"), why))
        };
        Ok((entries.collect(), self.hits.map(hits).transpose()?))
    }
}

impl<'a> CallWhyView<'a> {
    fn of(why: &'a CallWhy, identities: Option<&Identities>, verdict: Checked<'a>) -> Self {
        let descriptors = why.descriptors.iter().map(|one| DescriptorView::of(why, one, identities));
        Self { descriptors: descriptors.collect(), verdict }
    }
}

impl<'a> DescriptorView<'a> {
    fn of(why: &'a CallWhy, one: &'a DescriptorWhy, identities: Option<&Identities>) -> Self {
        Self {
            status: match one.answer.status {
                DescriptorStatus::Unmatched => StatusName::Unmatched,
                DescriptorStatus::Unlimited => StatusName::Unlimited,
                DescriptorStatus::Decided { over: true, .. } => StatusName::Over,
                DescriptorStatus::Decided { over: false, .. } => StatusName::Ok,
            },
            limit: why.told(&one.answer).map(|by| by.limit.name()),
            rules: one.rules.iter().map(|rule| RuleView::of(rule, identities)).collect(),
        }
    }
}
