//! What a test expects of a verdict.

use http::StatusCode;
use tidegate_algorithms::Span;

use super::call::{self, Call, DescriptorExpect};
use super::read::span;
use super::request::{members, value};
use crate::file::{Entry, Fields, Node, Report, one_or_more};
use crate::problem::Place;

/// What is expected: all of it.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// The single expectations, in the order of the file, each with its place.
    pub list: Vec<(Place, Expectation)>,
}

/// One thing that is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// So many of the step's requests pass.
    Admitted(u32),
    /// Whether it passes.
    Allowed(bool),
    /// The status the client gets: of a request that passes, the service's behind.
    Status(StatusCode),
    /// The limit that settles the matter; `None` for no limit.
    Limit(Option<Named>),
    /// That limit's words.
    Says(String),
    /// Exactly when a refused request would pass; `None` for never.
    RetryAfter(Option<Span>),
    /// How long it is held before it starts.
    Delay(Span),
    /// Why it is refused, if not as one too many: the words of the rule, or what cannot be read.
    Because(String),
    /// The rules that apply, all of them in the order of the file.
    Matches(Vec<Named>),
    /// The limits that refuse it, all of them in the order of the file.
    RefusedBy(Vec<Named>),
    /// The shadow limits that would have refused it, all of them.
    WouldRefuse(Vec<Named>),
    /// The limits that do not look for want of their key, all of them.
    Skipped(Vec<Named>),
    /// What is left of a limit.
    Remaining(Vec<(Named, u32)>),
    /// Which plan of a limit, or whose override, is the request's; `None` for neither.
    Plan(Vec<(Named, Option<String>)>),
    /// How many units a limit is asked for.
    Cost(Vec<(Named, u32)>),
    /// What is read for a key; `None` when it is missing.
    Keys(Vec<(Named, Option<String>)>),
    /// What is said of each descriptor of a call.
    Descriptors(Vec<DescriptorExpect>),
}

/// A name of the policy's, and where the test file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub place: Place,
}

impl Expectation {
    /// Returns its name in a file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Admitted(_) => "admitted",
            Self::Allowed(_) => "allowed",
            Self::Status(_) => "status",
            Self::Limit(_) => "limit",
            Self::Says(_) => "says",
            Self::RetryAfter(_) => "retry_after",
            Self::Delay(_) => "delay",
            Self::Because(_) => "because",
            Self::Matches(_) => "matches",
            Self::RefusedBy(_) => "refused_by",
            Self::WouldRefuse(_) => "would_refuse",
            Self::Skipped(_) => "skipped",
            Self::Remaining(_) => "remaining",
            Self::Plan(_) => "plan",
            Self::Cost(_) => "cost",
            Self::Keys(_) => "keys",
            Self::Descriptors(_) => "descriptors",
        }
    }
}

impl Expect {
    /// Returns whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns how many of the step's requests are expected to pass, if that is what is expected.
    pub fn admitted(&self) -> Option<u32> {
        self.list.iter().find_map(|(_, one)| match one {
            Expectation::Admitted(count) => Some(*count),
            _ => None,
        })
    }

    /// Reads what is expected; `counts` when the requests of a step may be counted together.
    pub(super) fn read(node: &Node, what: &str, counts: bool, report: &mut Report) -> Option<Self> {
        let mut fields = Fields::open(node, what, report)?;
        if fields.is_empty() {
            report.add(node.place, format!("{what} says nothing"), "write `allowed: true`, say");
        }
        let mut list = Vec::new();
        let counted = if counts { fields.entry("admitted") } else { None };
        let entries = [
            counted,
            fields.entry("allowed"),
            fields.entry("status"),
            fields.entry("limit"),
            fields.entry("says"),
            fields.entry("retry_after"),
            fields.entry("delay"),
            fields.entry("because"),
            fields.entry("matches"),
            fields.entry("refused_by"),
            fields.entry("would_refuse"),
            fields.entry("skipped"),
            fields.entry("remaining"),
            fields.entry("plan"),
            fields.entry("cost"),
            fields.entry("keys"),
            fields.entry("descriptors"),
        ];
        for entry in entries.into_iter().flatten() {
            if let Some(expectation) = expectation(entry, report) {
                list.push((entry.place, expectation));
            }
        }
        fields.finish(&[], report);
        if let (Some(entry), true) = (counted, list.len() > 1) {
            let message =
                "`admitted` counts the step's requests, and what stands beside it is about each of them";
            report.add(
                entry.place,
                message,
                "let it stand alone, and look at the rest in `after` or in another step",
            );
        }
        list.sort_by_key(|(place, _)| *place);
        Some(Self { list })
    }
}

