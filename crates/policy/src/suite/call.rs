//! Calls of Envoy's as a test writes them: a domain, descriptors, and how many hits.

use super::Named;
use super::request::{members, value};
use crate::file::{Fields, Node, Report, Value, list, one_or_more};
use crate::problem::Place;

/// The members of a step by which it is a call.
const MEMBERS: [&str; 3] = ["domain", "descriptors", "hits"];
/// The most hits of a descriptor.
const MAX_HITS: u64 = 1 << 30;

/// A call about descriptors.
#[derive(Debug, Clone)]
pub struct Call {
    /// The domain.
    pub domain: Named,
    /// The descriptors, at least one.
    pub descriptors: Vec<CallDescriptor>,
}

/// One descriptor of a call.
#[derive(Debug, Clone)]
pub struct CallDescriptor {
    /// Its entries in order, each a key and a value.
    pub entries: Vec<(String, String)>,
    /// The units it takes; each limit's own cost unless said, and 0 looks only.
    pub hits: Option<u32>,
}

/// What is expected of one descriptor of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptorExpect {
    /// Where it stands.
    pub place: Place,
    /// What is said of it.
    pub status: Option<CallStatus>,
    /// The limit that is told; `Some(None)` for no limit.
    pub limit: Option<Option<Named>>,
    /// What is left of that.
    pub remaining: Option<u32>,
}

/// What is said of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Limits have admitted it.
    Ok,
    /// One of them refuses it.
    Over,
    /// A rule says that it is unlimited.
    Unlimited,
    /// No limit has decided anything of it.
    Unmatched,
}

impl CallStatus {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Ok, "ok"),
        (Self::Over, "over"),
        (Self::Unlimited, "unlimited"),
        (Self::Unmatched, "unmatched"),
    ];

    /// Returns its name in a file.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("", |(_, name)| name)
    }
}

/// A call that cannot be read, which was reported.
pub(super) struct Unreadable;

/// Reads the call of a step; `None` when the step is a request.
pub(super) fn read(step: &mut Fields<'_>, report: &mut Report) -> Result<Option<Call>, Unreadable> {
    if step.among(&MEMBERS).is_empty() {
        return Ok(None);
    }
    for (member, entry) in step.among(&["request", "answer"]) {
        let message = format!("`{member}` is beside a call about descriptors, which has none");
        report.add(entry.place, message, "remove it, or write two steps");
    }
    let domain_node = step.need("domain", "shop");
    let domain = domain_node.and_then(|node| node.text("the domain", report));
    let node = step.need("descriptors", "[{ path: /checkout, remote_address: 192.0.2.7 }]");
    let items = node.and_then(|node| list(node, "descriptors", report)).unwrap_or_default();
    if let (Some(node), true) = (node, items.is_empty()) {
        report.add(node.place, "the call has no descriptor", "write at least one");
    }
    let read: Vec<_> = items.iter().filter_map(|item| entries(item, report)).collect();
    let hits = match step.get("hits") {
        None => vec![None; items.len()],
        Some(node) => hits_of_each(node, items.len(), report).ok_or(Unreadable)?,
    };
    let (Some(name), Some(node)) = (domain, domain_node) else { return Err(Unreadable) };
    if read.len() < items.len() || items.is_empty() {
        return Err(Unreadable);
    }
    let domain = Named { name: name.to_owned(), place: node.place };
    let descriptors =
        read.into_iter().zip(hits).map(|(entries, hits)| CallDescriptor { entries, hits }).collect();
    Ok(Some(Call { domain, descriptors }))
}

/// Reads one number for all descriptors, or a list with one for each.
fn hits_of_each(node: &Node, descriptors: usize, report: &mut Report) -> Option<Vec<Option<u32>>> {
    let items = one_or_more(node);
    let read =
        items.iter().filter_map(|item| u32::try_from(item.integer_in("hits", 0..=MAX_HITS, report)?).ok());
    let read: Vec<Option<u32>> = read.map(Some).collect();
    if read.len() < items.len() {
        return None;
    }
    if let (Value::Scalar { .. }, [hits]) = (&node.value, read.as_slice()) {
        return Some(vec![*hits; descriptors]);
    }
    if read.len() != descriptors {
        let message = format!("hits are not as many as descriptors, of which there are {descriptors}");
        report.add(node.place, message, "write one number for all, or one for each");
        return None;
    }
    Some(read)
}

/// Reads the entries of a descriptor: a mapping, or a list of pairs where a key comes twice.
pub(super) fn entries(node: &Node, report: &mut Report) -> Option<Vec<(String, String)>> {
    let pairs: Vec<_> = match &node.value {
        Value::List(items) => items.iter().filter_map(|item| pair(item, report)).collect(),
        _ => members(node, "a descriptor", report)
            .iter()
            .filter_map(|entry| {
                let text = value(&entry.value, &format!("the entry {}", entry.key), report)?;
                Some((entry.key.clone(), text))
            })
            .collect(),
    };
    let written = match &node.value {
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        Value::Scalar { .. } => return None,
    };
    if written == 0 {
        report.add(node.place, "the descriptor has no entry", "write `{ path: /checkout }`");
    }
    (pairs.len() == written && written > 0).then_some(pairs)
}

fn pair(node: &Node, report: &mut Report) -> Option<(String, String)> {
    let Value::List(items) = &node.value else {
        let message = format!("an entry has to be a pair, and this is {}", node.kind());
        report.add(node.place, message, "write `[key, value]`");
        return None;
    };
    let [key, entry] = items.as_slice() else {
        report.add(
            node.place,
            format!("an entry is a pair, and this has {}", items.len()),
            "write `[key, value]`",
        );
        return None;
    };
    Some((key.text("the key", report)?.to_owned(), value(entry, "the value", report)?))
}

/// Reads what is expected of each descriptor.
pub(super) fn expected(node: &Node, report: &mut Report) -> Option<Vec<DescriptorExpect>> {
    let items = list(node, "descriptors", report)?;
    let read: Vec<_> = items.iter().filter_map(|item| one(item, report)).collect();
    (read.len() == items.len()).then_some(read)
}

fn one(node: &Node, report: &mut Report) -> Option<DescriptorExpect> {
    if node.scalar().is_some() {
        let status = node.choice("the descriptor's status", &CallStatus::ALL, report)?;
        return Some(DescriptorExpect {
            place: node.place,
            status: Some(status),
            limit: None,
            remaining: None,
        });
    }
    let mut fields = Fields::open(node, "what is expected of a descriptor", report)?;
    let status = fields.get("status").map(|node| node.choice("status", &CallStatus::ALL, report));
    let limit = fields.get("limit").map(|node| {
        let name = node.text("limit", report)?;
        Some((name != "none").then(|| Named { name: name.to_owned(), place: node.place }))
    });
    let remaining = fields.get("remaining").map(|node| node.integer_in("remaining", 0..=MAX_HITS, report));
    fields.finish(&[], report);
    let status = status.map_or(Some(None), |status| status.map(Some))?;
    let limit = limit.map_or(Some(None), |limit| limit.map(Some))?;
    let remaining = match remaining {
        None => None,
        Some(remaining) => Some(u32::try_from(remaining?).ok()?),
    };
    Some(DescriptorExpect { place: node.place, status, limit, remaining })
}
