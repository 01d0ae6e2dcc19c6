//! From the tree of a test file to a [`Suite`].

use http::HeaderMap;
use tidegate_algorithms::{Span, Timestamp};

use super::call;
use super::expect::{Expect, status};
use super::request::{Described, headers};
use super::{Answered, Case, Step, Suite, VERSION};
use crate::date::parse_instant;
use crate::file::{Fields, Node, Report, list};

/// 2027-01-01T00:00:00Z: the instant at which tests begin unless they say another.
const START: u64 = 1_798_761_600_000_000;
/// What to write for an instant.
const INSTANT_EXAMPLE: &str =
    "write a date, such as 2027-01-31, or an instant in UTC, such as 2027-01-31T12:00:00Z";
/// The most times a step repeats its request.
const MOST_REPEATS: u64 = 100_000;

/// Reads a test file; what is returned is only of use when nothing was reported.
pub(super) fn suite(root: &Node, file: &str, report: &mut Report) -> Option<Suite> {
    if is_policy(root, report) {
        return None;
    }
    let mut top = Fields::open(root, "the test file", report)?;
    version(&mut top, report);
    let policy_node = top.need("policy", "policy.yaml");
    let policy = policy_node.and_then(|node| node.text("policy", report));
    let start = top.get("start").and_then(|node| instant(node, "start", report));
    let base = Described::default();
    let defaults = top.get("defaults");
    let defaults = defaults.and_then(|node| Described::read(node, &base, "defaults", report)).unwrap_or(base);
    let context = Context { start: start.or(Timestamp::from_micros(START))?, defaults };
    let tests = top.need("tests", "[{ name: …, steps: […] }]");
    let items = tests.and_then(|node| list(node, "tests", report)).unwrap_or_default();
    if let (Some(node), true) = (tests, items.is_empty()) {
        report.add(node.place, "there is no test", "write at least one");
    }
    let mut cases: Vec<Case> = Vec::new();
    for node in items {
        let Some(case) = context.case(node, report) else { continue };
        if let Some(first) = cases.iter().find(|other| other.name == case.name) {
            let message = format!("two tests are called \"{}\", the first at {}", case.name, first.place);
            report.add(case.place, message, "give each its own name");
        }
        cases.push(case);
    }
    top.finish(&[], report);
    let policy_place = policy_node?.place;
    Some(Suite { file: file.to_owned(), policy: policy?.to_owned(), policy_place, cases })
}

/// Reports a policy, which is no test file with a dozen slips.
fn is_policy(root: &Node, report: &mut Report) -> bool {
    let Some(version) = root.member("tidegate").filter(|_| root.member(VERSION).is_none()) else {
        return false;
    };
    let remedy = format!(
        "run `tidegate check {}`; its tests stand in a file that begins with `tidegate-test: 1`",
        report.name_of(root.place)
    );
    report.add(version.place, "this is a policy, and a test file is wanted", remedy);
    true
}

/// The file has to say which language it is written in, so that it keeps its meaning.
fn version(top: &mut Fields<'_>, report: &mut Report) {
    let Some(node) = top.need(VERSION, "1") else { return };
    let Some(version) = node.integer("the version", report) else { return };
    if version != 1 {
        report.add(
            node.place,
            format!("version {version} is not known"),
            "this version reads `tidegate-test: 1`",
        );
    }
}

/// Reads an instant.
pub(crate) fn instant(node: &Node, what: &str, report: &mut Report) -> Option<Timestamp> {
    let Some(text) = node.scalar() else {
        report.add(
            node.place,
            format!("{what} has to be an instant, and this is {}", node.kind()),
            INSTANT_EXAMPLE,
        );
        return None;
    };
    let instant = parse_instant(text);
    if instant.is_none() {
        report.add(
            node.place,
            format!("{what} \"{text}\" is not an instant between 1970 and 2112"),
            INSTANT_EXAMPLE,
        );
    }
    instant
}

/// What the tests of a file share.
struct Context {
    start: Timestamp,
    defaults: Described,
}

