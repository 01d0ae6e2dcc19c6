//! Running tests: a fresh limiter for each, in memory, told the time.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate::policy_file::suite::{Answered, Case, Expect, Step, Suite};
use tidegate::policy_file::{Place, Policy};
use tidegate::{CheckOptions, Limiter, MemoryOptions, MemoryStore, Pending, Span, Timestamp, Verdict};

use super::call::{self, Behind};
use super::compare::{self, Difference};
use crate::exit::Failure;

/// A file whose tests were run.
#[derive(Debug)]
pub(super) struct RanFile {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) cases: Vec<RanCase>,
    /// The rules of the policy that applied to no request of the file; not known when only some tests were run.
    pub(super) never_matched: Vec<String>,
}

/// A test that was run.
#[derive(Debug)]
pub(super) struct RanCase {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) requests: u64,
    pub(super) misses: Vec<Miss>,
}

/// A step that went otherwise than expected.
#[derive(Debug)]
pub(super) struct Miss {
    /// The step's number, from 1, and its place.
    pub(super) step: usize,
    pub(super) place: Place,
    /// The instant, from the start of the test.
    pub(super) at: Span,
    /// Which of how many requests of the step.
    pub(super) request: (u32, u32),
    /// Whether it is about the look after the step.
    pub(super) after: bool,
    /// The request, as `POST /otp/verify`.
    pub(super) line: String,
    pub(super) differences: Vec<Difference>,
    pub(super) behind: Behind,
}

impl RanFile {
    /// Returns how many of the tests failed.
    pub(super) fn failed(&self) -> usize {
        self.cases.iter().filter(|case| !case.misses.is_empty()).count()
    }
}

/// Runs the tests of a file whose names contain a text.
///
/// # Errors
/// When no store can be made, or one does not answer.
pub(super) async fn file(suite: &Suite, policy: &Policy, filter: Option<&str>) -> Result<RanFile, Failure> {
    let mut applied = BTreeSet::new();
    let mut cases = Vec::new();
    for case in suite.cases.iter().filter(|case| filter.is_none_or(|text| case.name.contains(text))) {
        let mut world = World::of(policy, case, &mut applied)?;
        for (step, number) in case.steps.iter().zip(1..) {
            world.step(step, number).await?;
        }
        let (requests, misses) = (world.requests, world.misses);
        cases.push(RanCase { name: case.name.clone(), place: case.place, requests, misses });
    }
    let rules = policy.rules.iter().chain(&policy.fallback).map(|rule| &rule.name);
    let never = rules.filter(|name| filter.is_none() && !applied.contains(*name)).cloned().collect();
    Ok(RanFile { name: suite.file.clone(), policy: suite.policy.clone(), cases, never_matched: never })
}

/// What one test runs in.
struct World<'a> {
    policy: &'a Policy,
    limiter: Limiter,
    start: Timestamp,
    /// The rules that applied to any request of the file.
    applied: &'a mut BTreeSet<String>,
    /// Requests that wait for the answer of the service behind, each with when it comes.
    waiting: Vec<(Timestamp, Pending, &'a Answered)>,
    requests: u64,
    misses: Vec<Miss>,
}

