//! Test files: requests at virtual times, and what a policy is expected to make of them.
//!
//! Words never catch a rule that matches nothing; a test does. A file names a policy and sequences of requests, each
//! with an instant, perhaps the answer of the service behind, and what is expected. It is read as policy files are:
//! every slip at once, each with its place and remedy. Nothing here runs a test, which takes a limiter and a store.

mod against;
mod call;
mod expect;
mod json;
mod read;
mod request;

use http::{HeaderMap, StatusCode};
use tidegate_algorithms::{Span, Timestamp};

pub use crate::date::parse_instant;
pub use call::{Call, CallDescriptor, CallStatus, DescriptorExpect};
pub use expect::{Expect, Expectation, Named};
pub(crate) use read::instant;
pub use request::Described;

use crate::file::{self, Report};
use crate::policy::Policy;
use crate::problem::{Place, Problems};

/// The member by which a test file says the version of its language.
pub(crate) const VERSION: &str = "tidegate-test";

/// A test file.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The test file's own name, as it was given.
    pub file: String,
    /// The policy's path as the file writes it; a relative one is meant from the folder of the test file.
    pub policy: String,
    /// Where it stands.
    pub policy_place: Place,
    /// The tests, at least one; each begins with nothing counted.
    pub cases: Vec<Case>,
}

/// One test: a sequence of requests.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, unique in the file.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The instant from which its steps count.
    pub start: Timestamp,
    /// The steps, at least one, in the order of time.
    pub steps: Vec<Step>,
}

/// One request, perhaps several times, and what is expected of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it begins.
    pub place: Place,
    /// The instant of the first request, from the start of the test.
    pub at: Span,
    /// How many times it is made; at least 1.
    pub repeat: u32,
    /// How long after one another.
    pub every: Span,
    /// Whether it only looks, so that nothing is charged.
    pub peek: bool,
    /// The request.
    pub request: Described,
    /// The call about descriptors that is made in a request's place, if one is.
    pub call: Option<Call>,
    /// What the service behind answers to those that pass.
    pub answer: Answered,
    /// What is expected of each of the requests.
    pub expect: Expect,
    /// What is expected of a look at the same request once the last of them was answered.
    pub after: Expect,
}

/// The answer of the service behind.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Its status.
    pub status: StatusCode,
    /// Its header fields.
    pub headers: HeaderMap,
    /// How long after the request it comes; `None` when it never does, since the client leaves.
    pub after: Option<Span>,
}

impl Answered {
    /// Returns the answer of a service behind about which nothing is said: 200, at once.
    pub(crate) fn usual() -> Self {
        Self { status: StatusCode::OK, headers: HeaderMap::new(), after: Some(Span::ZERO) }
    }
}

impl Step {
    /// Returns the instants of its requests, from the start of the test.
    pub fn instants(&self) -> impl Iterator<Item = Span> {
        let every = self.every.as_micros();
        let at = self.at.as_micros();
        (0..u64::from(self.repeat))
            .map(move |index| Span::from_micros(at.saturating_add(every.saturating_mul(index))))
    }
}

impl Suite {
    /// Reads a test file; `file_name` only stands in its problems.
    ///
    /// # Errors
    /// With everything that is wrong, each with its place.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        let mut report = Report::default();
        let number = report.open_file(file_name);
        let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if empty {
            report.add(Place::START, "the file is empty", "begin it with `tidegate-test: 1`");
            return Err(report.into_problems());
        }
        let root = file::load(text, number, &mut report);
        match root.and_then(|root| read::suite(&root, file_name, &mut report)) {
            Some(suite) if report.is_empty() => Ok(suite),
            _ => Err(report.into_problems()),
        }
    }

    /// Checks every name of the tests against the policy they are about: a test that expects something of a limit that
    /// is not there has a slip, and says nothing about the policy.
    ///
    /// # Errors
    /// With every rule, limit, plan and key that the policy does not have.
    pub fn check_names(&self, policy: &Policy) -> Result<(), Problems> {
        let mut report = Report::default();
        report.open_file(&self.file);
        against::check(self, policy, &mut report);
        if report.is_empty() { Ok(()) } else { Err(report.into_problems()) }
    }
}

/// Reads the entries of one descriptor as a step writes them: `{ path: /checkout, remote_address: 192.0.2.7 }`, or a list of
/// pairs where a key comes twice. `name` only stands in the problems.
///
/// # Errors
/// With everything that is wrong, each with its place.
pub fn parse_descriptor(name: &str, text: &str) -> Result<Vec<(String, String)>, Problems> {
    let mut report = Report::default();
    let number = report.open_file(name);
    if text.trim().is_empty() {
        report.add(Place::START, "there is no descriptor", "write `{ path: /checkout }`");
        return Err(report.into_problems());
    }
    let root = file::load(text, number, &mut report);
    match root.and_then(|root| call::entries(&root, &mut report)) {
        Some(entries) if report.is_empty() => Ok(entries),
        _ => Err(report.into_problems()),
    }
}

#[cfg(test)]
mod tests;