impl Context {
    fn case(&self, node: &Node, report: &mut Report) -> Option<Case> {
        let mut fields = Fields::open(node, "a test", report)?;
        let name = fields.need("name", "four quick tries").and_then(|node| node.text("name", report));
        let start = fields.get("start").and_then(|node| instant(node, "start", report)).unwrap_or(self.start);
        let what = name.map_or_else(|| "the test".to_owned(), |name| format!("the test \"{name}\""));
        let steps = fields.need("steps", "[{ request: …, expect: … }]");
        let items = steps.and_then(|node| list(node, "steps", report)).unwrap_or_default();
        let mut read: Vec<Step> = Vec::new();
        for node in items {
            let before = read.last().and_then(|step| step.instants().last()).unwrap_or(Span::ZERO);
            if let Some(step) = self.step(node, before, report) {
                in_domain(&step, start, report);
                read.push(step);
            }
        }
        let expects = read.iter().any(|step| !step.expect.is_empty() || !step.after.is_empty());
        if let (Some(node), false, true) = (steps, expects, read.len() == items.len()) {
            report.add(
                node.place,
                format!("{what} expects nothing"),
                "write `expect: { allowed: true }`, say, in a step",
            );
        }
        fields.finish(&[], report);
        Some(Case { name: name?.to_owned(), place: node.place, start, steps: read })
    }

    /// Reads a step; one that does not say when comes at the instant of the one before.
    fn step(&self, node: &Node, before: Span, report: &mut Report) -> Option<Step> {
        let mut fields = Fields::open(node, "a step", report)?;
        let at = fields.get("at").and_then(|node| Some((node.place, span(node, "at", report)?)));
        if let Some((place, _)) = at.filter(|(_, at)| *at < before) {
            let message = "`at` goes back behind the request before";
            report.add(place, message, format!("write at least {before}: steps stand in the order of time"));
        }
        let repeat =
            fields.get("repeat").and_then(|node| node.integer_in("repeat", 1..=MOST_REPEATS, report));
        let every = fields.get("every").and_then(|node| span(node, "every", report));
        if let (Some(_), false) = (every, fields.has("repeat")) {
            report.add(fields.place_of("every"), "`every` without `repeat`", "say how often: `repeat: 10`");
        }
        let peek = fields.get("peek").and_then(|node| node.boolean("peek", report)).unwrap_or(false);
        let request =
            fields.get("request").map(|node| Described::read(node, &self.defaults, "the request", report));
        let request = request.unwrap_or_else(|| Some(self.defaults.clone()));
        let answer =
            fields.get("answer").map_or_else(|| Some(Answered::usual()), |node| answer(node, report));
        let expect = fields.get("expect").map(|node| Expect::read(node, "expect", true, report));
        let after = fields.get("after").map(|node| Expect::read(node, "after", false, report));
        let call = call::read(&mut fields, report);
        if let Ok(call) = &call {
            let expects = expect.iter().chain(&after).flatten();
            expects.for_each(|expect| expect.check(call.as_ref(), report));
        }
        fields.finish(&[], report);
        Some(Step {
            place: node.place,
            at: at.map_or(before, |(_, at)| at),
            repeat: u32::try_from(repeat.unwrap_or(1)).ok()?,
            every: every.unwrap_or(Span::ZERO),
            peek,
            request: request?.finish(),
            call: call.ok()?,
            answer: answer?,
            expect: expect.unwrap_or_else(|| Some(Expect::default()))?,
            after: after.unwrap_or_else(|| Some(Expect::default()))?,
        })
    }
}

/// Reports a step that lies past the last instant there is.
fn in_domain(step: &Step, start: Timestamp, report: &mut Report) {
    let last = step.instants().last().unwrap_or(step.at);
    if start.checked_add(last).is_none() {
        report.add(step.place, "this step ends after the year 2112", "let it come sooner");
    }
}

fn answer(node: &Node, report: &mut Report) -> Option<Answered> {
    if node.scalar() == Some("never") {
        return Some(Answered { after: None, ..Answered::usual() });
    }
    if node.scalar().is_some() {
        return Some(Answered { status: status(node, report)?, ..Answered::usual() });
    }
    let mut fields = Fields::open(node, "the answer", report)?;
    let code = fields.get("status").and_then(|node| status(node, report));
    let mut map = HeaderMap::new();
    if let Some(node) = fields.get("headers") {
        headers(node, &mut map, report);
    }
    let after = fields.get("after").and_then(|node| span(node, "after", report));
    fields.finish(&[], report);
    let usual = Answered::usual();
    Some(Answered {
        status: code.unwrap_or(usual.status),
        headers: map,
        after: Some(after.unwrap_or(Span::ZERO)),
    })
}

/// Reads a span; `us` stands for microseconds, the grain of every decision.
pub(super) fn span(node: &Node, what: &str, report: &mut Report) -> Option<Span> {
    let micros = node.scalar().and_then(|text| text.strip_suffix("us")).and_then(|digits| {
        let plain = digits == "0" || !digits.starts_with('0');
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?.filter(|_| plain)
    });
    micros.map(Span::from_micros).or_else(|| node.span(what, report))
}