impl<'a> World<'a> {
    fn of(policy: &'a Policy, case: &Case, applied: &'a mut BTreeSet<String>) -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot make a store: {error}"));
        let store = MemoryStore::new(MemoryOptions::default()).map_err(failed)?;
        let limiter = Limiter::from_policy_with(policy.clone(), Arc::new(store)).map_err(Failure::failed)?;
        Ok(Self {
            policy,
            limiter,
            start: case.start,
            applied,
            waiting: Vec::new(),
            requests: 0,
            misses: Vec::new(),
        })
    }

    async fn step(&mut self, step: &'a Step, number: usize) -> Result<(), Failure> {
        let mut admitted = 0_u32;
        let mut last = None;
        let before = self.misses.len();
        for (instant, nth) in step.instants().zip(1..) {
            let at = self.start.saturating_add(instant);
            self.settle(at).await?;
            let (verdict, why) = self.ask(step, at, step.peek, nth == 1 || !step.expect.is_empty()).await;
            self.requests = self.requests.saturating_add(1);
            if verdict.is_allowed() {
                admitted = admitted.saturating_add(1);
            }
            let moment = Moment { step, number, instant, nth, after: false };
            // Of a step's requests, the first that went otherwise tells enough.
            if let Some(why) = &why
                && self.misses.len() == before
                && step.expect.admitted().is_none()
            {
                self.compare(&moment, &step.expect, why);
            }
            self.answer(verdict, step, at);
            self.settle(at).await?;
            last = Some((moment, why));
        }
        let Some((moment, why)) = last else { return Ok(()) };
        if let (Some(expected), Some(why)) = (step.expect.admitted(), why)
            && expected != admitted
        {
            let differences = compare::admitted(&step.expect, expected, admitted);
            self.misses.push(moment.miss(differences, why));
        }
        if !step.after.is_empty() {
            let at = self.start.saturating_add(moment.instant);
            if let (_, Some(why)) = self.ask(step, at, true, true).await {
                self.compare(&Moment { after: true, ..moment }, &step.after, &why);
            }
        }
        Ok(())
    }

    /// Asks for a verdict and, when it is wanted, what is behind it.
    async fn ask(
        &mut self,
        step: &Step,
        at: Timestamp,
        peek: bool,
        explain: bool,
    ) -> (Verdict, Option<Behind>) {
        if let Some(called) = &step.call {
            let options = CheckOptions { at: Some(at), max_delay: Span::ZERO, cost: None, peek };
            let told = call::ask(&self.limiter.snapshot(), self.policy, called, options).await;
            let behind = Behind::Call(Box::new(told));
            self.applied.extend(behind.applying().into_iter().map(str::to_owned));
            return (behind.verdict().clone(), Some(behind));
        }
        let request = &step.request;
        let max_delay = request.max_delay.unwrap_or(Span::MAX);
        let options = CheckOptions { at: Some(at), max_delay, cost: request.cost, peek };
        let in_force = self.limiter.snapshot();
        let (seen, ready) = (request.request(), Some(request.keys()));
        let verdict = in_force.check_with(&seen, ready, options).await;
        let why = explain.then(|| in_force.why_of(&seen, ready, options, &verdict));
        if let Some(why) = &why {
            self.applied.extend(why.applying().map(str::to_owned));
        }
        (verdict, why.map(|why| Behind::Request(Box::new(why))))
    }

    fn compare(&mut self, moment: &Moment<'_>, expect: &Expect, why: &Behind) {
        let differences = compare::differences(expect, why, moment.step.answer.status);
        if !differences.is_empty() {
            self.misses.push(moment.miss(differences, why.clone()));
        }
    }

    /// Lets the service behind have a request that passes: its answer comes once it was held and answered.
    fn answer(&mut self, mut verdict: Verdict, step: &'a Step, at: Timestamp) {
        let pending = verdict.take_pending();
        if let Some(after) = step.answer.after.filter(|_| verdict.is_allowed() && !pending.is_empty()) {
            let due = at.saturating_add(verdict.delay()).saturating_add(after);
            self.waiting.push((due, pending, &step.answer));
        }
    }

    /// Settles what was answered up to an instant, in the order of the answers.
    async fn settle(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.waiting.sort_by_key(|(due, ..)| *due);
        let due = self.waiting.partition_point(|(due, ..)| *due <= now);
        for (due, pending, answer) in self.waiting.drain(..due) {
            let settlement = pending.answered(answer.status, &answer.headers);
            self.limiter.settle_at(settlement, Some(due)).await.map_err(Failure::failed)?;
        }
        Ok(())
    }
}

/// A request of a step.
#[derive(Clone, Copy)]
struct Moment<'a> {
    step: &'a Step,
    number: usize,
    instant: Span,
    nth: u32,
    after: bool,
}

impl Moment<'_> {
    fn miss(&self, differences: Vec<Difference>, behind: Behind) -> Miss {
        let request = self.step.request.request();
        let line = match &self.step.call {
            Some(called) => call::line(called),
            None => format!("{} {}", request.method, request.path),
        };
        Miss {
            step: self.number,
            place: self.step.place,
            at: self.instant,
            request: (self.nth, self.step.repeat),
            after: self.after,
            line,
            differences,
            behind,
        }
    }
}
