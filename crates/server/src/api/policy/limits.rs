//! Limits as the API shows them: terms, costs, what counts. Values of keys are shown by their names outside only.

use serde::Serialize;
use tidegate::policy_file::overlay::Overlay;
use tidegate::policy_file::{self as file, Cost, Count, Identities, Whose};
use utoipa::ToSchema;

use super::quota::QuotaView;
use super::{MissingName, ModeName, SeesName};
use crate::api::outcome::OnSuccessName;

/// One algorithm with its numbers on one key, in numbers and in words.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Limit)]
pub(super) struct LimitView<'a> {
    /// `rule/limit`.
    name: &'a str,
    /// The names it had before, the latest first.
    was: Vec<&'a str>,
    /// The limit in words; of one with plans, the default plan's.
    says: &'a str,
    #[schema(required)]
    note: Option<&'a str>,
    /// The names of what is counted on.
    key: Vec<&'a str>,
    quota: QuotaView,
    /// The plans it is sold in.
    #[schema(required, inline = false)]
    plans: Option<PlansView<'a>>,
    /// Other terms for single keys, by the policy's file; those made at run time are `exceptions`, and in the policy's
    /// `run_time_overrides`.
    overrides: Vec<OverrideView<'a>>,
    cost: CostView<'a>,
    count: CountView<'a>,
    /// What the units are, when they are not requests.
    #[schema(required)]
    unit: Option<&'a str>,
    /// The share of the limit from which its use raises an alert.
    #[schema(required, minimum = 1, maximum = 100)]
    alert_at_percent: Option<u8>,
    /// What happens to a request that lacks the key, where the limit says other than its rule.
    #[schema(required, inline = false)]
    on_missing_key: Option<MissingName>,
    /// What a client is told of it, where the limit says other than its rule.
    #[schema(required, inline = false)]
    client_sees: Option<SeesName>,
    mode: ModeName,
    /// Whether an operator has turned it off for a while: it looks at nobody but keys with an exception of their own.
    off: bool,
    /// What an operator has laid over it at run time; its words, numbers and mode above are what holds.
    exceptions: Vec<ExceptionView<'a>>,
}

/// An exception that an operator has made at run time, with the limit it is for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunTimeOverride)]
pub(super) struct RunTimeView<'a> {
    /// The limit, `rule/limit`.
    limit: &'a str,
    #[serde(flatten)]
    exception: ExceptionView<'a>,
}

/// An exception that an operator has made at run time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Exception)]
struct ExceptionView<'a> {
    /// The name of the one key it is for; null for everybody.
    #[schema(required, pattern = "^hmac:[0-9a-f]{32}$")]
    key: Option<&'a str>,
    /// What it changes.
    #[schema(example = "limit 20")]
    sets: String,
    /// The instant at which it ends, in seconds since the Unix epoch.
    until_epoch_seconds: u64,
    /// Why.
    because: &'a str,
}

/// The plans of a limit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Plans)]
struct PlansView<'a> {
    /// What tells a request's plan.
    by: &'a str,
    /// The plan of those for whom nothing else is said.
    default: &'a str,
    /// The plans, in the order of the file.
    list: Vec<PlanView<'a>>,
}

/// A plan.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Plan)]
struct PlanView<'a> {
    name: &'a str,
    /// The plan's limit in words.
    says: &'a str,
    quota: QuotaView,
}

/// Other terms for one key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Override)]
struct OverrideView<'a> {
    /// The key's name outside the process, as `/v1/why` tells it, or the digest of its value that the policy writes.
    #[schema(pattern = "^(hmac:[0-9a-f]{32}|sha256:[0-9a-fA-F]{64}|a key)$")]
    value: String,
    /// The instant from which it no longer holds, in seconds since the Unix epoch; null for none.
    #[schema(required)]
    until_epoch_seconds: Option<u64>,
    /// Why.
    because: &'a str,
    /// The key's limit in words.
    says: &'a str,
    quota: QuotaView,
}

/// How many units a request takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
#[schema(as = Cost)]
enum CostView<'a> {
    /// So many.
    Number {
        #[schema(minimum = 1)]
        units: u32,
    },
    /// By the value of a key.
    Table {
        /// The table's name.
        name: &'a str,
        /// The key's name.
        key: &'a str,
        /// What every value costs that the table does not have.
        default_units: u32,
        /// What the dearest value costs.
        most_units: u32,
    },
    /// By a header field of a trusted peer.
    Header {
        /// The field's name.
        name: String,
        /// What a request costs whose peer is not trusted, or names no cost.
        default_units: u32,
    },
    /// As many as a list in the JSON body has items.
    Items {
        /// The JSON pointer to the list; empty for the body itself.
        pointer: &'a str,
    },
}