impl Expect {
    /// Reports what is expected that only a request has, or only a call.
    pub(super) fn check(&self, call: Option<&Call>, report: &mut Report) {
        for (place, expectation) in &self.list {
            match (expectation, call) {
                (Expectation::Descriptors(_), None) => {
                    let message = "`descriptors` is expected of a request, which has none";
                    report.add(*place, message, "write `domain` and `descriptors` in the step");
                }
                (Expectation::Descriptors(each), Some(call)) if each.len() != call.descriptors.len() => {
                    let (expected, asked) = (each.len(), call.descriptors.len());
                    let message =
                        format!("{expected} descriptors are expected something of, and the call has {asked}");
                    report.add(*place, message, "write one for each, in their order");
                }
                (Expectation::Plan(_) | Expectation::Cost(_) | Expectation::Keys(_), Some(_)) => {
                    let message = format!("`{}` is not told of a call about descriptors", expectation.name());
                    report.add(*place, message, "expect `allowed`, `limit`, `remaining` or `descriptors`");
                }
                _ => {}
            }
        }
    }
}

fn expectation(entry: &Entry, report: &mut Report) -> Option<Expectation> {
    let node = &entry.value;
    Some(match entry.key.as_str() {
        "admitted" => Expectation::Admitted(count(node, "admitted", report)?),
        "allowed" => Expectation::Allowed(node.boolean("allowed", report)?),
        "status" => Expectation::Status(status(node, report)?),
        "limit" => Expectation::Limit(
            unless_none(node.text("limit", report)?).map(|name| Named { name, place: node.place }),
        ),
        "says" => Expectation::Says(node.text("says", report)?.to_owned()),
        "retry_after" if node.scalar() == Some("never") => Expectation::RetryAfter(None),
        "retry_after" => Expectation::RetryAfter(Some(span(node, "retry_after", report)?)),
        "delay" => Expectation::Delay(span(node, "delay", report)?),
        "because" => Expectation::Because(node.text("because", report)?.to_owned()),
        "matches" => Expectation::Matches(names(node, report)),
        "refused_by" => Expectation::RefusedBy(names(node, report)),
        "would_refuse" => Expectation::WouldRefuse(names(node, report)),
        "skipped" => Expectation::Skipped(names(node, report)),
        "remaining" => {
            Expectation::Remaining(each(entry, report, |node, report| count(node, "remaining", report)))
        }
        "plan" => Expectation::Plan(each(entry, report, |node, report| {
            node.text("the plan", report).map(unless_none)
        })),
        "cost" => Expectation::Cost(each(entry, report, |node, report| count(node, "cost", report))),
        "keys" => Expectation::Keys(each(entry, report, |node, report| match node.kind() {
            "nothing" => Some(None),
            _ => value(node, "the key", report).map(Some),
        })),
        "descriptors" => Expectation::Descriptors(call::expected(node, report)?),
        _ => return None,
    })
}

/// Returns a name, unless it is the word for none.
fn unless_none(text: &str) -> Option<String> {
    (text != "none").then(|| text.to_owned())
}

pub(super) fn status(node: &Node, report: &mut Report) -> Option<StatusCode> {
    let number = node.integer_in("status", 100..=599, report)?;
    StatusCode::from_u16(u16::try_from(number).ok()?).ok()
}

fn count(node: &Node, what: &str, report: &mut Report) -> Option<u32> {
    u32::try_from(node.integer_in(what, 0..=1 << 30, report)?).ok()
}

/// Reads a list of names; one may stand alone.
fn names(node: &Node, report: &mut Report) -> Vec<Named> {
    let named = one_or_more(node).iter().filter_map(|node| {
        let name = node.text("a name", report)?.to_owned();
        Some(Named { name, place: node.place })
    });
    named.collect()
}

/// Reads a mapping of names to something.
fn each<T>(
    entry: &Entry,
    report: &mut Report,
    read: impl Fn(&Node, &mut Report) -> Option<T>,
) -> Vec<(Named, T)> {
    let entries = members(&entry.value, &entry.key, report);
    let named = entries.iter().filter_map(|entry| {
        let value = read(&entry.value, report)?;
        Some((Named { name: entry.key.clone(), place: entry.place }, value))
    });
    named.collect()
}
