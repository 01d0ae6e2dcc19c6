//! Configuration files of envoyproxy/ratelimit.
//!
//! The files are read as that service reads them (`read`), each path through their descriptors becomes a rule (`rules`),
//! and those are written as a policy (`write`). Files that are served as they are go through the very same text, so that
//! both ways mean the same and keep the same counts.

mod config;
mod keys;
mod members;
mod names;
mod read;
mod rules;
mod write;

use config::{Allowance, Descriptor, Domain};
use keys::Keys;
use members::Notes;

use super::Imported;
use crate::file::{Entry, Node, Report, Value, load};
use crate::problem::{Place, Problems};

/// The longest policy that is read back.
const MOST_BYTES: usize = 1 << 20;

/// Writes configuration files of envoyproxy/ratelimit, each a name and its text, as one policy file.
///
/// # Errors
/// With everything that is wrong in them, each with its place.
pub fn envoy(files: &[(&str, &str)]) -> Result<Imported, Problems> {
    let mut report = Report::default();
    let mut roots = Vec::new();
    for (name, text) in files {
        let number = report.open_file(name);
        roots.extend(load(text, number, &mut report));
    }
    let mut remarks = Vec::new();
    let domains = domains(&roots, &mut Notes { report: &mut report, remarks: &mut remarks });
    let rules = rules::rules(&domains);
    let text = write::policy(&rules, &Keys::of(&rules));
    if rules.is_empty() && report.is_empty() {
        let remedy = "a policy needs one; what is not limited needs no Tidegate";
        report.add(Place::START, "no descriptor has a rate_limit", remedy);
    }
    if text.len() > MOST_BYTES {
        let message =
            format!("the policy would be longer than {MOST_BYTES} bytes, which is more than is read");
        let remedy = "import the domains one by one, or serve the files as they are: `envoy: { files: […] }`";
        report.add(Place::START, message, remedy);
    }
    if report.is_empty() { Ok(Imported { text, remarks }) } else { Err(report.into_problems()) }
}

/// What configuration files come to, as the parts of a policy, each where it stands in those files.
pub(crate) struct Served {
    /// The mapping of keys.
    pub(crate) keys: Node,
    /// The list of rules.
    pub(crate) rules: Node,
}

/// Makes of files the parts of a policy; `at` is where the policy names them. What is wrong is reported at its place in the
/// files.
pub(crate) fn served(roots: &[Node], at: Place, report: &mut Report) -> Served {
    let mut remarks = Vec::new();
    let domains = domains(roots, &mut Notes { report, remarks: &mut remarks });
    let rules = rules::rules(&domains);
    let keys = Keys::of(&rules);
    let declared = write::declared(&keys);
    let declared = if declared.is_empty() { None } else { reread(&declared, at, report) };
    let declared = declared.map_or_else(|| Value::Map(Vec::new()), |node| node.value);
    let mut items = Vec::new();
    for rule in &rules {
        let place = rule.leaf().map_or(at, |leaf| leaf.place);
        if let Some(Value::List(one)) =
            reread(&write::rule(rule, &keys), place, report).map(|node| node.value)
        {
            items.extend(one);
        }
    }
    Served { keys: Node { place: at, value: declared }, rules: Node { place: at, value: Value::List(items) } }
}

/// Reads what is written of a descriptor, as if it stood where that does. What cannot be read as YAML is a problem, or its
/// limit would be missing without a word; what is no rule is told by whoever reads it as a policy.
fn reread(text: &str, place: Place, report: &mut Report) -> Option<Node> {
    let mut own = Report::default();
    let node = load(text, place.file, &mut own);
    if !own.is_empty() {
        let remedy = "shorten or unnest its values, metadata and the values beside it";
        report.add(place, "what is to be written of this cannot be read back", remedy);
    }
    node.map(|node| moved(node, place))
}

/// Gives everything below a node one place; the depth is that of a rule.
fn moved(node: Node, place: Place) -> Node {
    let value = match node.value {
        Value::List(items) => Value::List(items.into_iter().map(|item| moved(item, place)).collect()),
        Value::Map(entries) => {
            let entry = |entry: Entry| Entry { place, value: moved(entry.value, place), ..entry };
            Value::Map(entries.into_iter().map(entry).collect())
        }
        scalar @ Value::Scalar { .. } => scalar,
    };
    Node { place, value }
}

/// Reads the files, and checks what holds between them.
fn domains(roots: &[Node], notes: &mut Notes<'_>) -> Vec<Domain> {
    let domains: Vec<Domain> = roots.iter().filter_map(|root| read::domain(root, notes)).collect();
    for (index, domain) in domains.iter().enumerate() {
        let before = domains.iter().take(index).find(|other| other.name == domain.name);
        if let Some(first) = before {
            let at = notes.report.cite(first.place, domain.place);
            let message = format!("the domain {} is here a second time, first at {at}", domain.name);
            let remedy = "move these descriptors into that file, below its own, or give this domain another name; \
                          what MERGE_DOMAIN_CONFIG did is done by hand, since the order decides between patterns";
            notes.wrong(domain.place, message, remedy);
        }
        remark(domain, &domain.descriptors, notes);
    }
    domains
}

/// Remarks on what a policy says otherwise, or that has no effect.
fn remark(domain: &Domain, descriptors: &[Descriptor], notes: &mut Notes<'_>) {
    for one in descriptors {
        remark(domain, &one.children, notes);
        let Some(limit) = &one.limit else {
            remark_idle(one, notes);
            continue;
        };
        if let Allowance::Per { requests, .. } = limit.allowance
            && requests > write::MOST
        {
            let message = format!("{requests} is more than a limit can be, and {} is written", write::MOST);
            notes.remark(one.place, message, "write `unlimited: true`, if nothing is to be limited");
        }
        let label = write::label(&limit.name);
        if label != limit.name {
            let message =
                format!("the name {:?} stands in headers as it is, and {label} is written", limit.name);
            notes.remark(one.place, message, "");
        }
        for (name, place) in &limit.replaces {
            if !bears(&domain.descriptors, name) {
                let message = format!("no limit of the domain {} is called {name}", domain.name);
                notes.remark(*place, message, "nothing is replaced");
            }
        }
    }
}

/// Remarks on what is said of a descriptor that has no limit, of which nothing comes.
fn remark_idle(one: &Descriptor, notes: &mut Notes<'_>) {
    for (word, place) in &one.of_a_limit {
        let message =
            format!("a descriptor without `rate_limit` does not heed `{word}`, and nothing comes of it");
        notes.remark(*place, message, "write it at each descriptor below that has one, or remove it");
    }
}

fn bears(descriptors: &[Descriptor], name: &str) -> bool {
    let own = |one: &Descriptor| one.limit.as_ref().is_some_and(|limit| limit.name == name);
    descriptors.iter().any(|one| own(one) || bears(&one.children, name))
}