/// Which requests count.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "counts", rename_all = "snake_case")]
#[schema(as = Count)]
enum CountView<'a> {
    /// Every one.
    Every,
    /// Those whose answer is no success.
    Failures {
        /// What a success looks like: all that is said has to hold.
        #[schema(inline = false)]
        success: SuccessView<'a>,
        on_success: OnSuccessName,
    },
}

/// What a success looks like: all that is said has to hold.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Success)]
struct SuccessView<'a> {
    /// Statuses, any of them; any status when there is none.
    statuses: Vec<StatusesView>,
    /// A header field that it has.
    #[schema(required, inline = false)]
    header: Option<FieldView<'a>>,
}

/// Statuses, both ends among them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Statuses)]
struct StatusesView {
    from: u16,
    to: u16,
}

/// A header field.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Field)]
struct FieldView<'a> {
    name: &'a str,
    /// The value it has to have; null for any.
    #[schema(required)]
    value: Option<&'a str>,
}

impl<'a> LimitView<'a> {
    pub(super) fn of(limit: &'a file::Limit, identities: Option<&Identities>) -> Self {
        Self {
            name: &limit.name,
            was: limit.was.iter().map(String::as_str).collect(),
            says: &limit.terms.says,
            note: limit.terms.note.as_deref(),
            key: limit.key.names().collect(),
            quota: QuotaView::of(&limit.terms.quota),
            plans: limit.plans.as_ref().map(PlansView::of),
            overrides: limit.overrides.iter().map(|one| OverrideView::of(one, limit, identities)).collect(),
            cost: CostView::of(&limit.cost),
            count: CountView::of(&limit.count),
            unit: limit.unit.as_deref(),
            alert_at_percent: limit.alert_at,
            on_missing_key: limit.on_missing_key.map(MissingName::of),
            client_sees: limit.client_sees.map(SeesName::of),
            mode: ModeName::of(limit.mode),
            off: limit.is_off(),
            exceptions: limit.overlays.list().iter().map(ExceptionView::of).collect(),
        }
    }
}

impl<'a> RunTimeView<'a> {
    /// Returns all that are laid over a policy's limits.
    pub(super) fn all(policy: &'a file::Policy) -> impl Iterator<Item = Self> {
        let of = |limit: &'a file::Limit| limit.overlays.list().iter().map(move |one| (limit, one));
        let all = policy.limits().flat_map(of);
        all.map(|(limit, one)| Self { limit: &limit.name, exception: ExceptionView::of(one) })
    }
}

impl<'a> ExceptionView<'a> {
    fn of(overlay: &'a Overlay) -> Self {
        Self {
            key: overlay.key.as_deref(),
            sets: overlay.set.to_string(),
            until_epoch_seconds: overlay.until.as_micros() / 1_000_000,
            because: &overlay.because,
        }
    }
}

impl<'a> PlansView<'a> {
    fn of(plans: &'a file::Plans) -> Self {
        let list = plans.list.iter().map(|plan| PlanView {
            name: &plan.name,
            says: &plan.terms.says,
            quota: QuotaView::of(&plan.terms.quota),
        });
        Self {
            by: plans.by(),
            default: plans.list.get(plans.default).map_or("", |plan| &plan.name),
            list: list.collect(),
        }
    }
}

impl<'a> OverrideView<'a> {
    fn of(one: &'a file::Override, limit: &file::Limit, identities: Option<&Identities>) -> Self {
        Self {
            value: Whose::Key(&one.value).name_outside(limit, identities).unwrap_or_default().into_owned(),
            until_epoch_seconds: one.until.map(|until| until.as_micros() / 1_000_000),
            because: &one.because,
            says: &one.terms.says,
            quota: QuotaView::of(&one.terms.quota),
        }
    }
}

impl<'a> CostView<'a> {
    fn of(cost: &'a Cost) -> Self {
        match cost {
            Cost::Units(units) => Self::Number { units: *units },
            Cost::Table(table) => Self::Table {
                name: table.name(),
                key: table.by(),
                default_units: table.default_units(),
                most_units: cost.most().unwrap_or(table.default_units()),
            },
            Cost::Header(header) => {
                Self::Header { name: cost.to_string(), default_units: header.default_units() }
            }
            Cost::Items(items) => Self::Items { pointer: items.pointer() },
        }
    }
}

impl<'a> CountView<'a> {
    fn of(count: &'a Count) -> Self {
        let Count::Failures { success, on_success } = count else { return Self::Every };
        let statuses = success.statuses.iter();
        let header = success.header.as_ref();
        Self::Failures {
            success: SuccessView {
                statuses: statuses
                    .map(|range| StatusesView { from: *range.start(), to: *range.end() })
                    .collect(),
                header: header
                    .map(|(name, value)| FieldView { name: name.as_str(), value: value.as_deref() }),
            },
            on_success: match on_success {
                file::OnSuccess::Refund => OnSuccessName::Refund,
                file::OnSuccess::Reset => OnSuccessName::Reset,
            },
        }
    }
}
